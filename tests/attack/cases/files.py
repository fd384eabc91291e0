"""The file tools against paths, links and files that are not what they seem."""

import os
import time

from harness.attempt import call
from harness.registry import ONE, ROOT_BWRAP, USER_BWRAP, case, cases

BOTH = (ROOT_BWRAP, USER_BWRAP)
OUT = {
    "up": "../{}/f", "absolute": "@/f", "dotted": "sub/../../{}/f", "link": "link/f", "link-file": "linkfile", "link-of-link": "link2/f", "proc": "/proc/self/cwd/../{}/f", "proc-root": "/proc/self/root@/f", "trailing-slash": "link/f/", "double-slash": "sub//..//..//{}//f", "backslash": "..\\{}\\f",
    "dev-fd": "/dev/fd/0", "tilde": "~/f", "null": "a\0/../../{}/f", "new-link-parent": "link/new/deep/f", "dot": ".", "dot-dot": "..", "empty": "", "encoded": "%2e%2e/{}/f", "wide-dots": "\uff0e\uff0e/{}/f", "loop": "loop/f",
}
TOOLS = {
    "write": lambda path: [call("write_file", path=path, content="evil")], "edit": lambda path: [call("edit_file", path=path, old="kept", new="evil")],
    "patch": lambda path: [call("apply_patch", patch=f"*** Begin Patch\n*** Add File: {path}\n+evil\n*** End Patch\n"), call("apply_patch", patch=f"*** Begin Patch\n*** Update File: {path}\n@@\n-kept\n+evil\n*** End Patch\n"), call("apply_patch", patch=f"*** Begin Patch\n*** Delete File: {path}\n*** End Patch\n")],
    "move": lambda path: [call("apply_patch", patch=f"*** Begin Patch\n*** Update File: a.txt\n*** Move to: {path}\n@@\n-one a.txt\n+evil\n*** End Patch\n")],
    "diff": lambda path: [call("apply_patch", patch=f"--- a/{path}\n+++ b/{path}\n@@ -1 +1 @@\n-kept\n+evil\n"), call("apply_patch", patch=f"--- /dev/null\n+++ {path}\n@@ -0,0 +1 @@\n+evil\n")],
}


def outside(t, path):
    """No tool writes, changes or removes a file outside, whatever the path is called."""
    t.write("a.txt", "one a.txt\n")
    t.write(os.path.join(t.outside, "f"), "kept\n")
    os.makedirs(t.path("sub"))
    beside = os.path.join(t.project, "beside")
    t.write(os.path.join(beside, "f"), "kept\n")
    for name, target in (("link", beside), ("linkfile", os.path.join(beside, "f")), ("link2", "link"), ("loop", "loop")):
        os.symlink(target, t.path(name))
    path = path.replace("{}", "beside").replace("@", t.outside)
    t.run(*[step for tool in TOOLS.values() for step in tool(path)])
    for place in (beside, t.outside):
        with open(os.path.join(place, "f")) as file:
            t.must(os.listdir(place) == ["f"] and file.read() == "kept\n", f"written outside by {path!r}: {os.listdir(place)}")


cases("files", ONE, {f"outside-{name}": path for name, path in OUT.items()}, outside)

# What makes somebody else run code, however it is spelled.
FORBIDDEN = """.git/config .git/hooks/pre-commit .GIT/config .Git/hooks/x sub/.git/config ./.git/config .git//config sub/../.git/config gitlink/config gitlink/hooks/x .mcp.json .MCP.json ./.mcp.json sub/.mcp.json .ostler/config.toml .OSTLER/config.toml
.claude/settings.json sub/.claude/x .vscode/tasks.json .husky/pre-commit .envrc sub/deep/.envrc .idea/x .zed/x .cursor/x .codex/x .gemini/x .opencode/x .agents/x claudelink/settings.json .git worktree/.git git~1/config .git./config .hg/hgrc .jj/repo/config.toml sub/HEAD HEAD""".split() + [".g\u200cit/config"]


def forbidden(t, path):
    t.repository()
    os.symlink(".git", t.path("gitlink"))
    t.write("conf/claude/keep", "x")
    os.symlink("conf/claude", t.path("claudelink"))
    os.symlink("conf/claude", t.path(".claude"))
    t.git("worktree", "add", "-q", "--detach", t.path("worktree"))
    before = kept(t)
    t.run(*[step for tool in TOOLS.values() for step in tool(path)])
    changed = {name for name in set(before) ^ set(kept(t))} | {name for name in before if kept(t).get(name) != before[name]}
    bad = [name for name in changed if name not in ("a.txt",)]
    t.must(not bad, f"{path!r}: {bad}")


