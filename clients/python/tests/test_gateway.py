"""The client of the gateway against the built daemon."""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable
from typing import Any

import pytest
from daemon import BACKOFF, SLOWLY, Daemon, Proxy

from ostler_client import GatewayClient, GatewayError, OstlerError, RunError, Unreachable


def at(host: str, token: str) -> GatewayClient:
    return GatewayClient(f"ws://{host}/gateway", token, BACKOFF)


def run(scenario: Callable[[], Awaitable[None]]) -> None:
    async def bounded() -> None:
        await asyncio.wait_for(scenario(), 60)

    asyncio.run(bounded())


def test_a_conversation_its_history_and_its_session_are_there(daemon: Daemon) -> None:
    async def scenario() -> None:
        async with at(daemon.host, daemon.token) as client:
            key = await client.create_session()
            pieces: list[str] = []
            end = await client.chat(key, SLOWLY, pieces.append)
            assert "".join(pieces) == end.text and len(pieces) > 3 and "twelve" in end.text
            assert not end.aborted and end.usage
            assert [message["role"] for message in await client.history(key)] == ["user", "assistant"]
            detail = await client.session(key)
            assert detail["session"]["key"] == key
            assert any(one["key"] == key for one in (await client.call("sessions.list"))["sessions"])
            assert (await client.call("agents.list"))["agents"]

    run(scenario)


def test_a_run_is_stopped_and_a_call_is_answered(daemon: Daemon) -> None:
    async def scenario() -> None:
        async with at(daemon.host, daemon.token) as client:
            key = await client.create_session()
            events = client.events()
            chat = asyncio.create_task(client.chat(key, SLOWLY))
            async for event in events:
                if event["event"] == "chat.delta":
                    await client.abort(event["data"]["runId"])
                    break
            stopped = await chat
            assert stopped.aborted and "twelve" not in stopped.text
            chat = asyncio.create_task(client.chat(key, "write hello.txt with Hello!"))
            async for event in events:
                if event["event"] == "exec.approval_request":
                    await client.deny(event["data"]["approvalId"], "not now")
                    break
            assert not (await chat).aborted
            events.close()

    run(scenario)


def test_errors_say_what_was_wrong(daemon: Daemon) -> None:
    async def scenario() -> None:
        with pytest.raises(OstlerError) as refused:
            await at(daemon.host, "wrong").connect()
        assert refused.value.status == 401
        with pytest.raises(Unreachable):
            await at("127.0.0.1:9", "x").connect()
        client = at(daemon.host, daemon.token)
        with pytest.raises(Unreachable, match="connect"):
            await client.call("health.check")
        await client.connect()
        with pytest.raises(GatewayError) as wrong:
            await client.session("nonsense")
        assert wrong.value.code == -32602
        with pytest.raises(GatewayError, match="Session not found"):
            await client.send("00000000-0000-7000-8000-000000000000", "x")
        await client.close()
        with pytest.raises(Unreachable):
            await client.call("health.check")

    run(scenario)


def test_a_run_is_waited_for_over_connections_that_are_cut(daemon: Daemon) -> None:
    async def scenario() -> None:
        with Proxy(daemon) as proxy:
            async with at(proxy.host, daemon.token) as client:
                key = await client.create_session()
                cuts = 0

                def cut(_: str) -> None:
                    nonlocal cuts
                    if cuts < 3:
                        cuts += 1
                        proxy.cut()

                end = await client.chat(key, SLOWLY, cut)
                assert cuts == 3
                assert end.text == (await client.history(key))[-1]["content"]

    run(scenario)


def test_a_run_that_a_killed_daemon_had_begun_ends_with_an_error() -> None:
    async def scenario() -> None:
        with Daemon() as own:
            async with at(own.host, own.token) as client:
                key = await client.create_session()
                events = client.events()
                chat = asyncio.create_task(client.chat(key, SLOWLY))
                resumed: Any = None
                async for event in events:
                    if event["event"] == "chat.delta":
                        await asyncio.to_thread(own.kill)
                        await asyncio.to_thread(own.restart)
                    if event["event"] == "resumed":
                        resumed = event["data"]
                        break
                with pytest.raises(RunError):
                    await chat
                assert resumed["lastRun"]["status"] == "failed"

    run(scenario)


def test_a_daemon_that_stays_away_ends_everything() -> None:
    async def scenario() -> None:
        with Daemon() as own:
            client = GatewayClient(f"ws://{own.host}/gateway", own.token)
            client._backoff = BACKOFF.__class__(first=0.01, longest=0.01, tries=3)
            await client.connect()
            events = client.events()
            own.kill()
            with pytest.raises(Unreachable):
                await anext(events)
            with pytest.raises(Unreachable):
                await client.call("health.check")
            await client.close()
            own.restart()

    run(scenario)
