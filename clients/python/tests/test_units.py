"""What can be tested without a daemon."""

from __future__ import annotations

import asyncio
import json
from typing import Any, cast

import pytest

from ostler_client import Backoff, FellBehind
from ostler_client.framing import Frame, FrameReader, Lines
from ostler_client.gateway_socket import Socket
from ostler_client.seen import SeenText
from ostler_client.subscription import LIMIT, Subscription


def test_lines_end_at_lf_only_and_characters_may_be_split() -> None:
    lines = Lines()
    found = [line for byte in '{"a":"ä\u2028\u0085😀"}\r\n\nrest'.encode() for line in lines.push(bytes([byte]))]
    assert found == ['{"a":"ä\u2028\u0085😀"}', ""]
    assert lines.finish() == "rest"
    assert lines.push(b"a\nb\nc") == ["a", "b"]


def test_an_event_that_did_not_end_is_not_given_out() -> None:
    reader = FrameReader()
    assert reader.push(b'id: 4\nevent: turn_started\ndata: {"seq":4}') == []
    assert reader.push(b"\n\n: a comment\n\ndata: {}\n\n") == [
        Frame("4", '{"seq":4}'),
        Frame(None, "{}"),
    ]


def test_waits_double_up_to_the_longest_and_then_end() -> None:
    waits = [Backoff().wait(attempt) for attempt in range(1, 13)]
    assert waits == [0.1, 0.2, 0.4, 0.8, 1.6, 3.2, 5, 5, 5, 5, 5, None]


def test_text_that_is_known_already_is_taken_away_by_bytes() -> None:
    seen = SeenText()

    def news(offset: int, text: str, part: int = 0) -> Any:
        data = {"message_id": "msg_1", "part": part, "offset": offset, "text": text}
        new = seen.news(cast(Any, {"type": "model_output_delta", "data": data}))
        return new and (new["data"]["offset"], new["data"]["text"])

    assert news(0, "äö") == (0, "äö")
    assert news(0, "äö") is None
    assert news(0, "äöü!") == (4, "ü!")
    assert news(0, "other", 1) == (0, "other")
    # Whoever comes late to a long output gets its end only.
    assert news(100, "late") == (100, "late")


def test_a_reader_who_does_not_read_is_told_so() -> None:
    async def scenario() -> None:
        subscription: Subscription[int] = Subscription()
        for number in range(LIMIT + 5):
            subscription.put(number)
        read = []
        with pytest.raises(FellBehind):
            async for number in subscription:
                read.append(number)
        assert read == list(range(LIMIT))

    asyncio.run(scenario())


class HastyGateway:
    """A connection on which an event follows each answer at once."""

    def __init__(self) -> None:
        self._frames: asyncio.Queue[str] = asyncio.Queue()

    async def send(self, data: str) -> None:
        self._frames.put_nowait(json.dumps({"id": json.loads(data)["id"], "result": "answer"}))
        self._frames.put_nowait(json.dumps({"event": "event"}))

    def __aiter__(self) -> HastyGateway:
        return self

    async def __anext__(self) -> str:
        return await self._frames.get()


def test_an_answer_is_told_before_the_events_that_follow_it() -> None:
    async def scenario() -> None:
        order: list[str] = []
        socket = Socket(cast(Any, HastyGateway()), lambda event: order.append(event["event"]))
        reader = asyncio.create_task(socket._read())
        await socket.call("sessions.get", {}, order.append)
        while len(order) < 2:
            await asyncio.sleep(0)
        reader.cancel()
        assert order == ["answer", "event"]

    asyncio.run(scenario())
