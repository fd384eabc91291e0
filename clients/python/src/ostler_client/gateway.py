"""The client of the gateway: calls, and the events of every session that it has named. A lost connection is made again,
and `resumed` then says how each of those sessions stands."""

from __future__ import annotations

import asyncio
from collections.abc import Callable
from dataclasses import dataclass
from types import TracebackType
from typing import Any, Literal, Self, TypeAlias, TypedDict, cast

from ostler_client import gateway_types as wire
from ostler_client.backoff import Backoff
from ostler_client.errors import GatewayError, RunError, Unreachable
from ostler_client.place import Token, bearer, data_directory, gateway_url, token_of
from ostler_client.gateway_socket import Socket
from ostler_client.subscription import Subscription

# How many sessions a socket may follow.
FOLLOWED = 256
NAMING = ("sessions.create", "sessions.get", "chat.send", "chat.history")


class Resumed(TypedDict):
    """The connection is back. Put this in place of what was shown of the session; events go on from there."""

    event: Literal["resumed"]
    data: wire.SessionDetail


GatewayEvent: TypeAlias = "wire.ServerEvent | Resumed"


@dataclass(frozen=True)
class RunEnd:
    """How a run ended. `usage` is None when that was while the connection was lost."""

    run_id: str
    text: str
    aborted: bool
    usage: wire.RunUsage | None


class GatewayClient:
    """A gateway. `connect` it first and `close` it at last, or use it in an `async with` block."""

    def __init__(self, url: str | None = None, token: Token | None = None, backoff: Backoff = Backoff()) -> None:
        self._url = url or gateway_url()
        self._token = token_of(data_directory()) if token is None else token
        self._backoff = backoff
        # The sessions that were named, the newest last.
        self._followed: dict[str, None] = {}
        self._subscriptions: list[Subscription[GatewayEvent]] = []
        self._socket: asyncio.Future[Socket] | None = None
        self._keeper: asyncio.Task[None] | None = None

    async def __aenter__(self) -> Self:
        await self.connect()
        return self

    async def __aexit__(self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None) -> None:
        await self.close()

    async def connect(self) -> None:
        """Opens the connection and shows the token. Raises when it is refused, or when nobody is there."""
        if self._keeper is not None:
            raise RuntimeError("this client is connected already")
        socket = await self._open()
        self._socket = asyncio.get_running_loop().create_future()
        self._socket.set_result(socket)
        self._keeper = asyncio.create_task(self._keep(socket))

    async def close(self) -> None:
        """Ends the connection. Runs go on without it."""
        if self._keeper is None:
            return
        self._keeper.cancel()
        await asyncio.gather(self._keeper, return_exceptions=True)
        if self._socket is not None and self._socket.done() and not self._socket.exception():
            await self._socket.result().close()
        self._end(Unreachable("the client was closed"), None)

    async def call(self, method: str, **params: Any) -> Any:
        """Asks for something; `docs/protocols/gateway.md` lists the methods. While the connection is being made again it
        waits; when it is lost before the answer, `Unreachable` is raised, and whether it was carried out is not known."""
        if self._socket is None:
            raise Unreachable("this client is not connected; call connect() first")
        socket = await asyncio.shield(self._socket)
        result = await socket.call(method, params)
        if method in NAMING:
            self._follow({**result, **params}["sessionKey"])
        return result

    async def create_session(self, agent_id: str | None = None) -> str:
        """Makes a session; its key."""
        params = {} if agent_id is None else {"agentId": agent_id}
        return cast(str, (await self.call("sessions.create", **params))["sessionKey"])

    async def session(self, session_key: str) -> wire.SessionDetail:
        """A session with its conversation."""
        return cast(wire.SessionDetail, await self.call("sessions.get", sessionKey=session_key))

    async def send(self, session_key: str, message: str) -> str:
        """Says something; the id of the run that answers it."""
        return cast(str, (await self.call("chat.send", sessionKey=session_key, message=message))["runId"])

    async def history(self, session_key: str, limit: int = 100) -> list[wire.TranscriptMessage]:
        result = await self.call("chat.history", sessionKey=session_key, limit=limit)
        return cast(list[wire.TranscriptMessage], result["messages"])

    async def abort(self, run_id: str) -> None:
        await self.call("chat.abort", runId=run_id)

    async def approve(self, approval_id: str, reason: str | None = None) -> None:
        await self.call("exec.approve", approvalId=approval_id, reason=reason)

    async def deny(self, approval_id: str, reason: str | None = None) -> None:
        await self.call("exec.deny", approvalId=approval_id, reason=reason)

    def events(self) -> Subscription[GatewayEvent]:
        """The events that come from now on, and `resumed` after each lost connection. Ends with the client."""
        subscription: Subscription[GatewayEvent] = Subscription()
        self._subscriptions = [one for one in self._subscriptions if not one.closed] + [subscription]
        return subscription

    async def chat(self, session_key: str, message: str, on_text: Callable[[str], None] | None = None) -> RunEnd:
        """Says something and waits until the run has ended, over lost connections too."""
        # Events may come before the answer is looked at, so they are kept from the beginning.
        events = self.events()
        try:
            run = Run(session_key, await self.send(session_key, message), on_text)
            async for event in events:
                end = run.take(event)
                if end is not None:
                    return end
            raise Unreachable("the client was closed")
        finally:
            events.close()

    def _follow(self, session_key: str) -> None:
        self._followed.pop(session_key, None)
        self._followed[session_key] = None
        if len(self._followed) > FOLLOWED:
            self._followed.pop(next(iter(self._followed)))

    async def _open(self) -> Socket:
        return await Socket.open(self._url, bearer(self._token), self._emit)

    def _emit(self, event: GatewayEvent) -> None:
        if event["event"] == "sessions.released":
            self._followed.pop(event["data"]["sessionKey"], None)
        for subscription in self._subscriptions:
            subscription.put(event)

    async def _keep(self, socket: Socket) -> None:
        """Opens another connection whenever one is lost."""
        while True:
            lost = await socket.lost()
            waiting: asyncio.Future[Socket] = asyncio.get_running_loop().create_future()
            self._socket = waiting
            try:
                socket = await self._reopen(lost)
            except Exception as error:
                self._end(error, error)
                return
            waiting.set_result(socket)
            await self._resume(socket)

    async def _reopen(self, lost: Exception) -> Socket:
        attempt = 0
        while True:
            attempt += 1
            wait = self._backoff.wait(attempt) if isinstance(lost, Unreachable) else None
            if wait is None:
                raise lost
            await asyncio.sleep(wait)
            try:
                return await self._open()
            except Unreachable as error:
                lost = error

    async def _resume(self, socket: Socket) -> None:
        """Names the sessions again, so that their events come again."""
        for session_key in list(self._followed):
            try:
                # Its events follow the answer at once, and must not be shown before it.
                await socket.call("sessions.get", {"sessionKey": session_key}, self._show_resumed)
            except GatewayError:
                self._followed.pop(session_key, None)
            except Unreachable:
                return

    def _show_resumed(self, detail: wire.SessionDetail) -> None:
        self._emit({"event": "resumed", "data": detail})

    def _end(self, for_calls: Exception, for_readers: Exception | None) -> None:
        if self._socket is None or self._socket.done():
            self._socket = asyncio.get_running_loop().create_future()
        self._socket.set_exception(for_calls)
        # It may be that nobody asks any more.
        self._socket.exception()
        for subscription in self._subscriptions:
            subscription.close(for_readers)


