"""What protects a path while commands run: mounts that are raced or lost, repositories that are broken or made, and decoys."""

import json
import os
import re
import shutil
import threading
import time

from harness.attempt import call, shell
from harness.registry import ALL, ROOT_BWRAP, ROOT_LANDLOCK, USER_BWRAP, USER_LANDLOCK, case, cases, spread

PAIR = (ROOT_LANDLOCK, USER_BWRAP)
BWRAP = (ROOT_BWRAP, USER_BWRAP)
PYTHON = "/usr/bin/python3 -I"

# The user's own git, after a command that made it look elsewhere for its settings.

BARE = """mkdir -p objects refs; echo 'ref: refs/heads/main' > HEAD
printf '[core]\\n\\trepositoryformatversion = 0\\n\\tbare = false\\n\\tworktree = .\\n\\tfsmonitor = "%s; false"\\n' "$TRAP" > config
"""
BREAKS = {
    "no-head": "rm -f .git/HEAD", "bad-head": "echo nothing > .git/HEAD", "head-is-a-directory": "rm .git/HEAD; mkdir .git/HEAD", "head-closed": "chmod 0 .git/HEAD",
    "no-objects": "mv .git/objects .git/o", "objects-is-a-file": "mv .git/objects .git/o; touch .git/objects", "no-refs": "mv .git/refs .git/r", "refs-closed": "chmod 0 .git/refs",
    "git-closed": "chmod 0 .git", "head-elsewhere": "ln -sf /nowhere .git/HEAD", "empty-head": ": > .git/HEAD", "whole": "true",
}


def broken(t, how, wait=""):
    t.repository()
    script = BARE.replace("$TRAP", t.trap("bare"))
    t.run(shell(f"{script}{how}; {wait}true"))
    t.git("status", check=False)
    t.nothing_ran_outside()
    t.must(t.git("rev-parse", "--git-dir").stdout.strip() == b".git", "the repository is not one any more")


spread("mounts", PAIR, {f"bare-top-{name}": how for name, how in BREAKS.items()}, broken)


@case("mounts/bare-top-without-a-repository", PAIR)
def bare(t):
    script = BARE.replace("$TRAP", t.trap("bare"))
    t.run(shell(f"{script}true"))
    t.git("status", check=False)
    t.nothing_ran_outside()


@case("mounts/bare-top-while-it-runs", ALL)
def while_it_runs(t):
    """A command that would run for long is ended."""
    t.repository()
    session = t.session()
    script = BARE.replace("$TRAP", t.trap("bare"))
    turn = t.say(session, "play " + json.dumps([shell(f"{script}rm .git/HEAD; touch done; sleep 600")]))
    t.follow(session, turn)
    t.git("status", check=False)
    t.nothing_ran_outside()


@case("mounts/bare-below-is-told", PAIR)
def bare_below(t):
    t.repository()
    script = BARE.replace("$TRAP", t.trap("bare"))
    turn = t.run(shell(f"mkdir -p sub/deep; cd sub/deep; {script}true"))
    t.must("fsmonitor" in json.dumps([record for record in turn.records if record["type"] == "tool_call_completed"]), "nobody is told of a bare repository with a trap")


PENDING = {
    "picks": "mkdir -p .git/sequencer; printf '[options]\\n\\tstrategy = x/y\\n' > .git/sequencer/opts|.git/sequencer/opts|strategy",
    "picks-spelled": "mkdir -p .git/sequencer; printf '[Options]Strategy=x/y' > .git/sequencer/opts|.git/sequencer/opts|trategy",
    "rebase": "mkdir -p .git/rebase-merge; echo x/y > .git/rebase-merge/strategy|.git/rebase-merge/strategy|x/y",
    "mercurial": "mkdir -p .hg; printf '[hooks]\\npre-status = evil\\n' > .hg/hgrc|.hg/hgrc|evil",
    "jujutsu": "mkdir -p .jj/repo; echo 'evil = 1' > .jj/repo/config.toml|.jj/repo/config.toml|evil",
}


def pending(t, value):
    how, path, word = value.split("|")
    t.repository()
    t.run(shell(f"{how}; true"))
    t.must(word.encode() not in (t.read(path) or b""), f"{path} stays")


cases("mounts", PAIR, {f"pending-{name}": value for name, value in PENDING.items()}, pending)

# Somebody outside replaces what a mount lies on.

WRITER = "touch started; for i in $(seq 600); do {} 2>/dev/null && {{ touch got; break; }}; sleep 0.01; done; sleep 600"


def lost(t, write, replace):
    t.repository(files=("a.txt", ".mcp.json"))
    session = t.session()
    turn = t.play(session, shell(WRITER.format(write), background=True))
    t.until(lambda: os.path.exists(t.path("started")), "the command runs")
    replace()
    # It is ended at once, but not before the kernel has told: whoever was faster is told of.
    number = re.search(r'"process_id": "([^"]+)"', json.dumps(turn.records)).group(1)
    told = t.until(lambda: said(t, session, number), "the command is ended, and that is told", 10)
    t.must("inspect it before you use it" in told, "nobody is told that something was exposed")
    return turn


def said(t, session, number):
    done = json.dumps(t.play(session, call("shell_process", process_id=number, action="poll")).records)
    return done if '"running": false' in done else None


@case("mounts/config-replaced", BWRAP)
def config(t):
    trap = t.trap("monitor").replace('"', "")
    lost(t, f"printf '[core]\\n\\tfsmonitor = \"{trap}; false\"\\n' >> .git/config", lambda: t.git("config", "branch.main.remote", "origin"))
    t.git("status", check=False)
    t.nothing_ran_outside()
    t.must(b"origin" in t.read(".git/config"), "what the user set is gone")


