"""What can go wrong, as errors that a caller can tell apart."""

from __future__ import annotations

from typing import Any


class OstlerError(Exception):
    """The daemon refused a request. `code` is for programs, the text and `hint` are for people.

    `status` is that of the answer; 0 for an error that came within a stream."""

    def __init__(self, failure: dict[str, Any], status: int) -> None:
        super().__init__(failure["message"])
        self.code: str = failure["code"]
        self.hint: str | None = failure.get("hint")
        self.status = status


class Unreachable(ConnectionError):
    """The daemon could not be reached, or went away. What it had answered before is on its disk."""


class ProtocolError(Exception):
    """What came is not what the protocol says."""


class GatewayError(Exception):
    """The gateway did not carry out a request; `docs/protocols/gateway.md` lists the codes."""

    def __init__(self, message: str, code: int) -> None:
        super().__init__(message)
        self.code = code


class RunError(Exception):
    """A run of the gateway has failed."""

    def __init__(self, message: str, run_id: str) -> None:
        super().__init__(message)
        self.run_id = run_id


class CommandError(Exception):
    """`ostler rpc` answered a command with an error."""

    def __init__(self, message: str, hint: str | None, session_id: str | None) -> None:
        super().__init__(message)
        self.hint = hint
        self.session_id = session_id


class FellBehind(Exception):
    """More has come than is kept for a reader; read faster, or follow with a cursor over HTTP."""


def passes(error: Exception) -> bool:
    """Whether the same request may succeed a little later."""
    if isinstance(error, OstlerError):
        return error.status in (408, 429, 502, 503, 504)
    return isinstance(error, Unreachable)
