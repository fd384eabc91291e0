"""The http client against the built daemon."""

from __future__ import annotations

import threading
from collections.abc import Iterable
from typing import Any, cast

import pytest
from daemon import BACKOFF, SLOWLY, Daemon, Proxy

from ostler_client import Backoff, Client, OstlerError, Unreachable, is_record
from ostler_client.http_types import EventRecord, SessionEvent
from ostler_client.operations import OPERATIONS

NOBODY = "sess_" + "0" * 32


def made(client: Client, daemon: Daemon, **body: Any) -> str:
    return client.create_session(workspace_path=daemon.workspace, model="demo", **body)["session_id"]


def until(events: Iterable[SessionEvent], kind: str) -> list[SessionEvent]:
    """Everything up to the first event of this type."""
    seen = []
    for event in events:
        seen.append(event)
        if event["type"] == kind:
            return seen
    raise AssertionError(f"the events ended before {kind}")


def records(events: Iterable[SessionEvent]) -> list[EventRecord]:
    return [event for event in events if is_record(event)]


def in_order(events: Iterable[SessionEvent]) -> None:
    """That no record is missing and none came twice."""
    seqs = [record["seq"] for record in records(events)]
    assert seqs == list(range(1, len(seqs) + 1))


def whole(events: list[SessionEvent], cut: bool = True) -> None:
    """The same, and for the text. Of a connection that was cut its end may be missing, which the record then has."""
    in_order(events)
    streamed = "".join(event["data"]["text"] for event in events if event["type"] == "model_output_delta")
    parts = [part for event in events if event["type"] == "model_output_completed" for part in event["data"]["message"]["parts"]]
    recorded = "".join(part["text"] for part in parts if part["type"] == "text")
    assert streamed and (recorded.startswith(streamed) if cut else recorded == streamed)


def test_a_session_is_made_streams_and_is_read_again(client: Client, daemon: Daemon) -> None:
    session_id = made(client, daemon, title="First")
    sent = client.send_message(session_id, SLOWLY)
    events = until(client.events(session_id), "turn_completed")
    whole(events, cut=False)
    assert sum(event["type"] == "model_output_delta" for event in events) > 3
    assert {event["turn_id"] for event in events} == {None, sent["turn_id"]}
    view = client.session(session_id)
    assert (view["title"], view["last_seq"]) == ("First", records(events)[-1]["seq"])
    assert client.update_session(session_id, title="Second").get("title") == "Second"
    roles = [message["role"] for message in client.messages(session_id, limit=10)["messages"]]
    assert (roles[0], roles[-1]) == ("user", "assistant")
    assert session_id in [entry["id"] for entry in client.sessions(q="eleven")["sessions"]]
    assert client.context(session_id)["sections"]
    assert any(model["name"].startswith("demo") for model in client.models()["models"])
    rest = client.events(session_id, after=view["last_seq"] - 1, follow=False)
    assert [event["type"] for event in rest] == ["turn_completed", "session_updated"]
    only = client.events(session_id, types=["turn_started", "turn_completed"], follow=False)
    assert [event["type"] for event in only] == ["turn_started", "turn_completed"]


def test_a_fork_an_export_and_an_import_have_the_same_conversation(client: Client, daemon: Daemon) -> None:
    session_id = made(client, daemon)
    client.send_message(session_id, "say hello")
    until(client.events(session_id), "turn_completed")
    fork = client.fork(session_id)["session_id"]
    file = b"".join(client.export(session_id, format="ndjson"))
    copy = client.import_session(file, format="ndjson")["session_id"]
    said = [[message["parts"] for message in client.messages(one)["messages"]] for one in (session_id, fork, copy)]
    assert said[0] and said[0] == said[1] == said[2]
    after = client.session(fork)["last_seq"]
    client.compact(fork)
    until(client.events(fork, after=after), "turn_completed")


def test_files_go_in_and_come_out_again(client: Client, daemon: Daemon) -> None:
    session_id = made(client, daemon)
    stored = client.attach(session_id, "notes.txt", b"some notes")
    assert len(client.attachments(session_id)["files"]) == 1
    assert client.attachment(session_id, stored["name"]) == b"some notes"


def test_a_message_waits_and_can_be_withdrawn_and_a_turn_be_canceled(client: Client, daemon: Daemon) -> None:
    session_id = made(client, daemon, auto_run=False)
    assert client.send_message(session_id, SLOWLY).get("turn_id") is None
    client.run(session_id)
    text = {"role": "user", "parts": [{"type": "text", "text": "say next"}], "auto_run": True}
    queued = client.send_message(session_id, cast(Any, text))["message_id"]
    assert client.queue(session_id)["queue"][0]["message"]["id"] == queued
    client.withdraw(session_id, queued)
    assert client.queue(session_id)["queue"] == []
    turn = client.session(session_id).get("running_turn_id")
    assert turn and client.cancel(session_id, reason="enough")["canceled"]
    until(client.events(session_id), "session_canceled")
    client.retry(session_id, turn)
    client.cancel(session_id)
    assert not client.cancel(session_id)["canceled"]


