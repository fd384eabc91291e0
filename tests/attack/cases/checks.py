"""Checks that the model wrote itself, and a workspace that changes after it was trusted."""

import json
import os

from harness.attempt import call, shell
from harness.registry import ALL, ONE, case, cases

# Programs ask, files do not; the workspace is trusted, so its checks run at the end of a turn.
POLICY = {"approval": {"require_for_kinds": ["exec", "network"]}}


def write(path, content):
    return call("write_file", path=path, content=content)


MAKE = "test:\n\ttouch {}\n"
# What lies in the workspace when the turn begins, and what the model does in it. `P` is made when its check ran.
CHECKS = {
    "agents-file-made": ({}, [write("AGENTS.md", "# x\n\n## Verification\n\n```sh\ntouch P\n```\n")]),
    "agents-file-changed": ({"AGENTS.md": "# x\n\n## Verification\n\n```sh\ntrue\n```\n"}, [call("edit_file", path="AGENTS.md", old="true", new="touch P")]),
    "agents-file-inline": ({}, [write("AGENTS.md", "# x\n\n## Verification\n\n- `touch P`\n")]),
    "makefile-made": ({}, [write("Makefile", MAKE.format("P"))]),
    "makefile-changed": ({"Makefile": MAKE.format("Q")}, [call("edit_file", path="Makefile", old="touch Q", new="touch P")]),
    "gnumakefile-before-makefile": ({"Makefile": MAKE.format("Q")}, [write("GNUmakefile", MAKE.format("P"))]),
    "lower-case-makefile": ({"Makefile": MAKE.format("Q")}, [write("makefile", MAKE.format("P"))]),
    "makefile-include": ({"Makefile": "include inc.mk\ntest:\n\ttrue\n", "inc.mk": ""}, [write("inc.mk", "x := $(shell touch P)\n")]),
    "makefile-optional-include": ({"Makefile": "-include local.mk\ntest:\n\ttrue\n"}, [write("local.mk", "x := $(shell touch P)\n")]),
    "patched": ({"Makefile": MAKE.format("Q")}, [call("apply_patch", patch="*** Begin Patch\n*** Update File: Makefile\n@@\n test:\n-\ttouch Q\n+\ttouch P\n*** End Patch\n")]),
    "moved-into-place": ({"notes.md": "# x\n\n## Verification\n\n```sh\ntouch P\n```\n"}, [call("apply_patch", patch="*** Begin Patch\n*** Update File: notes.md\n*** Move to: AGENTS.md\n@@\n # x\n+y\n*** End Patch\n")]),
    "package-script": ({"package.json": '{"scripts":{"test":"true"}}', "AGENTS.md": "# x\n\n## Verification\n\n```sh\nnpm test\n```\n"}, [write("package.json", '{"scripts":{"test":"touch P"}}')]),
    "makefile-computed-include": ({"Makefile": "X := lo\n-include $(X)cal.mk\ntest:\n\ttrue\n"}, [write("local.mk", "x := $(shell touch P)\n")]),
    "makefile-include-of-all": ({"Makefile": "-include mk/*.mk\ntest:\n\ttrue\n", "mk/a.mk": ""}, [write("mk/b.mk", "x := $(shell touch P)\n")]),
    "makefile-below": ({"Makefile": "test:\n\t$(MAKE) -C sub\n", "sub/Makefile": "all:\n\ttrue\n"}, [write("sub/Makefile", "all:\n\ttouch ../P\n")]),
    "computed-script": ({"Makefile": "S := run\ntest:\n\t./$(S).sh\n", "run.sh": "#!/bin/sh\n"}, [write("run.sh", "#!/bin/sh\ntouch P\n")]),
    "program-below": ({"Makefile": "test:\n\tcd x && ./go\n", "x/go": "#!/bin/sh\n"}, [write("x/go", "#!/bin/sh\ntouch ../P\n")]),
    "script-of-an-earlier-turn": ({"Makefile": "S := run\ntest:\n\t./$(S).sh\n", "run.sh": "#!/bin/sh\n"}, [write("run.sh", "#!/bin/sh\ntouch P\n")], [write("a.txt", "x")]),
    "makefile-with-an-ending": ({"Makefile": "include Makefile.common\ntest:\n\ttrue\n", "Makefile.common": ""}, [write("Makefile.common", "x := $(shell touch P)\n")]),
    "script-without-an-ending": ({"Makefile": "test:\n\tsh ci/check\n", "ci/check": ""}, [write("ci/check", "touch P\n")]),
    "recipe-of-a-recipe": ({"Makefile": "test:\n\tnpm test\n", "package.json": '{"scripts":{"test":"true"}}'}, [write("package.json", '{"scripts":{"test":"touch P"}}')]),
    "dependencies-of-make": ({"Makefile": "-include $(wildcard src/*.d)\ntest:\n\ttrue\n", "src/a.c": ""}, [write("src/a.d", "x := $(shell touch P)\n")]),
    "shell-of-npm": ({"package.json": '{"scripts":{"test":"true"}}', "AGENTS.md": "# x\n\n## Verification\n\n```sh\nnpm test\n```\n", "sh.sh": "#!/bin/sh\ntouch P\n"}, [write(".npmrc", "script-shell=./sh.sh\n")]),
    "settings-by-tool": ({}, [write(".ostler/config.toml", '[verify]\ncommands = ["touch P"]\n'), write("a.txt", "x")]),
    "settings-below": ({}, [write("sub/.ostler/config.toml", '[verify]\ncommands = ["touch P"]\n'), write("a.txt", "x")]),
    "agents-file-below": ({}, [write("sub/AGENTS.md", "# x\n\n## Verification\n\n```sh\ntouch P; touch ../P\n```\n"), write("a.txt", "x")]),
    "verify-tool": ({}, [call("verify", commands=["touch P"])]),
    "verify-tool-after-writing": ({}, [write("Makefile", MAKE.format("P")), call("verify")]),
}

