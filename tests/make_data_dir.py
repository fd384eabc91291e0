#!/usr/bin/env python3
"""Makes a data directory with a given `ostler` binary, to see whether later versions open it: sessions of every kind, and the
daemon killed in the middle of a turn.

    tests/make_data_dir.py BINARY OUT.tar.gz

Workspaces lie at a fixed place, since their paths are in the logs, whose chains cover every byte. The archive holds `data` (the data
directory), `place` (what belongs at that place) and `made.json` (the ids, and what the old daemon said of its sessions).
`testdata/data-dirs/REVISION.tar.gz` was made this way from that revision; `crates/cli/tests/it/old_data.rs` opens it.
"""

import base64
import contextlib
import json
import os
import shutil
import signal
import sqlite3
import subprocess
import sys
import tarfile
import tempfile
import time
import urllib.error
import urllib.request
from pathlib import Path

PLACE = Path("/tmp/ostler-fixture")
WORK, TRUSTED, REVIEWED, NOTES = (PLACE / name for name in ("workspace", "trusted", "reviewed", "notes"))
FAULT_AGENT = Path(__file__).resolve().parent.parent / "crates/testing/agents/fault_agent.py"
ENDS = ("turn_completed", "turn_failed", "turn_canceled")


class Daemon:
    def __init__(self, binary, data):
        config = data.parent / "config.toml"
        config.write_text(
            f"[agents.fault]\ncommand = [\"python3\", \"{FAULT_AGENT}\"]\n"
            f"env = {{ NOTES = \"{NOTES}\" }}\nwritable = [\"{NOTES}\"]\n"
        )
        environment = {"PATH": os.environ["PATH"], "HOME": "/nonexistent", "OSTLER_MODELS_DISCOVER": "false"}
        self.process = subprocess.Popen(
            [binary, "serve", "--listen", "127.0.0.1:0", "--config", config, "--data-dir", data],
            env=environment, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL, stdin=subprocess.DEVNULL, text=True)
        for line in self.process.stdout:
            if line.startswith("ostler is ready at "):
                self.url = line.split(" at ")[1].strip()
                break
        self.token = (data / "token").read_text().strip()

    def ask(self, method, path, body=None, headers=None, raw=False):
        content = None if body is None else body if isinstance(body, bytes) else json.dumps(body).encode()
        kind = "application/octet-stream" if isinstance(body, bytes) else "application/json"
        given = {"authorization": f"Bearer {self.token}", "content-type": kind, **(headers or {})}
        request = urllib.request.Request(self.url + path, content, given, method=method)
        try:
            with urllib.request.urlopen(request, timeout=60) as answer:
                self.headers, text = answer.headers, answer.read()
        except urllib.error.HTTPError as error:
            raise SystemExit(f"{method} {path}: {error.code} {error.read().decode()}")
        return text if raw else json.loads(text or b"null")

    def create(self, **fields):
        fields = {"workspace_path": str(WORK), "model": "demo:demo", **fields}
        return self.ask("POST", "/v1/sessions", fields)["session_id"]

    def say(self, session, text, *parts, **fields):
        parts = [{"type": "text", "text": text}, *parts]
        sent = self.ask("POST", f"/v1/sessions/{session}/messages", {"role": "user", "parts": parts, **fields})
        return sent["turn_id"]

    def records(self, session):
        text = self.ask("GET", f"/v1/sessions/{session}/export?format=ndjson", raw=True)
        records = [json.loads(line) for line in text.splitlines()]
        return [record for record in records if "seq" in record]

    def until(self, what, holds):
        for _ in range(600):
            found = holds()
            if found:
                return found
            time.sleep(0.05)
        raise SystemExit(f"it never came true: {what}")

    def ended(self, session, turn):
        def end():
            return [r for r in self.records(session) if r.get("turn_id") == turn and r["type"] in ENDS]
        return self.until(f"{turn} of {session} ends", end)[0]

    def turn(self, session, text, *parts, **fields):
        turn = self.say(session, text, *parts, **fields)
        self.ended(session, turn)
        return turn

    def approval(self, session):
        def pending():
            listed = self.ask("GET", "/v1/approvals")["approvals"]
            return [approval for approval in listed if approval["session_id"] == session]
        return self.until(f"{session} asks", pending)[0]

    def answer(self, session, action, **fields):
        asked = self.approval(session)
        answer = {"turn_id": asked["turn_id"], "tool_call_id": asked["tool_call_id"], "action": action, **fields}
        self.ask("POST", f"/v1/sessions/{session}/approve", answer)
        return asked["turn_id"]

    def end(self, how):
        self.process.send_signal(how)
        self.process.wait()