def kept(t):
    found = {}
    for top, folders, names in os.walk(t.work):
        folders[:] = [name for name in folders if name not in ("objects", "logs")]
        for name in names:
            with open(os.path.join(top, name), "rb") as file:
                found[os.path.relpath(os.path.join(top, name), t.work)] = file.read()
    return found


cases("files", ONE, {f"forbidden-{path}": path for path in FORBIDDEN}, forbidden)

# Things that are no plain files.


def odd(t, make):
    """A turn that touches it ends soon, and nothing outside changes."""
    t.repository()
    name = make(t)
    began = time.monotonic()
    steps = [call("read_file", path=name), call("search", query="x", path=name), call("search", query="x"), call("repo_tree"), call("repo_map"), call("write_file", path=name, content="evil"), call("edit_file", path=name, old="a", new="b")]
    t.run(*steps)
    t.must(time.monotonic() - began < 12, f"reading {name!r} took {time.monotonic() - began:.0f} s")
    t.nothing_ran_outside()
    t.no_secret()


def fifo(t):
    os.mkfifo(t.path("pipe"))
    return "pipe"


def fifo_ignore(t):
    os.mkfifo(t.path(".gitignore"))
    return ".gitignore"


def fifo_agents(t):
    os.mkfifo(t.path("AGENTS.md"))
    os.mkfifo(t.path("README.md"))
    os.mkfifo(t.path("main.py"))
    return "AGENTS.md"


def sparse(t):
    with open(t.path("big"), "w") as file:
        file.truncate(5 << 30)
    return "big"


def to_device(target):
    def make(t):
        os.symlink(target, t.path("device"))
        return "device"

    return make


def unix_socket(t):
    import socket
    here = os.getcwd()
    one = socket.socket(socket.AF_UNIX)
    try:
        one.bind(f"/proc/self/fd/{os.open(t.work, os.O_RDONLY)}/s")
    finally:
        os.chdir(here)
        one.close()
    return "s"


def new_line(t):
    t.write("a\nevil: true\n\x1b[31m.txt", "x\n")
    return "a\nevil: true\n\x1b[31m.txt"


def not_utf8(t):
    with open(os.fsencode(t.work) + b"/\xff\xfe.txt", "w") as file:
        file.write("x\n")
    return "\ufffd\ufffd.txt"


def deep(t):
    os.makedirs(t.path("/".join(["d"] * 300)), exist_ok=True)
    return "/".join(["d"] * 300)


def long_line(t):
    t.write("long.txt", "x" * (20 << 20))
    return "long.txt"


def zero_bytes(t):
    t.write("z.txt", b"\0" * 4096)
    return "z.txt"


ODD = {
    "fifo": fifo, "fifo-ignore": fifo_ignore, "fifo-agents": fifo_agents, "sparse": sparse, "device-zero": to_device("/dev/zero"), "device-random": to_device("/dev/urandom"), "device-tty": to_device("/dev/tty"), "proc-mem": to_device("/proc/self/mem"), "proc-environ": to_device("/proc/self/environ"),
    "socket": unix_socket, "new-line-in-name": new_line, "name-not-utf8": not_utf8, "deep": deep, "long-line": long_line, "zero-bytes": zero_bytes,
}
cases("files", ONE, {f"odd-{name}": make for name, make in ODD.items()}, odd)


@case("files/hard-link", BOTH)
def hard_link(t):
    """A file with another name outside: writing by a tool breaks the link rather than changing the other file."""
    t.repository()
    other = t.write(os.path.join(t.outside, "other"), "kept\n")
    os.link(other, t.path("hard"))
    t.run(call("read_file", path="hard"), call("write_file", path="hard", content="evil\n"), call("edit_file", path="hard", old="evil", new="worse"))
    with open(other) as file:
        t.must(file.read() == "kept\n", "a tool changed a file outside through a hard link")


@case("files/new-line-in-approval", ONE)
def approval_text(t):
    """What an approval shows hides nothing of a path."""
    t.repository()
    path = "a.txt\n\u202eapproved: yes \x1b[2K"
    turn = t.run(call("write_file", path=path, content="x"), policy={})
    t.must(turn.asked, "the write was not asked about")
    summary = turn.asked[0]["summary"]
    t.must(not any(character in summary for character in "\n\u202e\x1b"), f"the summary holds characters that deceive: {summary!r}")


@case("files/mode-is-not-widened", BOTH)
def mode(t):
    """A rewritten private file stays private, and no tool makes a set-id file."""
    t.repository()
    t.write("private.txt", "kept\n", 0o600)
    t.run(call("read_file", path="private.txt"), call("write_file", path="private.txt", content="new\n"))
    t.must(os.stat(t.path("private.txt")).st_mode & 0o7777 == 0o600, f"the mode is {os.stat(t.path('private.txt')).st_mode:o}")
