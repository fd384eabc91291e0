"""One connection to the gateway, from the token to its end: frames in and out, answers to their requests."""

from __future__ import annotations

import asyncio
import json
from collections.abc import Callable
from typing import Any

from websockets.asyncio.client import ClientConnection, connect
from websockets.exceptions import ConnectionClosed, InvalidHandshake, InvalidURI

from ostler_client.errors import GatewayError, OstlerError, ProtocolError, Unreachable

# The gateway closes with it when the token is wrong, or void.
UNAUTHORIZED = 4401
# How long a connection may take to be there, in seconds.
PATIENCE = 30.0


class Socket:
    """A connection that has shown its token. Its reader is a task that ends with it."""

    def __init__(self, connection: ClientConnection, emit: Callable[[Any], None]) -> None:
        self._connection = connection
        self._emit = emit
        self._waiting: dict[str, tuple[asyncio.Future[Any], Callable[[Any], None] | None]] = {}
        self._number = 0
        self._over: Exception | None = None
        self._reader: asyncio.Task[Exception] | None = None

    @classmethod
    async def open(cls, url: str, token: str, emit: Callable[[Any], None]) -> Socket:
        """Opens a connection and shows the token."""
        try:
            # A conversation may be long, and comes as one frame; a proxy would be asked for an address of this machine.
            async with asyncio.timeout(PATIENCE):
                connection = await connect(url, max_size=None, proxy=None)
                await connection.send(json.dumps({"type": "auth", "token": token}))
                answer = _object(await connection.recv())
        except ConnectionClosed as error:
            raise _closed(error) from error
        except (OSError, InvalidHandshake, InvalidURI, TimeoutError) as error:
            raise Unreachable(f"the gateway cannot be reached at {url}: {error}") from error
        except ValueError as error:
            raise ProtocolError("the gateway sent a frame that is no JSON object") from error
        if not answer.get("ok"):
            await connection.close()
            raise _unauthorized(answer.get("error") or "the gateway refused the token")
        socket = cls(connection, emit)
        socket._reader = asyncio.create_task(socket._read())
        return socket

    async def call(self, method: str, params: dict[str, Any], on_result: Callable[[Any], None] | None = None) -> Any:
        """Asks, and waits for the answer. `on_result` gets it before anything that comes after it is looked at."""
        if self._over is not None:
            raise self._over
        self._number += 1
        answer: asyncio.Future[Any] = asyncio.get_running_loop().create_future()
        self._waiting[str(self._number)] = (answer, on_result)
        try:
            await self._connection.send(json.dumps({"id": str(self._number), "method": method, "params": params}))
        except ConnectionClosed as error:
            raise _closed(error) from error
        return await answer

    async def lost(self) -> Exception:
        """Returns when the connection is over, with the reason."""
        assert self._reader is not None, "a socket is made by open"
        return await asyncio.shield(self._reader)

    async def close(self) -> None:
        await self._connection.close()
        await self.lost()

    async def _read(self) -> Exception:
        reason: Exception = ProtocolError("the gateway sent a frame that is no JSON object")
        try:
            async for data in self._connection:
                self._take(_object(data))
            reason = Unreachable("the connection to the gateway was closed")
        except ConnectionClosed as error:
            reason = _closed(error)
        except ValueError:
            await self._connection.close(1002)
        finally:
            self._over = reason
            for answer, _ in self._waiting.values():
                if not answer.done():
                    answer.set_exception(reason)
                    # It may be that nobody waits any more.
                    answer.exception()
            self._waiting.clear()
        return reason

    def _take(self, frame: dict[str, Any]) -> None:
        if "event" in frame:
            self._emit(frame)
            return
        answer, on_result = self._waiting.pop(str(frame.get("id")), (None, None))
        if answer is None or answer.done():
            return
        if "error" in frame:
            answer.set_exception(GatewayError(frame["error"]["message"], frame["error"]["code"]))
            return
        if on_result is not None:
            on_result(frame["result"])
        answer.set_result(frame["result"])


def _object(data: str | bytes) -> dict[str, Any]:
    frame = json.loads(data)
    if not isinstance(frame, dict):
        raise ValueError("not an object")
    return frame


def _closed(error: ConnectionClosed) -> Exception:
    if error.rcvd is not None and error.rcvd.code == UNAUTHORIZED:
        return _unauthorized("the gateway no longer takes the token")
    return Unreachable(f"the connection to the gateway was lost: {error}")


def _unauthorized(message: str) -> OstlerError:
    hint = "the token is in the file `token` of the data directory"
    return OstlerError({"code": "unauthorized", "message": message, "hint": hint}, 401)
