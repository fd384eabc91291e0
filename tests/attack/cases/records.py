"""The log, the lock, keys and control characters, and workspaces that are none."""

import glob
import json
import os
import pty
import select
import signal
import sqlite3
import stat
import subprocess

from harness.attempt import FREE, call, shell
from harness.daemon import KEY, PATIENCE
from harness.registry import ALL, ONE, USER, Failure, case, cases

# Characters that change what a terminal shows or does.
EVIL = {
    "override": "\u202e", "embedding": "\u202a", "isolate": "\u2066", "mark": "\u200f", "arabic-mark": "\u061c", "escape": "\x1b[31m", "title": "\x1b]0;evil\x07", "clipboard": "\x1b]52;c;ZXZpbA==\x07", "c1": "\x9b31m", "c1-osc": "\x9d0;evil\x9c",
    "backspace": "\x08\x08\x08", "bell": "\x07", "carriage-return": "good\revil", "line-separator": "\u2028", "zero-width": "\u200b", "tag": "\U000e0041", "delete": "\x7f", "device-control": "\x1bP+q\x1b\\", "form-feed": "\x0c", "hyperlink": "\x1b]8;;http://evil\x07x\x1b]8;;\x07",
}


def bad_in(text, evil):
    """Whether the characters got through; new lines and tabs may."""
    return [character for character in evil if not character.isprintable() and character in text and character not in "\n\t"]


def on_terminal(t, *arguments):
    """What a command writes to a terminal."""
    master, slave = pty.openpty()
    command = [t.daemon.binary, *arguments, "--data-dir", t.daemon.data, "--config", t.daemon.config, "--plain"]
    child = subprocess.Popen(command, stdin=subprocess.DEVNULL, stdout=slave, stderr=slave, env={**t.daemon.environment, "TERM": "xterm", "NO_COLOR": "1"})
    os.close(slave)
    t.children.append(child)
    shown = b""
    while select.select([master], [], [], PATIENCE)[0]:
        try:
            part = os.read(master, 65536)
        except OSError:
            break
        if not part:
            break
        shown += part
    os.close(master)
    child.wait(timeout=PATIENCE)
    return shown.decode(errors="replace").replace("\r\n", "\n")


def shown(t, evil):
    """A title, an answer and a tool's output with these characters, by every command that shows them."""
    t.start()
    word = f"begin{evil}end"
    session = t.session(FREE, title=word)
    t.play(session, call("write_file", path="a.txt", content=word), shell(f"printf '%s\\n' {json.dumps(word, ensure_ascii=False) if chr(13) not in word else 'x'}"), word)
    ways = {
        "sessions": ("sessions", "list"), "logs": ("logs", session), "export md": ("export", session, "--format", "md"), "context": ("context", session), "approve": ("approve",), "sessions show": ("sessions", "show", session), "usage": ("usage",),
    }
    for name, words in ways.items():
        piped = t.daemon.cli(*words)
        text = (piped.stdout + piped.stderr).decode(errors="replace")
        t.must(not bad_in(text, evil), f"`{name}` into a pipe passes {bad_in(text, evil)!r} through")
    for name in ("sessions", "logs", "sessions show"):
        text = on_terminal(t, *ways[name])
        t.must(not bad_in(text, evil), f"`{name}` on a terminal passes {bad_in(text, evil)!r} through")


cases("records", ONE, {f"characters-{name}": evil for name, evil in EVIL.items()}, shown)


def answered(t, evil):
    """The model's answer by `ostler run`, into a pipe and on a terminal."""
    prompt = "play " + json.dumps([f"begin{evil}end"])
    t.start()
    words = ("run", "--cwd", t.work, prompt) if "--cwd" in run_help(t) else ("run", prompt)
    piped = t.daemon.cli(*words, cwd=t.work)
    text = (piped.stdout + piped.stderr).decode(errors="replace")
    t.must("begin" in text, f"nothing was shown: {text[:300]}")
    t.must(not bad_in(text, evil), f"`run` into a pipe passes {bad_in(text, evil)!r} through")


