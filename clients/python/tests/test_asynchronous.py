"""What is different about the client that awaits; the other one is made from it, and has most of the tests."""

from __future__ import annotations

import asyncio

from daemon import SLOWLY, Daemon, Proxy
from test_http import records, whole

from ostler_client import AsyncClient
from ostler_client.http_types import SessionEvent


def test_many_sessions_are_followed_at_once_over_connections_that_are_cut(daemon: Daemon) -> None:
    async def follow(client: AsyncClient, session_id: str, proxy: Proxy) -> list[SessionEvent]:
        seen = []
        async for event in client.events(session_id):
            seen.append(event)
            if event["type"] == "model_output_delta" and len(seen) % 5 == 0:
                proxy.cut()
            if event["type"] == "turn_completed":
                break
        return seen

    async def main() -> None:
        with Proxy(daemon) as proxy:
            async with AsyncClient(**daemon.options) as client, AsyncClient(**proxy.options) as cut:
                made = [await client.create_session(workspace_path=daemon.workspace, model="demo") for _ in range(5)]
                for one in made:
                    await client.send_message(one["session_id"], SLOWLY)
                for seen in await asyncio.gather(*(follow(cut, one["session_id"], proxy) for one in made)):
                    whole(seen)
                    assert len(records(seen)) > 4

    asyncio.run(asyncio.wait_for(main(), 60))


def test_an_iteration_that_is_canceled_lets_go(daemon: Daemon) -> None:
    async def main() -> None:
        async with AsyncClient(**daemon.options) as client:
            session_id = (await client.create_session(workspace_path=daemon.workspace))["session_id"]
            events = client.events(session_id)
            assert (await anext(events))["type"] == "session_created"
            waiting = asyncio.create_task(_exhaust(events))
            await client.session(session_id)
            waiting.cancel()
            await asyncio.gather(waiting, return_exceptions=True)
            assert waiting.cancelled()
            assert b"".join([chunk async for chunk in client.export(session_id, format="ndjson")])

    asyncio.run(asyncio.wait_for(main(), 60))


async def _exhaust(events: object) -> None:
    async for _ in events:  # type: ignore[attr-defined]
        pass