# Recipes of tools that are not installed here: the check takes the name of what it runs from elsewhere.
RECIPES = """build.gradle settings.gradle.kts gradle.properties gradlew gradle/x pom.xml mvnw .mvn/jvm.config BUILD sub/BUILD.bazel WORKSPACE MODULE.bazel
a.bzl meson.build CMakeLists.txt sub/CMakeLists.txt pytest.ini setup.cfg tox.ini conftest.py tests/conftest.py noxfile.py setup.py pyproject.toml
sub/package.json vite.config.ts jest.config.js vitest.config.mts Rakefile Gemfile .rspec composer.json justfile Taskfile.yml deno.json build.zig Cargo.toml
build.rs .cargo/config.toml mix.exs SConstruct unknown.tool .hidden run""".split()
ANY = "N := $(shell cat name.txt)\ntest:\n\tsh ./$(N)\n"
CHECKS.update({f"recipe-{name.replace('/', '-')}": ({"Makefile": ANY, "name.txt": name, name: "true\n"}, [write(name, "touch P\n")]) for name in RECIPES})


def check(t, row):
    files, *turns = row
    for name, content in files.items():
        t.write(name, content, 0o755)
    t.repository(files=("base.txt",))
    t.trust()
    for steps in turns:
        turn = t.run(*steps, policy=POLICY)
    t.must(not os.path.exists(t.path("P")), f"a check that the model wrote ran unasked ({len(turn.asked)} asked)")


cases("checks", ONE, CHECKS, check)


SERVER = """import json, sys
MARK
for line in sys.stdin:
    asked = json.loads(line)
    if "id" in asked:
        answer = {"protocolVersion": "2025-03-26", "capabilities": {"tools": {}}, "serverInfo": {"name": "s", "version": "1"}} if asked["method"] == "initialize" else {"tools": []}
        print(json.dumps({"jsonrpc": "2.0", "id": asked["id"], "result": answer}), flush=True)
"""


@case("checks/server-that-a-turn-wrote", ONE)
def written_server(t):
    """A tool server of a trusted workspace is not started with what a model wrote, until its owner accepts it."""
    t.write("tools/srv.py", SERVER.replace("MARK", "open('Q', 'w')"))
    t.write(".mcp.json", json.dumps({"mcpServers": {"s": {"command": "/usr/bin/python3", "args": ["tools/srv.py"]}}}))
    t.repository(files=("base.txt",))
    daemon = t.start()
    t.trust()
    t.run(write("a.txt", "x"), policy=POLICY)
    t.must(os.path.exists(t.path("Q")), "the server of a trusted workspace did not start")
    t.run(write("tools/srv.py", SERVER.replace("MARK", "open('P', 'w')")), policy=POLICY)
    daemon.stop()
    t.start(data=daemon.data)
    t.run(write("a.txt", "y"), policy=POLICY)
    t.must(not os.path.exists(t.path("P")), "a server that the model wrote was started unasked")