def run_help(t):
    return t.daemon.cli("run", "--help").stdout.decode()


cases("records", ONE, {f"run-{name}": EVIL[name] for name in ("override", "escape", "title", "clipboard", "c1", "carriage-return")}, answered)

# Keys.


def everything_kept(t):
    """All files of the data directory, as bytes, but for captured workspaces, which hold what the user's files hold."""
    for top, folders, names in os.walk(t.daemon.data):
        folders[:] = [name for name in folders if name != "checkpoints"]
        for name in names:
            path = os.path.join(top, name)
            if stat.S_ISREG(os.lstat(path).st_mode):
                with open(path, "rb") as file:
                    yield os.path.relpath(path, t.daemon.data), file.read()


SAID = {
    "tool-output": lambda t: [shell(f"echo the key is {KEY}")], "model-answer": lambda t: [f"the key is {KEY}"], "file-content": lambda t: [call("write_file", path="k.txt", content=KEY), call("read_file", path="k.txt")],
    "argument": lambda t: [shell(f"true {KEY}")], "large-output": lambda t: [shell(f"for i in $(seq 20000); do echo line $i; done; echo {KEY}; for i in $(seq 20000); do echo line $i; done")],
    "across-lines": lambda t: [shell(f"printf '%s' {KEY[:10]}; printf '%s\\n' {KEY[10:]}")], "in-json": lambda t: [shell("echo '" + json.dumps({"key": KEY}) + "'")], "error-text": lambda t: [call("read_file", path=f"no-such-{KEY}")], "child": lambda t: [t.child(shell(f"echo {KEY}"), worktree=False)],
    "child-title": lambda t: [call("task", description=f"about {KEY}", prompt="play [\"hello\"]")], "search": lambda t: [shell(f"echo {KEY} > k.txt"), call("search", query="sk-attack")],
}


def masked(t, steps):
    """A key that the daemon knows is nowhere in what it keeps, whoever printed it."""
    t.start(more='[logging]\nstreams = ["context", "verbose", "raw"]\n')
    session = t.session(FREE)
    t.play(session, *steps)
    t.daemon.stop()
    kept = [name for name, content in everything_kept(t) if KEY.encode() in content]
    t.must(not kept, f"the provider's key is in {sorted(set(os.path.basename(name) for name in kept))}")


def said(t, steps):
    """The prompt holds a mark in place of the key, which only the model replaces."""
    masked(t, json.loads(json.dumps(steps(t)).replace(KEY, "@KEY@")))


cases("records", ONE, {f"key-in-{name}": steps for name, steps in SAID.items()}, said)


@case("records/key-in-index", ONE)
def key_in_index(t):
    """Full-text search finds no key."""
    t.start()
    t.run("the key is @KEY@")
    found = t.daemon.ask("GET", f"/v1/sessions?q={KEY[:14]}")["sessions"]
    t.must(not found or KEY not in json.dumps(found), "the index holds the key")
    with sqlite3.connect(f"file:{t.daemon.data}/index.db?mode=ro", uri=True) as index:
        text = "\n".join(index.iterdump())
    t.must(KEY not in text, "the index holds the key")


@case("records/token-is-not-kept", ONE)
def token_kept(t):
    t.start()
    t.model.marks["@TOKEN@"] = t.daemon.token
    t.run(shell("echo @TOKEN@"), "it is @TOKEN@")
    kept = [name for name, content in everything_kept(t) if t.daemon.token.encode() in content and name != "token"]
    t.must(not kept, f"the daemon's token is in {kept}")


# Processes and files of the daemon.


@case("records/environment-of-the-daemon", USER)
def environ(t):
    """Another process of the user cannot read the keys from the daemon."""
    for name in ("environ", "mem", "maps", "auxv"):
        try:
            with open(f"/proc/{t.daemon.pid}/{name}", "rb") as file:
                file.read(1 if name == "mem" else -1)
        except OSError:
            continue
        raise Failure(f"/proc/PID/{name} of the daemon is open to other programs of the user")


