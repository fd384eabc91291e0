#!/usr/bin/env python3
"""An editor by the official Python library: python3 client.py PHASE WORKSPACE SESSION COMMAND…
Phase `first` makes a session and prompts in it, `second` loads it. Prints the session's id. Used by the tests of
crates/cli."""

import asyncio
import json
import os
import sys
from pathlib import Path

import acp
from acp import schema

phase, cwd, known, command, *arguments = sys.argv[1:]


class Editor(acp.Client):
    def __init__(self):
        self.updates = []
        self.answer = "allow_once"
        self.seen = asyncio.Queue()

    async def request_permission(self, session_id, tool_call, options, **kwargs):
        option = next(option for option in options if option.kind == self.answer)
        outcome = schema.AllowedOutcome(outcome="selected", option_id=option.option_id)
        return schema.RequestPermissionResponse(outcome=outcome)

    async def session_update(self, session_id, update, **kwargs):
        self.updates.append(update)
        self.seen.put_nowait(update)

    def text(self, kind):
        of_kind = [update for update in self.updates if update.session_update == kind]
        return "".join(getattr(update.content, "text", "") for update in of_kind)

    def last_status(self):
        statuses = [update.status for update in self.updates if update.session_update == "tool_call_update"]
        return next(status for status in reversed(statuses) if status)


def play(*steps):
    return [acp.text_block("play " + json.dumps(steps))]


def call(name, **given):
    return [{"name": name, "input": given}]


async def first(agent, editor):
    session = (await agent.new_session(cwd=cwd)).session_id

    async def prompt(blocks):
        return (await agent.prompt(session_id=session, prompt=blocks)).stop_reason

    assert await prompt(play("hello from the model")) == "end_turn"
    assert editor.text("agent_message_chunk") == "hello from the model", editor.updates
    assert await prompt(play(call("write_file", path="granted.txt", content="new\n"), "written")) == "end_turn"
    assert editor.last_status() == "completed"
    assert Path(cwd, "granted.txt").read_text() == "new\n"
    editor.answer = "reject_once"
    assert await prompt(play(call("write_file", path="denied.txt", content="new\n"), "not written")) == "end_turn"
    assert editor.last_status() == "failed"
    assert not Path(cwd, "denied.txt").exists()
    editor.answer, editor.seen = "allow_once", asyncio.Queue()
    slow = asyncio.create_task(prompt(play(call("shell", command="sleep 600"))))
    while getattr(await editor.seen.get(), "status", None) != "in_progress":
        pass
    await agent.cancel(session_id=session)
    assert await slow == "cancelled"
    return session


async def second(agent, editor):
    listed = await agent.list_sessions(cwd=cwd)
    assert known in [session.session_id for session in listed.sessions]
    await agent.load_session(cwd=cwd, session_id=known)
    assert "hello from the model" in editor.text("user_message_chunk")
    assert editor.text("agent_message_chunk").startswith("hello from the model")
    answer = await agent.prompt(session_id=known, prompt=play("still here"))
    assert answer.stop_reason == "end_turn"
    assert editor.text("agent_message_chunk").endswith("still here")
    return known


async def main():
    editor = Editor()
    async with acp.spawn_agent_process(editor, command, *arguments, env=dict(os.environ)) as (agent, _):
        told = await agent.initialize(protocol_version=acp.PROTOCOL_VERSION)
        assert told.protocol_version == 1 and told.agent_capabilities.load_session
        print(await (first if phase == "first" else second)(agent, editor))


asyncio.run(main())
