"""The client of the http door. Names and shapes are the daemon's own; `docs/http.md` says what they mean."""

from __future__ import annotations

import asyncio
import base64
import json
from collections.abc import AsyncGenerator, Callable, Iterable
from contextlib import aclosing
from types import TracebackType
from typing import Any, Self, Unpack, cast

import httpx

from ostler_client import http_types as types
from ostler_client.backoff import Backoff
from ostler_client.errors import OstlerError, Unreachable, passes
from ostler_client.framing import Frame, FrameReader
from ostler_client.place import Token, bearer, data_directory, http_url, token_of
from ostler_client.http_requests import STREAM, Cursor, FeedEvent, Request, event_query, parse, refusal, request

# The daemon shows every 15 s that it lives; one that misses four of these is taken for gone.
SILENCE = 60.0


class AsyncClient:
    """A daemon over HTTP. `url` and `token` are those of this user's daemon unless told otherwise; without a token when
    it is the empty text. Close it, or use it in a `with` block."""

    def __init__(self, url: str | None = None, token: Token | None = None, backoff: Backoff = Backoff()) -> None:
        self._url = (url or http_url()).rstrip("/")
        self._token = token_of(data_directory()) if token is None else token
        self._backoff = backoff
        timeout = httpx.Timeout(30.0, read=SILENCE)
        # Each session that is followed takes a connection. A proxy would be asked for an address of this machine.
        limits = httpx.Limits(max_connections=None)
        self._http = httpx.AsyncClient(base_url=self._url, timeout=timeout, limits=limits, trust_env=False)

    async def __aenter__(self) -> Self:
        return self

    async def __aexit__(self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None) -> None:
        await self.aclose()

    async def aclose(self) -> None:
        await self._http.aclose()

    async def health(self) -> types.Health:
        return cast(types.Health, await self._json(request("health")))

    async def openapi(self) -> dict[str, Any]:
        return cast(dict[str, Any], await self._json(request("openapi")))

    async def agents(self) -> types.Agents:
        return cast(types.Agents, await self._json(request("list_agents")))

    async def models(self, **query: Unpack[types.ListModelsQuery]) -> types.Models:
        return cast(types.Models, await self._json(request("list_models", query=query)))

    async def tools(self, **query: Unpack[types.ListToolsQuery]) -> types.Tools:
        return cast(types.Tools, await self._json(request("list_tools", query=query)))

    async def usage(self, **query: Unpack[types.UsageQuery]) -> types.UsageTable:
        return cast(types.UsageTable, await self._json(request("usage", query=query)))

    async def trust(self, workspace_path: str) -> types.Trusted:
        return cast(types.Trusted, await self._json(request("get_trust", query={"workspace_path": workspace_path})))

    async def set_trust(self, **body: Unpack[types.TrustBody]) -> types.Trusted:
        return cast(types.Trusted, await self._json(request("set_trust", body=body)))

    async def agent_sessions(self, agent: str, **query: Unpack[types.ListAgentSessionsQuery]) -> types.AgentSessions:
        """The sessions that someone else's agent keeps itself, which can be taken over."""
        return cast(types.AgentSessions, await self._json(request("list_agent_sessions", {"agent": agent}, query)))

    async def settings(self) -> types.SettingsView:
        return cast(types.SettingsView, await self._json(request("get_settings")))

    async def login_code(self) -> types.LoginCode:
        """An address of the page with a one-time code, which lets a browser in."""
        return cast(types.LoginCode, await self._json(request("make_login_code")))

    async def log_in(self, code: str) -> None:
        """Trades a one-time code for a cookie. Of use in a browser, which keeps it."""
        await self._bytes(request("log_in", body={"code": code}))

    async def log_out(self) -> None:
        """Makes the cookie void."""
        await self._bytes(request("log_out"))

    async def directories(self, **query: Unpack[types.ListDirectoriesQuery]) -> types.DirectoryList:
        return cast(types.DirectoryList, await self._json(request("list_directories", query=query)))

    async def projects(self) -> types.ProjectList:
        return cast(types.ProjectList, await self._json(request("list_projects")))

    async def add_project(self, **body: Unpack[types.ProjectBody]) -> types.Project:
        return cast(types.Project, await self._json(request("add_project", body=body)))

    async def remove_project(self, project_id: str) -> types.ProjectRemoved:
        return cast(types.ProjectRemoved, await self._json(request("remove_project", {"project_id": project_id})))

    async def create_session(self, **body: Unpack[types.NewSessionBody]) -> types.Created:
        return cast(types.Created, await self._json(request("create_session", body=body)))

    async def sessions(self, **query: Unpack[types.ListSessionsQuery]) -> types.SessionList:
        return cast(types.SessionList, await self._json(request("list_sessions", query=query)))

    async def session(self, session_id: str, **query: Unpack[types.GetSessionQuery]) -> types.Shown:
        return cast(types.Shown, await self._json(request("get_session", of(session_id), query)))

    async def update_session(self, session_id: str, **body: Unpack[types.UpdateBody]) -> types.Shown:
        return cast(types.Shown, await self._json(request("update_session", of(session_id), body=body)))

    async def close_session(self, session_id: str, **query: Unpack[types.CloseSessionQuery]) -> types.Closed:
        """Closes a session; with `purge` its files are removed too."""
        return cast(types.Closed, await self._json(request("close_session", of(session_id), query)))

    async def send_message(self, session_id: str, said: str | types.MessageBody) -> types.Sent:
        """Says something in a session. When it returns, what was said is on disk."""
        body = {"role": "user", "parts": [{"type": "text", "text": said}]} if isinstance(said, str) else said
        return cast(types.Sent, await self._json(request("send_message", of(session_id), body=body)))

    async def messages(self, session_id: str, **query: Unpack[types.ListMessagesQuery]) -> types.Page:
        return cast(types.Page, await self._json(request("list_messages", of(session_id), query)))

    async def queue(self, session_id: str) -> types.Queue:
        return cast(types.Queue, await self._json(request("list_queue", of(session_id))))

    async def change_queued(
        self, session_id: str, message_id: str, **body: Unpack[types.QueuedBody]
    ) -> types.Queue:
        """Edits a message that waits, moves it, or has it steer the running turn."""
        asked = of(session_id, message_id=message_id)
        return cast(types.Queue, await self._json(request("change_queued", asked, body=body)))

    async def find_files(self, session_id: str, **query: Unpack[types.FindFilesQuery]) -> types.FoundFiles:
        """Files of the workspace, by a few letters of their paths."""
        return cast(types.FoundFiles, await self._json(request("find_files", of(session_id), query)))

    async def withdraw(self, session_id: str, message_id: str) -> types.Withdrawn:
        return cast(types.Withdrawn, await self._json(request("withdraw_message", of(session_id, message_id=message_id))))

    async def run(self, session_id: str) -> types.Started:
        return cast(types.Started, await self._json(request("run", of(session_id))))

    async def retry(self, session_id: str, turn_id: str) -> types.Started:
        return cast(types.Started, await self._json(request("retry_turn", of(session_id, turn_id=turn_id))))

    async def approval_diff(self, session_id: str, tool_call_id: str) -> types.ApprovalDiff:
        """What a call would change that waits for an answer; ``files`` is None where that cannot be told."""
        path = of(session_id, tool_call_id=tool_call_id)
        return cast(types.ApprovalDiff, await self._json(request("get_approval_diff", path)))

    async def turn_diff(self, session_id: str, turn_id: str) -> types.TurnDiff:
        """What a turn changed in the workspace."""
        return cast(types.TurnDiff, await self._json(request("get_turn_diff", of(session_id, turn_id=turn_id))))

    async def cancel(self, session_id: str, **body: Unpack[types.CancelBody]) -> types.Canceled:
        return cast(types.Canceled, await self._json(request("cancel", of(session_id), body=body)))

    async def approve(self, session_id: str, **body: Unpack[types.AnswerBody]) -> types.Answered:
        """Answers a call that waits, yes or no."""
        return cast(types.Answered, await self._json(request("answer_approval", of(session_id), body=body)))

    async def approvals(self) -> types.Approvals:
        """All that waits for an answer, over all sessions."""
        return cast(types.Approvals, await self._json(request("list_approvals")))

    async def undo(self, session_id: str, **body: Unpack[types.UndoBody]) -> types.Undone:
        return cast(types.Undone, await self._json(request("undo", of(session_id), body=body)))

    async def fork(self, session_id: str, **body: Unpack[types.ForkBody]) -> types.Created:
        return cast(types.Created, await self._json(request("fork_session", of(session_id), body=body)))

    async def compact(self, session_id: str) -> types.Started:
        return cast(types.Started, await self._json(request("compact", of(session_id))))

    async def subtasks(self, session_id: str, **body: Unpack[types.PlanBody]) -> types.Started:
        return cast(types.Started, await self._json(request("run_subtasks", of(session_id), body=body)))

    async def context(self, session_id: str) -> types.ContextView:
        return cast(types.ContextView, await self._json(request("get_context", of(session_id))))

    async def export(self, session_id: str, **query: Unpack[types.ExportSessionQuery]) -> AsyncGenerator[bytes, None]:
        """The session as one file, in pieces, so that it may be larger than memory."""
        response = await self._send(request("export_session", of(session_id), query))
        try:
            async for chunk in response.aiter_bytes():
                yield chunk
        except httpx.TransportError as error:
            raise self._unreachable(error) from error
        finally:
            await response.aclose()

    async def import_session(self, file: bytes, **query: Unpack[types.ImportSessionQuery]) -> types.Created:
        """Makes a session of an exported one."""
        return cast(types.Created, await self._json(request("import_session", query=query, body=file)))

    async def attach(self, session_id: str, name: str, data: bytes) -> types.Stored:
        """Adds a file to a session; `ref` in the answer is for a part of a message."""
        body = {"name": name, "data": base64.b64encode(data).decode()}
        return cast(types.Stored, await self._json(request("attach_file", of(session_id), body=body)))

    async def attachments(self, session_id: str) -> types.Files:
        return cast(types.Files, await self._json(request("list_attachments", of(session_id))))

    async def attachment(self, session_id: str, file: str) -> bytes:
        return await self._bytes(request("get_attachment", of(session_id, file=file)))

    async def artifacts(self, session_id: str, turn_id: str) -> types.Files:
        return cast(types.Files, await self._json(request("list_artifacts", of(session_id, turn_id=turn_id))))

    async def artifact(self, session_id: str, turn_id: str, file: str) -> bytes:
        return await self._bytes(request("get_artifact", of(session_id, turn_id=turn_id, file=file)))

    async def events(
        self, session_id: str, *, after: int = 0, follow: bool = True, types: Iterable[str] | None = None
    ) -> AsyncGenerator[types.SessionEvent, None]:
        """What has happened in a session after a `seq`, and then what happens, for as long as the caller asks for more.

        A connection that is lost is made again: every record comes once, in order and without a gap, and no text comes
        twice. Raises when the daemon cannot be reached for too long, and when it refuses. With `follow=False` it ends
        after what there is."""
        names = None if types is None else list(types)
        cursor = Cursor(after, names is not None)

        def ask() -> Request:
            return request("session_events", of(session_id), event_query(cursor.seq, names, follow), accept=STREAM)

        async with aclosing(self._frames(ask, follow)) as frames:
            async for _, data in frames:
                event = cursor.take(data)
                if event is not None:
                    yield event

    async def all_events(
        self, *, after: str | None = None, types: Iterable[str] | None = None
    ) -> AsyncGenerator[FeedEvent, None]:
        """What happens in every session, on one connection that is made again when it is lost. `after` is a cursor;
        `start` is the very beginning, and without it only what is to come is shown."""
        names = None if types is None else list(types)
        cursor = after

        def ask() -> Request:
            return request("all_events", query=event_query(cursor, names), accept=STREAM)

        async with aclosing(self._frames(ask, True, heartbeats=True)) as frames:
            async for frame_id, data in frames:
                if data["type"] == "heartbeat":
                    # So nothing is lost when the connection is cut before the first record.
                    cursor = data["data"].get("cursor", cursor)
                    continue
                cursor = frame_id or cursor
                yield FeedEvent(cursor, data)

    async def _frames(
        self, ask: Callable[[], Request], follow: bool, heartbeats: bool = False
    ) -> AsyncGenerator[tuple[str | None, Any], None]:
        """The ids and the data of frames, of one connection after the other. Gives up after as many tries in a row as the backoff allows."""
        failures = 0
        while True:
            try:
                async with aclosing(self._connection(ask())) as frames:
                    async for frame in frames:
                        failures = 0
                        data = parse(frame)
                        if data["type"] == "error":
                            raise OstlerError(data["data"]["error"], 0)
                        if heartbeats or data["type"] != "heartbeat":
                            yield frame.id, data
                if not follow:
                    return
                raise Unreachable(f"{self._url} closed the connection")
            except (Unreachable, OstlerError) as error:
                failures += 1
                wait = self._backoff.wait(failures) if passes(error) else None
                if wait is None:
                    raise
            await asyncio.sleep(wait)

    async def _connection(self, asked: Request) -> AsyncGenerator[Frame, None]:
        response = await self._send(asked)
        reader = FrameReader()
        try:
            async for chunk in response.aiter_bytes():
                for frame in reader.push(chunk):
                    yield frame
        except httpx.TransportError as error:
            raise self._unreachable(error) from error
        finally:
            await response.aclose()

    async def _json(self, asked: Request) -> Any:
        return json.loads(await self._bytes(asked))

    async def _bytes(self, asked: Request) -> bytes:
        response = await self._send(asked)
        try:
            return await response.aread()
        except httpx.TransportError as error:
            raise self._unreachable(error) from error
        finally:
            await response.aclose()

    async def _send(self, asked: Request) -> httpx.Response:
        """Sends a request; the body of the answer is still to be read. Raises unless the answer is a success."""
        token = bearer(self._token)
        headers = {**asked.headers, **({"authorization": f"Bearer {token}"} if token else {})}
        built = self._http.build_request(
            asked.method, asked.path, params=asked.params or None, headers=headers, content=asked.content
        )
        try:
            response = await self._http.send(built, stream=True)
            if response.is_success:
                return response
            text = (await response.aread()).decode(errors="replace")
        except httpx.TransportError as error:
            raise self._unreachable(error) from error
        await response.aclose()
        raise refusal(response.status_code, text)

    def _unreachable(self, error: httpx.TransportError) -> Unreachable:
        reason = str(error) or type(error).__name__
        return Unreachable(f"no answer from {self._url}: {reason}; is `ostler serve` running?")


def of(session_id: str, **more: str) -> dict[str, str]:
    return {"session_id": session_id, **more}