def test_a_call_waits_for_its_answer_and_the_first_answer_counts(client: Client, daemon: Daemon) -> None:
    session_id = made(client, daemon)
    client.send_message(session_id, "write hello.txt with Hello!")
    asked = until(client.events(session_id), "approval_requested")[-1]
    assert asked["type"] == "approval_requested" and asked["turn_id"]
    call = asked["data"]["tool_call"]["id"]
    assert [one["tool_call_id"] for one in client.approvals()["approvals"] if one["session_id"] == session_id] == [call]
    client.approve(session_id, turn_id=asked["turn_id"], tool_call_id=call, action="approve")
    with pytest.raises(OstlerError) as refused:
        client.approve(session_id, turn_id=asked["turn_id"], tool_call_id=call, action="deny")
    assert (refused.value.status, refused.value.code) == (409, "already_answered")
    in_order(until(client.events(session_id), "turn_completed"))
    assert "hello.txt" in str(client.undo(session_id, turn_id=asked["turn_id"], preview=True))


def test_errors_say_what_happened_and_what_to_do(client: Client, daemon: Daemon) -> None:
    with pytest.raises(OstlerError) as missing:
        client.session(NOBODY)
    assert (missing.value.status, missing.value.code) == (404, "session_not_found") and missing.value.hint
    with pytest.raises(OstlerError):
        next(client.events(NOBODY))
    with pytest.raises(OstlerError, match="absolute"):
        client.create_session(workspace_path="nowhere")
    with Client(daemon.url, "wrong") as stranger, pytest.raises(OstlerError) as refused:
        stranger.sessions()
    assert refused.value.status == 401
    with pytest.raises(ValueError, match="session_id"):
        client.session("")
    with Client("http://127.0.0.1:9", "", Backoff(first=0.001, tries=2)) as nobody:
        with pytest.raises(Unreachable, match="ostler serve"):
            nobody.health()
        with pytest.raises(Unreachable):
            next(nobody.events(NOBODY))


def test_a_stream_that_is_cut_again_and_again_has_no_gap_and_nothing_twice(client: Client, daemon: Daemon) -> None:
    session_id = made(client, daemon)
    client.send_message(session_id, SLOWLY)
    # Enough for the largest record and the headers before it, so that each connection brings something.
    with Proxy(daemon, limit=4_500) as proxy, Client(**proxy.options) as cut:
        whole(until(cut.events(session_id), "turn_completed"))
        assert proxy.connections > 1


def test_a_stream_whose_sockets_are_killed_goes_on(client: Client, daemon: Daemon) -> None:
    session_id = made(client, daemon)
    client.send_message(session_id, SLOWLY)
    seen = []
    with Proxy(daemon) as proxy, Client(**proxy.options) as cut:
        for event in cut.events(session_id):
            seen.append(event)
            if event["type"] == "model_output_delta":
                proxy.cut()
            if event["type"] == "turn_completed":
                break
        assert proxy.connections > 2
    whole(seen)


def test_the_stream_of_all_sessions_goes_on_where_it_was_cut(client: Client, daemon: Daemon) -> None:
    with Proxy(daemon) as proxy, Client(**proxy.options) as cut:
        feed = cut.all_events()
        # It shows what is to come, so something has to come for as long as it is not there.
        there = threading.Event()
        maker = threading.Thread(target=lambda: [made(client, daemon) for _ in iter(there.is_set, True)])
        maker.start()
        assert next(feed).cursor
        there.set()
        maker.join()
        proxy.cut()
        seqs = {made(client, daemon): 0, made(client, daemon): 0}
        for session_id in seqs:
            client.send_message(session_id, "say hello")
        ends = 0
        while ends < 2:
            event = next(feed).event
            if not is_record(event) or event["session_id"] not in seqs:
                continue
            assert event["seq"] == seqs[event["session_id"]] + 1
            seqs[event["session_id"]] = event["seq"]
            proxy.cut()
            ends += event["type"] == "turn_completed"
        assert proxy.connections >= 2


def test_a_killed_daemon_that_comes_back_is_followed_on() -> None:
    with Daemon() as own, Client(own.url, own.token, BACKOFF) as client:
        session_id = made(client, own)
        client.send_message(session_id, "write kept.txt with Kept")
        seen = []
        for event in client.events(session_id):
            seen.append(event)
            if event["type"] == "approval_requested":
                own.kill()
                with pytest.raises(Unreachable):
                    client.health()
                own.restart()
                # What waited still waits.
                [waiting] = client.approvals()["approvals"]
                client.approve(
                    session_id, turn_id=waiting["turn_id"], tool_call_id=waiting["tool_call_id"], action="approve"
                )
            if event["type"] == "turn_completed":
                break
        in_order(seen)
        turn_id = client.send_message(session_id, SLOWLY)["turn_id"]
        for event in client.events(session_id, after=records(seen)[-1]["seq"]):
            seen.append(event)
            if event["type"] == "model_output_delta":
                own.kill()
                own.restart()
            if event["type"] == "session_failed":
                break
        [failed] = [event for event in seen if event["type"] == "turn_failed"]
        assert failed["type"] == "turn_failed"
        assert (failed["turn_id"], failed["data"]["reason"]) == (turn_id, "interrupted")
        in_order(seen)


def test_the_daemon_has_the_operations_that_the_client_was_made_for(client: Client) -> None:
    served = {
        described["operationId"]: (method.upper(), path)
        for path, methods in client.openapi()["paths"].items()
        for method, described in methods.items()
    }
    assert served == {name: (method, path) for name, (method, path, _) in OPERATIONS.items()}