@case("mounts/settings-replaced", BWRAP)
def settings(t):
    def save():
        t.write("new", "{}")
        os.rename(t.path("new"), t.path(".mcp.json"))
    lost(t, "echo evil > .mcp.json", save)


@case("mounts/placeholder-removed", BWRAP)
def placeholder(t):
    lost(t, "{ mkdir -p .vscode && touch .vscode/tasks.json; }", lambda: os.rmdir(t.path(".vscode")))


# Directories that are swapped while a sandbox is made.

ROTATE = """
import ctypes, os, sys, time
exchange = lambda a, b: ctypes.CDLL(None).syscall(316, -100, a.encode(), -100, b.encode(), 2)
for name in ("q", "q2"):
    os.makedirs(name + "/.vscode", exist_ok=True)
    open(name + "/.vscode/tasks.json", "w").close()
os.symlink(sys.argv[1], "q3")
open("started", "w").close()
end = time.time() + float(sys.argv[2])
while time.time() < end and not os.path.exists("stop"):
    for pair in (("q", "q2"), ("q2", "q3"), ("q", "q3")):
        exchange(*pair)
        time.sleep(0.001)
"""


def rotated(t, target):
    """The home directory, or a place of keys in it, is never mounted in a workspace."""
    t.repository()
    away = os.path.join(t.home, "rotated-" + t.name)
    t.write(os.path.join(away, ".vscode", "tasks.json"), t.secret)
    t.write("rotate.py", ROTATE)
    session = t.session()
    turn = t.play(session, shell(f"{PYTHON} rotate.py {away} 8", background=True))
    t.until(lambda: os.path.exists(t.path("started")), "the rotation has begun")
    look = "for i in 1 2 3 4 5; do cat q/.vscode/tasks.json q2/.vscode/tasks.json q3/.vscode/tasks.json; touch q/evil q2/evil q3/evil; done 2>/dev/null; true"
    until = time.monotonic() + 5
    while time.monotonic() < until:
        t.play(session, *[shell(look) for _ in range(4)])
    t.write("stop", "")
    t.no_secret()
    left = sorted(os.listdir(away))
    t.must(left == [".vscode"], f"written outside: {left}")
    shutil.rmtree(away)


cases("mounts", BWRAP, {"rotated": None}, rotated)

# More of something than there is room for.


@case("mounts/decoy-modules", ALL)
def modules(t):
    t.repository()
    for name, text in (("HEAD", "ref: refs/heads/main\n"), ("config", "[core]\n\trepositoryformatversion = 0\n")):
        t.write(f".git/modules/sm/{name}", text)
    for name in ("objects", "refs"):
        os.makedirs(t.path(f".git/modules/sm/{name}"))
    before = t.read(".git/modules/sm/config")
    t.run(shell("for i in $(seq 400); do mkdir -p .git/modules/a$i/objects .git/modules/a$i/refs; echo 'ref: refs/heads/x' > .git/modules/a$i/HEAD; done"),
          shell("echo '[core] fsmonitor = evil' >> .git/modules/sm/config; true"))
    t.must(t.read(".git/modules/sm/config") == before, "decoys took the protection from a submodule")


@case("mounts/decoy-names", PAIR)
def names(t):
    t.repository(files=("a.txt", "sub/.vscode/settings.json", "sub/deep/.claude/settings.json", "sub/.envrc"))
    kept = {name: t.read(name) for name in ("sub/.vscode/settings.json", "sub/deep/.claude/settings.json", "sub/.envrc")}
    t.run(shell("true"), shell("for i in $(seq 400); do mkdir -p d$i/.vscode; echo > d$i/.vscode/x; done"),
          shell("; ".join(f"echo evil > {name}" for name in kept) + "; true"))
    changed = [name for name, text in kept.items() if t.read(name) != text]
    t.must(not changed, f"decoys took the protection from {changed}")


# Other users of the machine, and pipes.


@case("mounts/git-opened-to-others", ALL)
def opened(t):
    t.repository()
    t.run(shell("chmod 777 .git; chmod g+w .git; setfacl -m o::rwx .git; true"))
    t.must(os.stat(t.path(".git")).st_mode & 0o022 == 0, "others may write the repository's directory")


@case("mounts/everybody-may-write", (ROOT_LANDLOCK, USER_LANDLOCK))
def everybody(t):
    mine = t.write(os.path.join(t.outside, "mine"), "x")
    t.run(shell(f"chmod 666 {mine}; chmod a+w {mine}; {PYTHON} -c 'import os;os.chmod(\"{mine}\",0o777)'; true"))
    t.must(os.stat(mine).st_mode & 0o002 == 0, "a file outside became writable for everybody")


def pipe(t, name):
    """A pipe where a file is read: a turn ends, and trust is told."""
    t.repository()
    t.run(shell(f"rm -f {name}; mkfifo {name}; touch changed"))
    status = []
    asking = threading.Thread(target=lambda: status.append(t.daemon.request("GET", f"/v1/trust?workspace_path={t.work}", timeout=10)[0]), daemon=True)
    asking.start()
    asking.join(12)
    t.must(status == [200], "trust hangs on a pipe")


cases("mounts", PAIR, {f"pipe-{name}": name for name in ("AGENTS.md", "Makefile", "package.json", "CLAUDE.md", ".gitignore")}, pipe)