@case("checks/fair-check-runs", ONE)
def fair(t):
    """A check that lay there when the turn began runs unasked, or all of the above shows nothing."""
    t.write("Makefile", MAKE.format("P"))
    t.repository(files=("base.txt",))
    t.trust()
    t.run(write("a.txt", "x"), policy=POLICY)
    t.must(os.path.exists(t.path("P")), "the check of a trusted workspace did not run")


@case("checks/not-run-is-told", ONE)
def told(t):
    """The end of the turn does not claim that it was verified by a check that was not run."""
    t.write("Makefile", MAKE.format("Q"))
    t.repository(files=("base.txt",))
    t.trust()
    turn = t.run(call("edit_file", path="Makefile", old="touch Q", new="true"), policy=POLICY)
    end = turn.end["data"]
    t.must(turn.asked or end.get("verified") is not True, f"a turn that rewrote its check counts as verified: {json.dumps(end)[:300]}")


@case("checks/child-writes-the-check", ONE)
def child(t):
    t.repository()
    t.trust()
    steps = [write("AGENTS.md", "# x\n\n## Verification\n\n```sh\ntouch P\n```\n")]
    t.run(t.child(*steps, worktree=False), t.child(*steps), policy=POLICY)
    t.must(not os.path.exists(t.path("P")), "a check that a child wrote ran unasked")


RULE = '[approval]\nrules = [{ tool = "shell", subject = "touch P" }]\n'


@case("checks/rules-after-the-trust", ALL)
def rules_later(t):
    t.write(".ostler/config.toml", "[verify]\ncommands = []\n")
    t.repository()
    t.trust()
    t.write(".ostler/config.toml", RULE)
    turn = t.run(shell("touch P"), policy={"verify": {"auto": False}})
    t.must(turn.asked and not os.path.exists(t.path("P")), "a rule that came after the trust holds")


@case("checks/rules-of-the-trust", ONE)
def rules_of_trust(t):
    t.write(".ostler/config.toml", RULE)
    t.repository()
    t.trust()
    turn = t.run(shell("touch P"), policy={"verify": {"auto": False}})
    t.must(not turn.asked and os.path.exists(t.path("P")), "a rule that was trusted does not hold, so the others show nothing")


NOT_TRUSTED = {
    "below": lambda t: t.path("sub"), "above": lambda t: t.project, "link": lambda t: link_to(t, t.path("sub")), "sibling": lambda t: sibling(t), "worktree": lambda t: worktree(t),
}


def link_to(t, target):
    os.symlink(target, os.path.join(t.outside, "l"))
    return os.path.join(t.outside, "l")


def sibling(t):
    os.makedirs(t.work + "x")
    return t.work + "x"


def worktree(t):
    t.git("worktree", "add", "-q", "--detach", os.path.join(t.outside, "wt"))
    return os.path.join(t.outside, "wt")


def not_trusted(t, where):
    """Trust belongs to one directory."""
    t.write("sub/a.txt", "x")
    t.repository()
    t.trust()
    place = where(t)
    t.write(os.path.join(place, "Makefile"), MAKE.format(os.path.join(t.outside, "nothing") + " P"))
    t.write(os.path.join(place, ".ostler/config.toml"), RULE)
    shown = t.daemon.ask("GET", f"/v1/trust?workspace_path={place}")
    t.must(not shown["trusted"], f"{place} is trusted though nobody said so")


cases("checks", ONE, {f"trust-{name}": where for name, where in NOT_TRUSTED.items()}, not_trusted)


@case("checks/trusted-directory-replaced", ONE)
def replaced(t):
    """Another directory takes the place of a trusted one by a link."""
    t.repository()
    t.trust()
    os.rename(t.work, t.work + "-old")
    os.makedirs(os.path.join(t.outside, "evil"))
    t.write(os.path.join(t.outside, "evil/.ostler/config.toml"), RULE)
    os.symlink(os.path.join(t.outside, "evil"), t.work)
    shown = t.daemon.ask("GET", f"/v1/trust?workspace_path={t.work}")
    t.must(not shown["trusted"], "a link that took the place of a trusted directory is trusted")


@case("checks/settings-file-that-is-a-link", ONE)
def linked_settings(t):
    t.write("conf/c.toml", RULE)
    t.repository()
    os.makedirs(t.path(".ostler"))
    os.symlink("../conf/c.toml", t.path(".ostler/config.toml"))
    t.trust()
    turn = t.run(shell("touch P"), policy={"verify": {"auto": False}})
    t.must(turn.asked, "a rule from a file behind a link holds")
