"""What a case works with: a workspace of its own, a place outside of it, and sessions that play scripts."""

import json
import os
import shutil
import subprocess
import time
import uuid

from harness.daemon import ENDS, PATIENCE, Daemon, Result, Turn
from harness.registry import Failure

GIT = {"GIT_CONFIG_GLOBAL": "/dev/null", "GIT_CONFIG_SYSTEM": "/dev/null", "GIT_CONFIG_NOSYSTEM": "1", "PATH": os.environ["PATH"]}
FREE = {"approval": {"require_for_kinds": []}, "verify": {"auto": False}}
# What the result of a command says when it has run.
ENDED = ("exit code", "signal", "killed", "timed out", "[background")
ASKS = {"verify": {"auto": False}}


def call(name, **given):
    """A step of a script with one call."""
    return [{"name": name, "input": given}]


def shell(command, **more):
    return call("shell", command=command, **more)


def side_by_side(*steps):
    """A step whose calls run at the same time."""
    calls = [one for step in steps for one in step]
    return [{"name": one["name"], "input": {**one["input"], "_parallel": True}} for one in calls]


class Attempt:
    def __init__(self, stage, case):
        self.stage, self.case, self.model = stage, case, stage.model
        self.name = case.name.replace("/", "-")
        self.home = stage.home
        # In a directory of its own, so that another project can lie beside it which no other case sees.
        self.project = os.path.join(stage.home, "projects", self.name)
        self.work = os.path.join(self.project, "work")
        self.outside = os.path.join(stage.place, "outside", self.name)
        self.host = os.path.join(self.outside, "host")
        self.secret = "canary-" + uuid.uuid4().hex
        self.model.watch(self.secret)
        self.daemon, self.own, self.children, self.trusted = stage.daemon, [], [], []
        for place in (self.work, self.outside):
            os.makedirs(place)

    def close(self):
        # Ends the servers of the workspace.
        for daemon, workspace in self.trusted:
            if daemon.process.poll() is None:
                daemon.request("PUT", "/v1/trust", {"workspace_path": workspace, "trusted": False})
        for daemon in self.own:
            daemon.stop()
        for child in self.children:
            if child.poll() is None:
                child.kill()
            child.wait()

    # Files and repositories.

    def path(self, name):
        return os.path.join(self.work, name)

    def write(self, name, content="x\n", mode=0o644):
        """A file of the workspace, or anywhere by its full path."""
        path = os.path.join(self.work, name)
        os.makedirs(os.path.dirname(path), exist_ok=True)
        with open(path, "wb") as file:
            file.write(content if isinstance(content, bytes) else content.encode())
        os.chmod(path, mode)
        return path

    def read(self, name):
        try:
            with open(os.path.join(self.work, name), "rb") as file:
                return file.read()
        except (FileNotFoundError, NotADirectoryError):
            return None

    def git(self, *arguments, cwd=None, check=True):
        command = ["git", "-c", "user.name=t", "-c", "user.email=t@t", *arguments]
        done = subprocess.run(command, cwd=cwd or self.work, env={**GIT, "HOME": self.outside}, capture_output=True, timeout=PATIENCE)
        if check and done.returncode:
            raise RuntimeError(f"git {arguments}: {done.stderr.decode()}")
        return done

    def repository(self, files=("a.txt",)):
        """The workspace as a clean repository with one commit."""
        for name in files:
            self.write(name, f"one {name}\n")
        self.git("init", "--quiet", "-b", "main")
        self.git("add", "-A")
        self.git("commit", "--quiet", "-m", "first")

    def trap(self, word="ran"):
        """A shell command that leaves a trace outside the workspace, which no confined program can."""
        return f"echo {word} >> {self.host}"

    def program(self, name, word="ran", then="exit 0"):
        """An executable of the workspace that is a trap."""
        return self.write(name, f"#!/bin/sh\n{self.trap(word)}\n{then}\n", 0o755)

    # Sessions.

    def start(self, **more):
        """A daemon of its own for this case."""
        # Short, since the daemon's socket lies there.
        place = os.path.join(self.stage.place, "d", uuid.uuid4().hex[:6])
        more.setdefault("home", self.home)
        daemon = Daemon(self.stage.binary, place, self.model, backend=self.stage.backend, **more)
        self.own.append(daemon)
        self.stage.daemons.append(daemon)
        self.daemon = daemon
        return daemon

    def trust(self, workspace=None):
        workspace = workspace or self.work
        self.daemon.ask("PUT", "/v1/trust", {"workspace_path": workspace, "trusted": True})
        self.trusted.append((self.daemon, workspace))

    def session(self, policy=FREE, workspace=None, **more):
        body = {"workspace_path": workspace or self.work, "policy": policy, **more}
        return self.daemon.ask("POST", "/v1/sessions", body)["session_id"]

    def say(self, session, text):
        message = {"role": "user", "parts": [{"type": "text", "text": text}]}
        return self.daemon.ask("POST", f"/v1/sessions/{session}/messages", message)["turn_id"]

    def play(self, session, *steps, answer="deny"):
        """Has the model play the steps, and answers what is asked: `approve`, `deny`, or nothing (`None`: returns at the first)."""
        after = self.daemon.ask("GET", f"/v1/sessions/{session}")["last_seq"]
        turn_id = self.say(session, "play " + json.dumps(steps))
        return self.follow(session, turn_id, after, answer)

    def follow(self, session, turn_id, after=0, answer="deny"):
        turn = Turn()
        turn.id = turn_id
        for event in self.daemon.events(session, after):
            if "seq" not in event or event.get("turn_id") != turn_id:
                continue
            turn.records.append(event)
            if event["type"] == "approval_requested":
                turn.asked.append(event["data"])
                if answer is None:
                    return turn
                self.answer(session, turn_id, event["data"]["tool_call"]["id"], answer)
            if event["type"] == "patch_review_requested" and event["data"].get("waits"):
                self.answer(session, turn_id, event["data"]["tool_call_id"], answer)
            if event["type"] in ENDS:
                return turn
        raise RuntimeError("the stream ended before the turn")

    def answer(self, session, turn_id, call_id, action):
        body = {"turn_id": turn_id, "tool_call_id": call_id, "action": action}
        return self.daemon.request("POST", f"/v1/sessions/{session}/approve", body)

    def run(self, *steps, policy=FREE, answer="deny", **more):
        """A new session that plays the steps to their end."""
        session = self.session(policy, **more)
        turn = self.play(session, *steps, answer=answer)
        turn.session = session
        if policy is FREE:
            self.must_have_run(turn)
        return turn

    def must_have_run(self, turn):
        """An attack by a command that never ran shows nothing."""
        for data in turn.of("tool_call_completed"):
            result = Result(data["tool_result"])
            if data["tool_call"]["name"] == "shell" and not any(word in result.text for word in ENDED):
                raise Failure(f"a command did not run, so this shows nothing: {result.text[:300]}")

    def child(self, *steps, worktree=True, **more):
        """A step that starts a child session which plays these steps."""
        return call("task", description="child", prompt="play " + json.dumps(steps), worktree=worktree, **more)

    # What must hold.

    def must(self, holds, why):
        if not holds:
            raise Failure(why)

    def nothing_ran_outside(self):
        if os.path.exists(self.host):
            with open(self.host, errors="replace") as file:
                raise Failure(f"ran outside the sandbox: {file.read().split()}")

    def no_secret(self, *more):
        """No secret of this case was sent to the model."""
        for secret in (self.secret, *more):
            if self.model.was_sent(secret):
                raise Failure("the canary secret reached the model")

    def until(self, holds, what, seconds=15):
        deadline = time.monotonic() + seconds
        while not (found := holds()):
            if time.monotonic() > deadline:
                raise Failure(f"waited {seconds} s for: {what}")
            time.sleep(0.02)
        return found

    def asks(self, line, **more):
        """Whether a command line waits for an answer under the default policy; it is denied then."""
        return bool(self.run(shell(line, **more), policy=ASKS).asked)

    def remove(self, name):
        path = self.path(name)
        shutil.rmtree(path) if os.path.isdir(path) and not os.path.islink(path) else os.unlink(path)
