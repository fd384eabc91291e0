"""What comes on a wire, for one reader: kept up to a limit, so that a reader who is gone costs little."""

from __future__ import annotations

import asyncio
from collections import deque
from typing import Generic, TypeVar

from ostler_client.errors import FellBehind

Item = TypeVar("Item")

# How much is kept for a reader who does not read.
LIMIT = 10_000


class Subscription(Generic[Item]):
    """An asynchronous iterator over what comes after it was made. `close` ends it."""

    def __init__(self) -> None:
        self._items: deque[Item] = deque()
        self._changed = asyncio.Event()
        self._error: Exception | None = None
        self.closed = False

    def put(self, item: Item) -> None:
        """Adds something; called by whoever reads the wire."""
        if self.closed:
            return
        if len(self._items) >= LIMIT:
            self.close(FellBehind(f"more than {LIMIT} events waited to be read"))
            return
        self._items.append(item)
        self._changed.set()

    def close(self, error: Exception | None = None) -> None:
        """Nothing more will come; what has come is still given out, and then the error is raised, if there is one."""
        if not self.closed:
            self.closed, self._error = True, error
        self._changed.set()

    def __aiter__(self) -> Subscription[Item]:
        return self

    async def __anext__(self) -> Item:
        while not self._items:
            if self._error is not None:
                raise self._error
            if self.closed:
                raise StopAsyncIteration
            self._changed.clear()
            await self._changed.wait()
        return self._items.popleft()
