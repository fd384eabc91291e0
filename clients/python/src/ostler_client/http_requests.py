"""Requests of the http door before they are sent, and answers after they have come. Sends nothing."""

from __future__ import annotations

import json
import re
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from typing import Any, TypeGuard, cast
from urllib.parse import quote

from ostler_client.errors import OstlerError, ProtocolError
from ostler_client.framing import Frame
from ostler_client.http_types import EventDelta, EventRecord, SessionEvent
from ostler_client.operations import OPERATIONS
from ostler_client.seen import SeenText

STREAM = "text/event-stream"


@dataclass
class Request:
    """What is to be sent."""

    method: str
    path: str
    params: dict[str, Any]
    headers: dict[str, str]
    content: bytes | None


def request(
    name: str,
    path: Mapping[str, str] | None = None,
    query: Mapping[str, Any] | None = None,
    body: Any = None,
    accept: str | None = None,
) -> Request:
    """Fills in an operation. A body is sent as JSON, bytes as they are."""
    method, template, _ = OPERATIONS[name]
    given = path or {}

    def fill(match: re.Match[str]) -> str:
        # An empty part would silently name another route.
        if not given.get(match[1]):
            raise ValueError(f"{name} needs {match[1]}")
        return quote(given[match[1]], safe="")

    headers = {"user-agent": "ostler-client-python"}
    if accept:
        headers["accept"] = accept
    content: bytes | None = None
    if isinstance(body, bytes):
        headers["content-type"], content = "application/octet-stream", body
    elif body is not None:
        headers["content-type"], content = "application/json", json.dumps(body).encode()
    params = {key: value for key, value in (query or {}).items() if value is not None}
    return Request(method, re.sub(r"\{(\w+)\}", fill, template), params, headers, content)


def refusal(status: int, text: str) -> Exception:
    """The error that an answer stands for."""
    try:
        return OstlerError(json.loads(text)["error"], status)
    except (ValueError, KeyError, TypeError):
        return ProtocolError(f"the daemon answered {status}: {text[:200]}")


def event_query(after: int | str | None, types: Iterable[str] | None, follow: bool | None = None) -> dict[str, Any]:
    return {"after": after, "types": ",".join(types) if types is not None else None, "follow": follow}


def parse(frame: Frame) -> Any:
    """What a frame holds, told apart by its `type`: an event, a sign of life (`heartbeat`), or why the daemon ends the
    stream (`error`)."""
    try:
        data = json.loads(frame.data)
    except ValueError:
        data = None
    if not isinstance(data, dict) or "type" not in data:
        raise ProtocolError(f"an event is not JSON with a type: {frame.data[:200]}")
    return data


def is_record(event: SessionEvent) -> TypeGuard[EventRecord]:
    """Whether it is a record, with a `seq`, and not a delta."""
    return "seq" in event


@dataclass
class Cursor:
    """How far somebody has come in a session's events."""

    seq: int
    # Whether some events are left out on purpose, so that holes mean nothing.
    filtered: bool
    seen: SeenText = field(default_factory=SeenText)

    def take(self, event: SessionEvent) -> SessionEvent | None:
        """The event, or what is new of it; None when it was passed on before."""
        if not is_record(event):
            return self.seen.news(cast(EventDelta, event))
        if event["seq"] <= self.seq:
            return None
        if not self.filtered and event["seq"] != self.seq + 1:
            raise ProtocolError(f"record {event['seq']} came where record {self.seq + 1} should be")
        self.seq = event["seq"]
        self.seen.forget(event)
        return event


@dataclass
class FeedEvent:
    """An event of any session. A delta may come twice, or after its message is whole: splice it at its offset.

    `cursor` says where to go on after it, and is to be kept as it is; None until there is one."""

    cursor: str | None
    event: SessionEvent
