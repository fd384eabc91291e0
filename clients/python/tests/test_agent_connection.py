"""`ostler rpc` driven over its pipes."""

from __future__ import annotations

import asyncio
import sys
from collections.abc import Awaitable, Callable
from typing import Any

import pytest
from daemon import BINARY, SLOWLY, Daemon

from ostler_client import AgentConnection, CommandError, ProtocolError, Unreachable
from ostler_client.jsonl_types import WireMessage

NOBODY = "sess_" + "0" * 32


def at(daemon: Daemon, **options: Any) -> AgentConnection:
    given = {"command": [BINARY], "cwd": daemon.workspace, "model": "demo", "args": daemon.arguments, "env": daemon.env}
    return AgentConnection(**{**given, **options})


def run(scenario: Callable[[], Awaitable[None]]) -> None:
    async def bounded() -> None:
        await asyncio.wait_for(scenario(), 60)

    asyncio.run(bounded())


async def answer(agent: AgentConnection, text: str, session_id: str | None = None) -> list[WireMessage]:
    """Says something, and the messages of the run."""
    wanted, expected = session_id or agent.active_session_id, None
    messages = agent.messages()
    await agent.prompt(text, session_id)
    async for frame in messages:
        if frame["type"] != "event" or frame["session_id"] != wanted:
            continue
        assert expected in (None, frame["event_seq"])
        expected = frame["event_seq"] + 1
        if frame["event"]["type"] == "agent_end":
            messages.close()
            return frame["event"]["data"][0]
    raise AssertionError("the process ended before the run")


def words(message: WireMessage) -> str:
    return "".join(block["text"] for block in message["content"] if block["type"] == "text")


def test_sessions_run_side_by_side_each_with_its_own_events(daemon: Daemon) -> None:
    async def scenario() -> None:
        async with at(daemon) as agent:
            primary = agent.primary_session_id
            assert primary and agent.active_session_id == primary
            second = (await agent.start_session(cwd=daemon.workspace))["session_id"]
            one, two = await asyncio.gather(answer(agent, "say ä\u2028ö 😀"), answer(agent, "say second", second))
            assert words(one[0]) == "say ä\u2028ö 😀" and "ä\u2028ö 😀" in words(one[-1]) and "second" in words(two[-1])
            assert (await agent.set_active_session(second))["session_id"] == second == agent.active_session_id
            assert (await agent.stats())["stats"]["session_id"] == second
            running = (await agent.list_running_sessions())["sessions"]
            assert [session["session_id"] for session in running] == [primary, second]
            assert len((await agent.list_sessions())["sessions"]) >= 2
            assert any(provider["id"] == "demo" for provider in (await agent.list_models())["providers"])
            assert (await agent.save(primary))["ok"]
            await agent.ping()
            assert (await agent.close_session(second))["reason"] == "normal"
            assert await agent.stop() == 0

    run(scenario)


def test_an_abort_keeps_what_was_written_and_a_question_is_answered(daemon: Daemon) -> None:
    async def scenario() -> None:
        async with at(daemon) as agent:
            messages = agent.messages()
            stopping = asyncio.create_task(answer(agent, SLOWLY))
            async for frame in messages:
                if frame["type"] == "event" and frame["event"]["type"] == "message_update":
                    await agent.abort()
                    break
            last = (await stopping)[-1]
            assert last["role"] == "assistant" and last.get("stop_reason") == "aborted" and words(last)
            writing = asyncio.create_task(answer(agent, "write from-rpc.txt with Hello"))
            async for frame in messages:
                if frame["type"] == "ui_request":
                    assert frame["method"] == "select" and frame["session_id"] == agent.primary_session_id
                    await agent.respond_to_ui_request(frame["id"], "once")
                    break
            messages.close()
            assert [message["is_error"] for message in await writing if message["role"] == "tool_result"] == [False]
            await agent.reset()
            assert (await agent.stats())["session_id"] == agent.primary_session_id

    run(scenario)


def test_errors_reach_whoever_asked(daemon: Daemon) -> None:
    async def scenario() -> None:
        agent = at(daemon)
        await agent.start()
        with pytest.raises(CommandError, match="not_found") as missing:
            await agent.stats(NOBODY)
        assert missing.value.session_id == NOBODY
        assert (await agent.close_session(NOBODY))["reason"] == "not_found"
        with pytest.raises(CommandError):
            await agent.start_session(cwd="/nowhere/at/all")
        await agent.ping()
        await agent.stop()
        with pytest.raises(Unreachable):
            await agent.prompt("too late")
        with pytest.raises(Unreachable):
            await at(daemon, command=["/nowhere/ostler"]).start()
        with pytest.raises((CommandError, Unreachable)):
            await at(daemon, model="nobody:nothing").start()

    run(scenario)


def test_a_session_of_another_client_that_is_named_is_no_answer_to_a_start(daemon: Daemon) -> None:
    async def scenario() -> None:
        async with at(daemon) as other, at(daemon) as agent:
            foreign = other.primary_session_id
            assert foreign
            stats, started = await asyncio.gather(agent.stats(foreign), agent.start_session())
            assert stats["session_id"] == foreign != started["session_id"]

    run(scenario)


def test_a_daemon_that_is_killed_ends_it_and_its_sessions_are_opened_again_from_their_files() -> None:
    async def scenario() -> None:
        with Daemon() as own:
            agent = at(own)
            session_id = (await agent.start())["primary_session_id"]
            await answer(agent, "say remember")
            path = (await agent.save()).get("path")
            messages = agent.messages()
            await asyncio.to_thread(own.kill)
            with pytest.raises(Unreachable, match="ended with 5"):
                async for _ in messages:
                    pass
            assert await agent.stop() == 5
            await asyncio.to_thread(own.restart)
            async with at(own, session_file=path) as again:
                assert again.primary_session_id == session_id
                assert (await again.stats())["stats"]["message_count"] >= 2

    run(scenario)


def test_a_process_that_writes_something_else_is_told(daemon: Daemon) -> None:
    async def scenario() -> None:
        script = "import sys; print('what?', flush=True); sys.stdin.read()"
        with pytest.raises(ProtocolError):
            await at(daemon, command=[sys.executable, "-c", script]).start()

    run(scenario)
