"""Drives agents that others wrote through the daemon, against a stand-in for their models. Run by `make test-live`.

Usage: agents.py OSTLER ADAPTERS [--only NAME,…] [--keep]. ADAPTERS is where tests/acp/adapters.sh puts them. With
--keep what the agents and the daemon wrote is left behind, and said where."""

import argparse
import functools
import os
import platform
import shutil
import signal
import subprocess
import sys
import tempfile
import time
import traceback

import offline
from adapters import adapters
from daemon import Daemon
from model import Model

INSTALL = os.path.join(os.path.dirname(os.path.abspath(__file__)), "../../acp/adapters.sh")


def doctor(world):
    said = world.daemon.run("agents", "doctor", world.daemon.adapter.name)
    assert said.returncode == 0 and ": works\n" in said.stdout, said
    assert "\n  confined: " in said.stdout, said
    return said.stdout.splitlines()[2].strip()


def streamed(world):
    turn = world.daemon.turn(world.session, "Please: [[hello]]")
    assert turn.end == "turn_completed", turn
    assert turn.answer.strip().endswith("Hello from the mock."), turn
    assert turn.deltas > 1, f"{turn.deltas} deltas\n{turn}"
    return f"{turn.deltas} deltas"


def granted(world):
    turn = world.daemon.turn(world.session, "Please: [[shell echo one > granted.txt && echo done]]")
    asked = turn.of("approval_requested")
    assert len(asked) == 1, turn
    assert "granted.txt" in asked[0]["summary"], asked
    assert turn.end == "turn_completed", turn
    assert os.path.exists(os.path.join(world.daemon.work, "granted.txt")), turn
    assert [result["ok"] for result in turn.results] == [True], turn
    assert "The tool said:" in turn.answer, turn
    return "made the file"


def denied(world):
    turn = world.daemon.turn(world.session, "Please: [[shell echo two > denied.txt && echo done]]", "deny")
    assert len(turn.of("approval_requested")) == 1, turn
    assert not os.path.exists(os.path.join(world.daemon.work, "denied.txt")), turn
    assert turn.results and not any(result["ok"] for result in turn.results), turn
    assert turn.end == "turn_completed", turn
    return "went on" if "The tool said:" in turn.answer else "ended its turn"


def canceled(world):
    cut = world.model.cut
    cancel = lambda count: count == 3 and world.daemon.cancel(world.session)
    turn = world.daemon.turn(world.session, "Please: [[slow]]", on_delta=cancel)
    assert turn.end == "turn_canceled", turn
    assert "piece 1" in turn.answer, turn
    assert world.model.was_cut(cut + 1, 20), "the agent lets its model go on"
    answered(world)
    turn = world.daemon.turn(world.session, "Please: [[shell echo three > canceled.txt && echo done]]", "cancel")
    assert turn.end == "turn_canceled" and len(turn.of("approval_requested")) == 1, turn
    answered(world)
    assert not os.path.exists(os.path.join(world.daemon.work, "canceled.txt")), turn
    return "while it spoke and while it asked; the next turns were answered"


def answered(world):
    processes = world.daemon.descendants()
    turn = world.daemon.turn(world.session, "Please: [[hello]]")
    assert turn.end == "turn_completed" and "Hello from the mock." in turn.answer, turn
    assert set(world.daemon.descendants()) & set(processes), "the agent had to be started again"


def loaded(world):
    before = world.agent_session()
    ended = world.daemon.kill()
    assert ended, "no process of the agent was there"
    if world.daemon.adapter.loads_in_the_next_minute:
        time.sleep(61)
    world.daemon.start()
    turn = world.daemon.turn(world.session, "Please: [[recall]]")
    assert turn.end == "turn_completed", turn
    told = [data["message"] for data in turn.of("message_added") if data["message"]["role"] == "system"]
    assert not told, f"it lost the session: {told}"
    assert world.agent_session() == before, (before, world.agent_session())
    remembered = turn.answer.partition("Before that:")[2].split()
    assert {"hello", "shell"} <= set(remembered), turn
    return f"{ended} processes ended; it knew {len(remembered)} messages"


CHECKS = [doctor, streamed, granted, denied, canceled, loaded]


class World:
    """One agent, its daemon and its model."""

    def __init__(self, daemon, model):
        self.daemon, self.model = daemon, model

    @functools.cached_property
    def session(self):
        """Made when it is first used: a Gemini CLI that starts removes the sessions of another that are still empty."""
        return self.daemon.session()

    def agent_session(self):
        return self.daemon.state(self.session)["agent_session_id"]


def attempt(binary, installed, name, place):
    """What came of each check; those after one that failed are tried too."""
    outcomes = {}
    with Model(os.path.join(place, "requests")) as model:
        adapter = next(adapter for adapter in adapters(model.url) if adapter.name == name)
        programs = [os.path.join(installed, adapter.name, "node_modules/.bin"), os.path.join(installed, "node/node_modules/.bin")]
        path = ":".join([*programs, "/usr/local/bin", "/usr/bin", "/bin"])
        with Daemon(binary, adapter, place, path) as daemon:
            world = World(daemon, model)
            for check in CHECKS:
                outcomes[check.__name__] = outcome(name, check, world)
        return adapter.version(os.path.join(installed, adapter.name)), outcomes


def outcome(name, check, world):
    try:
        seen = check(world)
        print(f"  {name}: {check.__name__}: {seen}", flush=True)
        return seen
    except Exception:
        traceback.print_exc()
        with open(world.daemon.log) as log:
            print("".join(log.readlines()[-20:]), file=sys.stderr)
        print(f"  {name}: {check.__name__}: FAILED", flush=True)
        if world.daemon.process.poll() is None:
            world.daemon.cancel(world.session)
        return None


def main():
    # As an exception, so that daemons end with us.
    signal.signal(signal.SIGTERM, lambda *_: sys.exit(1))
    parser = argparse.ArgumentParser()
    parser.add_argument("binary")
    parser.add_argument("installed")
    parser.add_argument("--only", default="")
    parser.add_argument("--keep", action="store_true")
    given = parser.parse_args()
    names = [adapter.name for adapter in adapters("")]
    # npm has no goose for other machines.
    here = [name for name in names if name != "goose" or platform.machine() == "x86_64"]
    wanted = [name for name in given.only.split(",") if name] or here
    unknown = set(wanted) - set(names)
    assert not unknown, f"there is no adapter {' or '.join(unknown)}; there are {', '.join(names)}"
    subprocess.run([INSTALL, given.installed, "node", *wanted], check=True)
    print("no network but loopback" if offline.go() else "the network could not be cut off")
    rows, failed = [], 0
    for name in wanted:
        # Not in /tmp, which a confined agent has for itself anyway.
        homes = os.path.join(os.path.dirname(given.installed), "acp-homes")
        os.makedirs(homes, exist_ok=True)
        place = tempfile.mkdtemp(prefix=f"{name}-", dir=homes)
        version, outcomes = attempt(given.binary, given.installed, name, place)
        failed += sum(seen is None for seen in outcomes.values())
        rows.append([f"{name} {version}", *("FAILED" if seen is None else "yes" for seen in outcomes.values())])
        if given.keep:
            print(f"  {name}: what was written is in {place}")
        else:
            shutil.rmtree(place)
    table([["agent", *(check.__name__ for check in CHECKS)], *rows])
    sys.exit(1 if failed else 0)


def table(rows):
    widths = [max(map(len, column)) for column in zip(*rows)]
    for row in rows:
        print("| " + " | ".join(cell.ljust(width) for cell, width in zip(row, widths)) + " |")


main()