def conversation(daemon, made):
    """Calls, approvals of each kind, attachments, an artifact, a canceled turn, a compaction."""
    session = daemon.create(title="A long conversation", raw_log=True, verbose_log=True)
    daemon.turn(session, "list the files, then read README.md")
    daemon.say(session, "run `echo one > one.txt`")
    daemon.ended(session, daemon.answer(session, "approve", scope="once", reason="looks harmless"))
    daemon.say(session, "write two.txt with Two")
    daemon.ended(session, daemon.answer(session, "deny", reason="not now"))
    note = daemon.ask("POST", f"/v1/sessions/{session}/attachments",
                      {"name": "note.txt", "data": base64.b64encode(b"an attached note\n").decode()})
    part = {"type": "file", "ref": note["ref"], "mime_type": note["mime_type"]}
    daemon.turn(session, "say thanks for the note", part, idempotency_key="with a note")
    daemon.say(session, "run `seq 1 12000`")
    with_artifact = daemon.answer(session, "approve", scope="session") if asks(daemon, session) else None
    made["artifact_turn"] = with_artifact or daemon.ask("GET", f"/v1/sessions/{session}")["last_turn_id"]
    daemon.ended(session, made["artifact_turn"])
    turn = daemon.say(session, "say one two three four five six seven eight nine ten slowly")
    daemon.until("it speaks", lambda: daemon.ask("GET", f"/v1/sessions/{session}")["running_turn_id"] == turn)
    daemon.ask("POST", f"/v1/sessions/{session}/cancel", {"reason": "enough"})
    daemon.ended(session, turn)
    compaction = daemon.ask("POST", f"/v1/sessions/{session}/compact")["turn_id"]
    daemon.ended(session, compaction)
    daemon.turn(session, "think about tests")
    made["conversation"] = session


def asks(daemon, session):
    """Whether the running turn asks; it may also end without."""
    def known():
        view = daemon.ask("GET", f"/v1/sessions/{session}")
        return [bool(view["pending_approvals"])] if view["pending_approvals"] or not view["running_turn_id"] else None
    return daemon.until(f"{session} asks or ends", known)[0]


def changes(daemon, made):
    """A turn that can be undone, and a rule that stands for ever."""
    (WORK / "changed.txt").write_text("before\n")
    session = daemon.create(title="Changes files")
    daemon.say(session, "write changed.txt with After")
    made["undo_turn"] = daemon.answer(session, "approve")
    daemon.ended(session, made["undo_turn"])
    daemon.say(session, "run `touch always.txt`")
    daemon.ended(session, daemon.answer(session, "approve", scope="always"))
    made["changes"] = session


def relatives(daemon, made):
    """A fork, a session with children, an import, a closed session and one that was removed."""
    made["fork"] = daemon.ask("POST", f"/v1/sessions/{made['conversation']}/fork", {})["session_id"]
    daemon.turn(made["fork"], "say this is the fork")
    parent = daemon.create(title="Divides work", name="parent", idempotency_key="the parent")
    plan = {"concurrency": 2, "subtasks": [
        {"id": "one", "prompt": "read README.md"},
        {"id": "two", "prompt": "say done", "depends_on": ["one"]},
    ]}
    daemon.ended(parent, daemon.ask("POST", f"/v1/sessions/{parent}/subtasks", plan)["turn_id"])
    made["parent"] = parent
    listed = daemon.ask("GET", f"/v1/sessions?parent={parent}")["sessions"]
    made["children"] = sorted(child["id"] for child in listed)
    archive = daemon.ask("GET", f"/v1/sessions/{made['changes']}/export?format=zip", raw=True)
    made["import"] = daemon.ask("POST", "/v1/sessions/import", archive)["session_id"]
    archived = daemon.create()
    daemon.turn(archived, "say kept for later")
    daemon.ask("PATCH", f"/v1/sessions/{archived}", {"title": "Archived and pinned", "archived": True, "pinned": True})
    made["archived"] = archived
    made["closed"] = daemon.create(title="Closed", name="was-named")
    daemon.turn(made["closed"], "say goodbye")
    daemon.ask("DELETE", f"/v1/sessions/{made['closed']}")
    removed = daemon.create(title="Removed")
    daemon.turn(removed, "say nothing of this is kept")
    daemon.ask("DELETE", f"/v1/sessions/{removed}?purge=true")
    made["removed"] = removed


