"""Which text of a session has been passed on. A daemon shows whoever connects in the middle of a message all of its text
so far, so after a lost connection some of it comes a second time; this takes away what is known already."""

from __future__ import annotations

from typing import Any, cast

from ostler_client.http_types import EventDelta, EventRecord


class SeenText:
    """How much of each open stream of text is known, in bytes of UTF-8."""

    def __init__(self) -> None:
        # By message or call, and then by part or stream.
        self._streams: dict[str, dict[str, int]] = {}

    def news(self, delta: EventDelta) -> EventDelta | None:
        """What is new of a delta; None when nothing is."""
        if delta["type"] == "tool_output_delta":
            owner, stream = f"{delta['turn_id']} {delta['data']['tool_call_id']}", delta["data"]["stream"]
        else:
            owner, stream = delta["data"]["message_id"], str(delta["data"]["part"])
        streams = self._streams.setdefault(owner, {})
        known, offset = streams.get(stream, 0), delta["data"]["offset"]
        text = delta["data"]["text"].encode()
        if offset + len(text) <= known:
            return None
        streams[stream] = offset + len(text)
        if offset >= known:
            return delta
        rest = text[known - offset :].decode(errors="replace")
        return cast(EventDelta, {**delta, "data": {**cast(dict[str, Any], delta["data"]), "offset": known, "text": rest}})

    def forget(self, record: EventRecord) -> None:
        """Forgets what has ended, so that this stays as small as what is open."""
        if record["type"] == "model_output_completed":
            self._streams.pop(record["data"]["message"]["id"], None)
        elif record["type"] == "tool_call_completed":
            self._streams.pop(f"{record['turn_id']} {record['data']['tool_call']['id']}", None)
        elif record["type"] in ("turn_completed", "turn_failed", "turn_canceled"):
            self._streams.clear()
