"""Lines and server-sent events, taken apart as they come."""

from __future__ import annotations

import codecs
from dataclasses import dataclass


class Lines:
    """Lines as every wire of the daemon frames them: they end at LF and nowhere else, and a CR before it is dropped.

    (`str.splitlines` also cuts at U+2028 and the like, which are text.)"""

    def __init__(self) -> None:
        self._decoder = codecs.getincrementaldecoder("utf-8")("replace")
        self._pieces: list[str] = []

    def push(self, chunk: bytes) -> list[str]:
        """Takes a chunk, and gives out the lines that are whole now."""
        *ended, last = self._decoder.decode(chunk).split("\n")
        lines = []
        for piece in ended:
            lines.append("".join([*self._pieces, piece]).removesuffix("\r"))
            self._pieces.clear()
        if last:
            self._pieces.append(last)
        return lines

    def finish(self) -> str:
        """The last line, if it did not end."""
        rest = "".join(self._pieces) + self._decoder.decode(b"", True)
        self._pieces.clear()
        return rest


@dataclass
class Frame:
    """One server-sent event. What it is called is in its data, so that an `event:` line is not looked at."""

    id: str | None
    data: str


class FrameReader:
    """Takes a stream apart. An event that has not ended with its empty line is never given out."""

    def __init__(self) -> None:
        self._lines = Lines()
        self._id: str | None = None
        self._data: list[str] = []

    def push(self, chunk: bytes) -> list[Frame]:
        """Takes a chunk, and gives out the events that are whole now."""
        frames = []
        for line in self._lines.push(chunk):
            if line:
                self._take(line)
                continue
            if self._data:
                frames.append(Frame(self._id, "\n".join(self._data)))
            self._clear()
        return frames

    def _take(self, line: str) -> None:
        name, _, value = line.partition(":")
        value = value.removeprefix(" ")
        if name == "id":
            self._id = value
        elif name == "data":
            self._data.append(value)

    def _clear(self) -> None:
        self._id, self._data = None, []