@case("records/no-core-dumps", ONE)
def core(t):
    daemon = t.start()
    with open(f"/proc/{daemon.pid}/limits") as file:
        line = next(line for line in file if line.startswith("Max core file size"))
    dumpable = os.stat(f"/proc/{daemon.pid}/environ").st_uid == 0 and os.geteuid() != 0
    t.must(dumpable or line.split()[4] == "0", f"the daemon may dump its memory: {line.split()}")


MODES = {"wide": 0o755, "writable": 0o777, "group": 0o770}


def data_mode(t, mode):
    data = os.path.join(t.outside, "data")
    os.mkdir(data)
    os.chmod(data, mode)
    t.start(data=data)
    t.run("hello")
    found = {name: oct(stat.S_IMODE(os.lstat(os.path.join(data, name)).st_mode)) for name in [".", *os.listdir(data)]}
    wide = {name: mode for name, mode in found.items() if int(mode, 8) & 0o077}
    t.must(not wide, f"others of the machine can go in: {wide}")


cases("records", ONE, {f"data-directory-{name}": mode for name, mode in MODES.items()}, data_mode)


@case("records/existing-token-is-narrowed", ONE)
def token_mode(t):
    daemon = t.start()
    daemon.stop()
    os.chmod(os.path.join(daemon.data, "token"), 0o644)
    try:
        t.start(data=daemon.data)
    except (RuntimeError, OSError):
        return  # It is refused, with words.
    mode = stat.S_IMODE(os.stat(os.path.join(daemon.data, "token")).st_mode)
    t.must(mode == 0o600, f"a token that others may read is used as it is ({mode:o})")


def second_daemon(t, spoil):
    """Two daemons never write the same data."""
    first = t.start()
    spoil(first)
    try:
        second = t.start(data=first.data)
    except (RuntimeError, OSError):
        return
    raise Failure(f"a second daemon runs on the same data (processes {first.pid} and {second.pid})")


def swapped(first):
    path = os.path.join(first.data, "lock")
    os.unlink(path)
    with open(path, "w") as file:
        file.write("1")


def by_link(first):
    os.rename(os.path.join(first.data, "lock"), os.path.join(first.data, "lock.old"))
    os.symlink("lock.new", os.path.join(first.data, "lock"))


SPOILED = {"untouched": lambda first: None, "removed": lambda first: os.unlink(os.path.join(first.data, "lock")), "replaced": swapped, "linked": by_link}
cases("records", ONE, {f"lock-{name}": spoil for name, spoil in SPOILED.items()}, second_daemon)

# The log.


def spoil_log(t, spoil):
    """A log that lost or changed records is noticed by whoever opens it."""
    daemon = t.start()
    session = t.session(FREE)
    t.play(session, shell("echo one"), "two")
    t.play(session, "three")
    last = daemon.ask("GET", f"/v1/sessions/{session}")["last_seq"]
    daemon.stop()
    path = glob.glob(f"{daemon.data}/sessions/{session}/events.ndjson")[0]
    with open(path) as file:
        lines = file.readlines()
    with open(path, "w") as file:
        file.writelines(spoil(lines))
    doctor = daemon.cli("doctor")
    said = (doctor.stdout + doctor.stderr).decode()
    t.start(data=daemon.data)
    status, state = t.daemon.request("GET", f"/v1/sessions/{session}")
    quiet = status == 200 and state["last_seq"] != last
    t.must("all records intact" not in said, f"`doctor` finds nothing wrong: {said[:200]}")
    t.must(not quiet, f"the session opens as if nothing was lost ({last} records before, {state.get('last_seq') if isinstance(state, dict) else state} now)")


def without_line(lines):
    return lines[:5] + lines[6:]


def changed_text(lines):
    return [line.replace("three", "THREE") for line in lines]


