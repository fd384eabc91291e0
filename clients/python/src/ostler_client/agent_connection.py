"""Many sessions over the pipes of one child process, `ostler rpc`. Commands without a session id mean the active session.
Nothing is kept here that the process does not know: `docs/protocols/jsonl.md` describes each line."""

from __future__ import annotations

import asyncio
import contextlib
import json
import os
from collections.abc import Mapping, Sequence
from types import TracebackType
from typing import Any, Self, cast

from ostler_client import jsonl_types as wire
from ostler_client.answers import Answers
from ostler_client.errors import CommandError, ProtocolError, Unreachable
from ostler_client.framing import Lines
from ostler_client.subscription import Subscription

# How long the process may take to end in order, in seconds.
PATIENCE = 10.0
CHUNK = 65_536


class AgentConnection:
    """A process and its sessions. `start` it first and `stop` it at last, or use it in an `async with` block.

    `command` is the program and what comes before `rpc`; `args` are more arguments of `rpc`, such as `--data-dir`. With
    `ui=False` nobody answers questions, so what needs an answer is refused. With `debug` the process's log is shown."""

    def __init__(
        self,
        *,
        cwd: str | None = None,
        model: str | None = None,
        system_prompt: str | None = None,
        session_file: str | None = None,
        debug: bool = False,
        ui: bool = True,
        command: Sequence[str] = ("ostler",),
        args: Sequence[str] = (),
        env: Mapping[str, str] | None = None,
    ) -> None:
        given = {"--cwd": cwd, "--model": model, "--system-prompt": system_prompt, "--session-file": session_file}
        named = [word for name, value in given.items() if value is not None for word in (name, value)]
        flags = (["--debug"] if debug else []) + ([] if ui else ["--no-ui"])
        self._command = [*command, "rpc", *named, *flags, *args]
        self._cwd, self._env, self._debug = cwd, env, debug
        self._process: asyncio.subprocess.Process | None = None
        self._tasks: list[asyncio.Task[None]] = []
        self._answers = Answers()
        self._subscriptions: list[Subscription[wire.ServerFrame]] = []
        self._log = b""
        self.ready: wire.ReadyServerFrame | None = None
        self.active_session_id: str | None = None

    async def __aenter__(self) -> Self:
        await self.start()
        return self

    async def __aexit__(self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None) -> None:
        await self.stop()

    async def start(self) -> wire.ReadyServerFrame:
        """Starts the process, and returns when its first session is there."""
        if self._process is not None:
            raise RuntimeError("this connection was started already; make another one")
        pipe = asyncio.subprocess.PIPE
        try:
            self._process = await asyncio.create_subprocess_exec(
                *self._command, stdin=pipe, stdout=pipe, stderr=pipe, cwd=self._cwd, env=self._env
            )
        except OSError as error:
            raise Unreachable(f"{self._command[0]} could not be started: {error}") from error
        ready = self._answers.expect("ready")
        log = asyncio.create_task(self._read_log(self._process))
        self._tasks = [log, asyncio.create_task(self._read(self._process, log))]
        try:
            return cast(wire.ReadyServerFrame, await ready)
        except BaseException:
            await self.stop()
            raise

    @property
    def primary_session_id(self) -> str | None:
        return self.ready["primary_session_id"] if self.ready else None

    def messages(self) -> Subscription[wire.ServerFrame]:
        """Every line that comes from now on. Ends with the process."""
        subscription: Subscription[wire.ServerFrame] = Subscription()
        self._subscriptions = [one for one in self._subscriptions if not one.closed] + [subscription]
        return subscription

    async def send(self, command: wire.ClientFrame) -> None:
        """Sends a line of the protocol."""
        process = self._process
        if process is None or process.stdin is None or process.stdin.is_closing() or process.returncode is not None:
            raise Unreachable("ostler rpc is not running")
        named = cast(dict[str, Any], command).get("session_id")
        if named:
            self._answers.named(named)
        process.stdin.write(json.dumps(command).encode() + b"\n")
        try:
            await process.stdin.drain()
        except ConnectionError as error:
            raise Unreachable("ostler rpc has ended") from error

    async def prompt(self, text: str, session_id: str | None = None, delivery: wire.Delivery | None = None) -> None:
        """Says something; the events tell what comes of it."""
        await self.send(_frame("prompt", text=text, session_id=session_id, delivery=delivery))

    async def abort(self, session_id: str | None = None) -> None:
        await self.send(_frame("abort", session_id=session_id))

    async def reset(self, session_id: str | None = None) -> None:
        await self.send(_frame("reset", session_id=session_id))

    async def save(self, session_id: str | None = None) -> wire.SaveResultServerFrame:
        frame = _frame("save", session_id=session_id)
        return cast(wire.SaveResultServerFrame, await self._ask(frame, "save_result", session_id or self.active_session_id))

    async def stats(self, session_id: str | None = None) -> wire.StatsServerFrame:
        frame = _frame("stats", session_id=session_id)
        return cast(wire.StatsServerFrame, await self._ask(frame, "stats", session_id or self.active_session_id))

    async def ping(self) -> None:
        await self._ask(_frame("ping"), "pong")

    async def list_sessions(self) -> wire.SessionsListServerFrame:
        """The sessions of this directory that are on disk."""
        return cast(wire.SessionsListServerFrame, await self._ask(_frame("list_sessions"), "sessions_list"))

    async def list_models(self) -> wire.ModelsListServerFrame:
        return cast(wire.ModelsListServerFrame, await self._ask(_frame("list_models"), "models_list"))

    async def start_session(
        self,
        *,
        cwd: str | None = None,
        model: str | None = None,
        system_prompt: str | None = None,
        session_file: str | None = None,
        parent_session: str | None = None,
        set_active: bool = False,
    ) -> wire.SessionStartedServerFrame:
        frame = _frame("start_session", cwd=cwd, model=model, system_prompt=system_prompt, session_file=session_file,
                       parent_session=parent_session, set_active=set_active)
        return cast(wire.SessionStartedServerFrame, await self._ask(frame, "session_started"))

    async def close_session(self, session_id: str) -> wire.SessionClosedServerFrame:
        frame = _frame("close_session", session_id=session_id)
        return cast(wire.SessionClosedServerFrame, await self._ask(frame, "session_closed", session_id))

    async def list_running_sessions(self) -> wire.RunningSessionsServerFrame:
        return cast(wire.RunningSessionsServerFrame, await self._ask(_frame("list_running_sessions"), "running_sessions"))

    async def set_active_session(self, session_id: str) -> wire.ActiveSessionServerFrame:
        frame = _frame("set_active_session", session_id=session_id)
        return cast(wire.ActiveSessionServerFrame, await self._ask(frame, "active_session", session_id))

    async def respond_to_ui_request(self, id: str, result: Any, error: str | None = None) -> None:
        """Answers a question. None and None is a no; an error beats the result."""
        await self.send(cast(wire.ClientFrame, {"type": "ui_response", "id": id, "result": result, "error": error}))

    async def stop(self) -> int | None:
        """Asks the process to end, and waits until it has; one that does not is killed. Returns its exit code."""
        process = self._process
        if process is None:
            return None
        if process.stdin is not None and not process.stdin.is_closing():
            process.stdin.write(b'{"type":"quit"}\n')
            process.stdin.close()
        try:
            await asyncio.wait_for(process.wait(), PATIENCE)
        except TimeoutError:
            process.kill()
        await asyncio.gather(*self._tasks)
        return await process.wait()

    async def _ask(self, command: wire.ClientFrame, type_: str, session_id: str | None = None) -> Any:
        answer = self._answers.expect(type_, session_id)
        try:
            await self.send(command)
        except Unreachable:
            answer.cancel()
            raise
        return await answer

    async def _read_log(self, process: asyncio.subprocess.Process) -> None:
        """The log must be read, or the process would wait for it; its end says why it could not start."""
        assert process.stderr is not None, "it was started with a pipe"
        while chunk := await process.stderr.read(CHUNK):
            self._log = (self._log + chunk)[-4096:]
            if self._debug:
                os.write(2, chunk)

    async def _read(self, process: asyncio.subprocess.Process, log: asyncio.Task[None]) -> None:
        assert process.stdout is not None, "it was started with a pipe"
        lines = Lines()
        error: Exception | None = None
        while chunk := await process.stdout.read(CHUNK):
            for line in lines.push(chunk):
                error = self._take(line) or error
        self._take(lines.finish())
        code = await process.wait()
        await log
        why = self._log.decode(errors="replace").strip().split("\n")[-1]
        ended = Unreachable(f"ostler rpc has ended with {code}{': ' + why if why else ''}")
        self._answers.fail(ended)
        self.ready = None
        for subscription in self._subscriptions:
            subscription.close(error or (ended if code else None))

    def _take(self, line: str) -> Exception | None:
        if not line.strip():
            return None
        frame: Any = None
        with contextlib.suppress(ValueError):
            frame = json.loads(line)
        if not isinstance(frame, dict) or "type" not in frame:
            error = ProtocolError(f"ostler rpc wrote a line that is no JSON object: {line[:200]}")
            self._answers.fail(error)
            return error
        frame = cast(Any, frame)
        if frame["type"] == "ready":
            self.ready, self.active_session_id = frame, frame["active_session_id"]
        elif frame["type"] == "active_session":
            self.active_session_id = frame["session_id"]
        if frame["type"] == "error":
            self._answers.refuse(CommandError(frame["message"], frame.get("hint"), frame.get("session_id")))
        else:
            self._answers.take(frame)
        for subscription in self._subscriptions:
            subscription.put(frame)
        return None


def _frame(type_: str, **fields: Any) -> wire.ClientFrame:
    """A command with those fields that were given."""
    return cast(wire.ClientFrame, {"type": type_, **{name: value for name, value in fields.items() if value is not None}})