class Run:
    """A run that somebody waits for."""

    def __init__(self, session_key: str, run_id: str, on_text: Callable[[str], None] | None) -> None:
        self._session_key = session_key
        self._run_id = run_id
        self._on_text = on_text
        self._text = ""

    def take(self, event: GatewayEvent) -> RunEnd | None:
        """How the run ended, if this event says so. Raises when it failed."""
        if event["event"] == "resumed":
            return self._resumed(event["data"])
        data = cast(dict[str, Any], event["data"])
        if data.get("runId") != self._run_id:
            return None
        if event["event"] == "chat.delta":
            self._text += data["text"]
            if self._on_text is not None:
                self._on_text(data["text"])
        elif event["event"] == "chat.final":
            return RunEnd(self._run_id, self._text, bool(data.get("aborted")), data["usage"])
        elif event["event"] == "chat.error":
            raise RunError(data["message"], self._run_id)
        return None

    def _resumed(self, detail: wire.SessionDetail) -> RunEnd | None:
        """Takes up what the history has of the run, and whether it has ended meanwhile."""
        if detail["session"]["key"] != self._session_key:
            return None
        said = [one for one in detail["messages"] if one.get("runId") == self._run_id and one["role"] == "assistant"]
        self._text = "".join(one["content"] for one in said)
        last = detail.get("lastRun")
        if not last or last["runId"] < self._run_id:
            return None
        # Ids of runs are ordered by time: where a later one is the last, this one is over.
        status = last["status"] if last["runId"] == self._run_id else "completed"
        if status == "failed":
            raise RunError(last.get("message") or "the run failed", self._run_id)
        return None if status == "running" else RunEnd(self._run_id, self._text, status == "aborted", None)