def doubled(lines):
    return lines + lines[-1:]


LOGS = {"cut-by-one": lambda lines: lines[:-1], "cut-by-five": lambda lines: lines[:-5], "cut-to-two": lambda lines: lines[:2], "line-missing": without_line, "text-changed": changed_text, "line-doubled": doubled, "emptied": lambda lines: []}
cases("records", ONE, {f"log-{name}": spoil for name, spoil in LOGS.items()}, spoil_log)

# Workspaces.

UNFIT = {
    "root": lambda t: "/", "etc": lambda t: "/etc", "usr": lambda t: "/usr", "var": lambda t: "/var", "tmp": lambda t: "/tmp", "home": lambda t: t.home, "above-home": lambda t: os.path.dirname(t.home), "data": lambda t: t.daemon.data, "in-data": lambda t: os.path.join(t.daemon.data, "sessions"), "proc": lambda t: "/proc", "dev": lambda t: "/dev",
    "link-to-home": lambda t: linked(t, t.home), "dotted": lambda t: t.home + "/.", "shared-memory": lambda t: "/dev/shm", "configuration": lambda t: config_dir(t), "ssh": lambda t: secret_dir(t),
}


def linked(t, target):
    os.symlink(target, os.path.join(t.outside, "l"))
    return os.path.join(t.outside, "l")


def config_dir(t):
    os.makedirs(os.path.join(t.home, ".config/ostler"), exist_ok=True)
    return os.path.join(t.home, ".config/ostler")


def secret_dir(t):
    return os.path.join(t.home, ".ssh")


def unfit(t, place):
    path = place(t)
    status, made = t.daemon.request("POST", "/v1/sessions", {"workspace_path": path})
    t.must(status == 422, f"{path} is taken as a workspace: {status} {str(made)[:100]}")


cases("records", ONE, {f"workspace-{name}": place for name, place in UNFIT.items()}, unfit)


@case("records/workspace-swapped-for-home", ONE)
def swapped_workspace(t):
    """A workspace that was fit becomes a link to the home directory later."""
    session = t.session()
    t.play(session, "hello")
    os.rename(t.work, t.work + "-old")
    os.symlink(t.home, t.work)
    try:
        t.play(session, call("write_file", path=".attacked", content="x"), shell("echo x > .attacked"))
    except RuntimeError:
        pass  # The turn is refused.
    t.must(not os.path.exists(os.path.join(t.home, ".attacked")), "a session works in the home directory through a link")


@case("records/workspace-other-doors", ONE)
def other_doors(t):
    """Import and fork take no unfit workspace either."""
    session = t.run("hello").session
    exported = t.daemon.request("GET", f"/v1/sessions/{session}/export?format=ndjson")[1]
    raw = exported if isinstance(exported, str) else json.dumps(exported)
    status, made = t.daemon.request("POST", f"/v1/sessions/import?workspace_path={t.home}", raw=raw, headers={"content-type": "application/x-ndjson"})
    t.must(status not in (200, 201), f"an import works in the home directory: {made}")
    status, made = t.daemon.request("POST", "/v1/projects", {"path": "/etc"})
    t.must(status not in (200, 201), f"/etc is registered as a project: {made}")


@case("records/commands-end-with-the-daemon", ALL)
def end_with_daemon(t):
    """Killed at once, the daemon leaves no command behind."""
    from harness import processes
    daemon = t.start()
    number = f"62{abs(hash(t.secret)) % 10 ** 6}"
    session = t.session()
    t.say(session, "play " + json.dumps([shell(f"trap '' TERM HUP; setsid sleep {number} & sleep {number}")]))
    t.until(lambda: processes.with_words(number), "the command runs")
    daemon.process.send_signal(signal.SIGKILL)
    daemon.process.wait()
    t.until(lambda: not [pid for pid in processes.with_words(number) if "sleep" in processes.command(pid).split()[:1]], "no command is left", 6)