def settings(daemon, made):
    """Trust, a project, a login."""
    daemon.ask("PUT", "/v1/trust", {"workspace_path": str(TRUSTED), "trusted": True})
    made["project"] = daemon.ask("POST", "/v1/projects", {"path": str(WORK)})["id"]
    code = daemon.ask("POST", "/v1/login/code")["address"].split("#code=")[1]
    daemon.ask("POST", "/v1/login", {"code": code}, {"origin": daemon.url})
    made["cookie"] = daemon.headers["set-cookie"].split("=", 1)[1].split(";")[0]


def foreign_agent(daemon, made):
    """A session of somebody else's agent, which has asked once."""
    session = daemon.create(agent="fault", title="Somebody else's agent", model=None)
    daemon.turn(session, "think:hm say:hello call:c1")
    daemon.say(session, "ask:c2 say:done")
    daemon.ended(session, daemon.answer(session, "approve"))
    made["foreign"] = session


def left_open(daemon, made):
    """Turns that wait or work when the daemon dies."""
    waiting = daemon.create(title="Waits for an answer")
    daemon.say(waiting, "run `echo pending > pending.txt`")
    daemon.approval(waiting)
    daemon.say(waiting, "say the queue goes on")
    made["waiting"] = waiting
    # In a workspace of its own: what changes while a review waits is reviewed again.
    review = daemon.create(title="Waits for a review", workspace_path=str(REVIEWED), policy={"patch_review": {"mode": "request"}})
    daemon.say(review, "write reviewed.txt with Reviewed")
    daemon.answer(review, "approve")
    made["review"] = review
    daemon.until("the review", lambda: daemon.approval(review)["tool"] == "patch_review")
    quiet = daemon.create(title="Has a message without a turn", auto_run=False)
    daemon.say(quiet, "say run later")
    made["quiet"] = quiet
    interrupted = daemon.create(title="Interrupted")
    words = " ".join(f"word{number}" for number in range(200))
    made["interrupted_turn"] = daemon.say(interrupted, f"say {words} slowly")
    made["interrupted"] = interrupted


def has_draft(data, session):
    folder = data / "sessions" / session
    return [path for path in folder.iterdir() if "draft" in path.name and path.stat().st_size > 200]


def main():
    binary, out = Path(sys.argv[1]).resolve(), Path(sys.argv[2]).resolve()
    shutil.rmtree(PLACE, ignore_errors=True)
    for folder in (WORK, TRUSTED, REVIEWED, NOTES):
        folder.mkdir(parents=True)
    (WORK / "README.md").write_text("# A workspace\n\nIt belongs to an old data directory.\n")
    (TRUSTED / "AGENTS.md").write_text("# Notes\n")
    with tempfile.TemporaryDirectory() as root:
        data, made = Path(root) / "data", {}
        daemon = Daemon(binary, data)
        for part in (conversation, changes, relatives, settings, foreign_agent):
            part(daemon, made)
        # Stopped in order once: the index is then one small file, and everything but what follows is at rest.
        daemon.end(signal.SIGTERM)
        daemon = Daemon(binary, data)
        left_open(daemon, made)
        daemon.until("a draft", lambda: has_draft(data, made["interrupted"]))
        listed = daemon.ask("GET", "/v1/sessions?children=true&limit=200")["sessions"]
        made["sessions"] = {session["id"]: session for session in listed}
        made["usage"] = daemon.ask("GET", "/v1/usage?by=total")["total"]
        daemon.end(signal.SIGKILL)
        # The sandbox of an agent removes its mount points when it ends, a moment after the daemon.
        daemon.until("the agent ends", lambda: not list(WORK.glob(".*")))
        # SQLite would do this at the next start; the archive stays small.
        with contextlib.closing(sqlite3.connect(data / "index.db")) as index:
            index.execute("pragma wal_checkpoint(truncate)")
        for left in ("ostler.sock", "lock"):
            (data / left).unlink(missing_ok=True)
        # What the machine can confine is found out anew.
        shutil.rmtree(data / "sandbox", ignore_errors=True)
        (Path(root) / "made.json").write_text(json.dumps(made, indent=1, sort_keys=True) + "\n")
        shutil.copytree(PLACE, Path(root) / "place", symlinks=True)
        shutil.rmtree(PLACE)

        def anonymous(entry):
            entry.uid = entry.gid = 0
            entry.uname = entry.gname = ""
            return None if entry.isfifo() or entry.isdev() else entry

        out.parent.mkdir(parents=True, exist_ok=True)
        with tarfile.open(out, "w:gz", compresslevel=9) as archive:
            for name in ("data", "place", "made.json"):
                archive.add(Path(root) / name, name, filter=anonymous)
    print(f"{out}: {out.stat().st_size} bytes")


main()
