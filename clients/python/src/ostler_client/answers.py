"""Which line of `ostler rpc` answers which command. This wire has no ids for that, but it carries out commands one after
the other, so an answer belongs to the oldest command that waits for one of its kind, about its session."""

from __future__ import annotations

import asyncio
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

from ostler_client.errors import CommandError


@dataclass
class Expected:
    """A command that waits."""

    type: str
    session_id: str | None
    answer: asyncio.Future[Any]


class Answers:
    """The commands that wait for an answer, the oldest first."""

    def __init__(self) -> None:
        self._waiting: list[Expected] = []
        # Sessions that this side was told of.
        self._known: set[str] = set()
        # Sessions that were named before they were known: the process says of each that it is started, unasked.
        self._opening: set[str] = set()

    def expect(self, type_: str, session_id: str | None = None) -> asyncio.Future[Any]:
        """Waits for a line of this type, about this session if one is named."""
        answer: asyncio.Future[Any] = asyncio.get_running_loop().create_future()
        self._waiting.append(Expected(type_, session_id, answer))
        return answer

    def named(self, session_id: str) -> None:
        """A command has named this session."""
        if session_id not in self._known:
            self._opening.add(session_id)

    def take(self, frame: dict[str, Any]) -> None:
        session_id = frame.get("session_id")
        if frame["type"] == "ready" and frame["primary_session_id"]:
            self._known.add(frame["primary_session_id"])
        if frame["type"] == "session_started":
            self._known.add(frame["session_id"])
            if frame["session_id"] in self._opening:
                self._opening.remove(frame["session_id"])
                return
        if frame["type"] == "session_closed":
            self._known.discard(frame["session_id"])
            self._opening.discard(frame["session_id"])
        one = self._first(lambda one: one.type == frame["type"] and one.session_id in (None, session_id))
        if one is not None:
            one.answer.set_result(frame)

    def refuse(self, error: CommandError) -> None:
        """An error answers the oldest command about its session; without one, the oldest that starts a session."""
        if error.session_id:
            self._opening.discard(error.session_id)
            one = self._first(lambda one: one.session_id == error.session_id)
        else:
            one = self._first(lambda one: one.type in ("session_started", "ready"))
        if one is not None:
            one.answer.set_exception(error)

    def fail(self, error: Exception) -> None:
        """Nothing will be answered any more."""
        for one in self._waiting:
            if not one.answer.done():
                one.answer.set_exception(error)
        self._waiting.clear()

    def _first(self, matches: Callable[[Expected], bool]) -> Expected | None:
        # Those whose caller went away would take the answers of others, if they were not passed over with their own.
        for place, one in enumerate(self._waiting):
            if matches(one):
                del self._waiting[place]
                return None if one.answer.done() else one
        return None
