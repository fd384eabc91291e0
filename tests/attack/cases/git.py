"""The daemon's own git: whatever a repository says, nothing of it runs outside the sandbox, and nothing outside is read or written."""

import json
import os
import signal
import time

from harness import processes
from harness.attempt import FREE, call, shell, side_by_side
from harness.registry import ALL, ROOT_LANDLOCK, USER_BWRAP, case, spread

# Both users and both sandboxes, once each.
PAIR = (ROOT_LANDLOCK, USER_BWRAP)
STRICT = {**FREE, "patch_review": {"mode": "request"}, "verify": {"auto": True, "require_clean": True, "max_rounds": 0}}
EDIT = shell("echo more >> a.txt; echo new > new.txt")


def every_way(t):
    """All that has the daemon ask git: the first message, tools, a child with a worktree and its end, merge, review, undo."""
    steps = [call("git_status"), call("repo_map"), t.child(EDIT), call("task_control", task_id="$CHILD", action="merge")]
    session = t.session()
    turn = t.play(session, *steps)
    t.daemon.request("POST", f"/v1/sessions/{session}/undo", {"turn_id": turn.id})
    t.run(call("write_file", path="b.txt", content="b\n"), policy=STRICT, answer="approve")


def config(t, text, path=".git/config"):
    with open(t.path(path), "ab") as file:
        file.write(text if isinstance(text, bytes) else text.encode())


def attributes(t, text):
    os.makedirs(t.path(".git/info"), exist_ok=True)
    with open(t.path(".git/info/attributes"), "ab") as file:
        file.write(text if isinstance(text, bytes) else text.encode())


def driver(t, name=b"x", kind=b"filter"):
    """A section whose every program is a trap."""
    trap = t.trap("driver").encode()
    keys = {b"filter": (b"clean", b"smudge"), b"diff": (b"textconv", b"command"), b"merge": (b"driver",)}[kind]
    return b'[%s "%s"]\n' % (kind, name) + b"".join(b'\t%s = "%s; cat"\n' % (key, trap) for key in keys) + b"\trequired = false\n"


def plain_filter(t):
    config(t, driver(t))
    attributes(t, "* filter=x\n")


def not_utf8(t):
    config(t, driver(t, b"\xff"))
    attributes(t, b"* filter=\xff\n")


def not_utf8_tree(t):
    config(t, driver(t, b"\xfe\xff"))
    t.write(".gitattributes", b"* filter=\xfe\xff\n")
    t.git("add", ".gitattributes", check=False)


def overlong(t):
    config(t, driver(t, b"\xc0\xaf"))
    attributes(t, b"* filter=\xc0\xaf\n")


def surrogate(t):
    config(t, driver(t, b"\xed\xa0\x80"))
    attributes(t, b"* filter=\xed\xa0\x80\n")


def replacement_twin(t):
    """The name that a lossy reading makes of the other one is there too, harmless."""
    config(t, '[filter "\ufffd"]\n\tclean = cat\n')
    not_utf8(t)


def process_only(t):
    config(t, b'[filter "\xffp"]\n\tprocess = "%s"\n' % t.trap("process").encode())
    attributes(t, b"* filter=\xffp\n")


def odd_name(t):
    config(t, driver(t, b'A.b.clean \\"q\\\\'))
    t.write(".git/info/attributes", b'* "filter=A.b.clean \\"q\\\\"\n* filter=A.b.clean\n')
    config(t, driver(t, b"A.b.clean"))


def upper_name(t):
    config(t, driver(t, "\u0130X".encode()))
    attributes(t, "* filter=\u0130X\n".encode())


def empty_name(t):
    config(t, driver(t, b""))
    attributes(t, "* filter=\n")


def included(t):
    t.write(".git/more", driver(t, b"\xff"))
    config(t, "[include]\n\tpath = more\n")
    attributes(t, b"* filter=\xff\n")


def included_odd_file(t):
    with open(os.fsencode(t.path(".git/")) + b"m\xffore", "wb") as file:
        file.write(driver(t))
    config(t, b"[include]\n\tpath = m\xffore\n")
    attributes(t, "* filter=x\n")


def include_if(condition):
    def plant(t):
        t.write(".git/more", driver(t, b"\xff"))
        config(t, f'[remote "o"]\n\turl = https://example.invalid/x\n[includeIf "{condition}"]\n\tpath = more\n')
        attributes(t, b"* filter=\xff\n")

    return plant


def include_only_in_worktrees(t):
    """Counts for the daemon's worktrees, and not where the settings are looked up."""
    t.write(".git/more", driver(t))
    config(t, '[includeIf "gitdir:**/worktrees/**"]\n\tpath = more\n')
    attributes(t, "* filter=x\n")


def too_many(t):
    config(t, "".join(f'[filter "n{i}"]\n\tclean = cat\n' for i in range(1500)))
    plain_filter(t)


def too_large(t):
    config(t, "[x]\n" + "".join(f"\tk{i:06}{'y' * 200} = 1\n" for i in range(6000)))
    plain_filter(t)


def attr_tree(t):
    t.write(".gitattributes", "* filter=x\n")
    t.git("add", "-A")
    t.git("commit", "-qm", "attributes")
    config(t, driver(t))
    config(t, "[attr]\n\ttree = HEAD\n[core]\n\tattributesFile = .gitattributes\n")


def fsmonitor(t):
    config(t, f'[core]\n\tfsmonitor = "{t.trap("fsmonitor")}; false"\n\tfsmonitorHookVersion = 1\n')


def fsmonitor_worktree_config(t):
    config(t, "[core]\n\trepositoryFormatVersion = 1\n[extensions]\n\tworktreeConfig = true\n")
    t.write(".git/config.worktree", f'[core]\n\tfsmonitor = "{t.trap("fsmonitor")}; false"\n')


HOOKS = """applypatch-msg pre-applypatch post-applypatch pre-commit pre-merge-commit prepare-commit-msg commit-msg post-commit
pre-rebase post-checkout post-merge pre-push reference-transaction post-rewrite push-to-checkout pre-auto-gc post-index-change
fsmonitor-watchman proc-receive""".split()


def hooks(t, place=".git/hooks"):
    for name in HOOKS:
        t.program(f"{place}/{name}", name)


def hooks_path(t):
    hooks(t, "githooks")
    config(t, "[core]\n\thooksPath = githooks\n")


def hooks_link(t):
    hooks(t, "githooks")
    t.remove(".git/hooks")
    os.symlink("../githooks", t.path(".git/hooks"))


def configured_hooks(t):
    config(t, "".join(f'[hook "{name}"]\n\tcommand = "{t.trap(name)}"\n\tevent = {name}\n' for name in HOOKS))


def diff_drivers(t):
    config(t, driver(t, b"\xff", b"diff") + driver(t, b"y", b"diff"))
    config(t, f'[diff]\n\texternal = "{t.trap("external")}"\n')
    attributes(t, b"a.txt diff=\xff\n* diff=y\n")


def merge_drivers(t):
    config(t, driver(t, b"\xff", b"merge") + driver(t, b"y", b"merge"))
    config(t, '[merge]\n\tdefault = "y"\n')
    attributes(t, b"a.txt merge=\xff\n* merge=y\n")


def signatures(t):
    program = t.program("sign", "gpg")
    config(t, f'[gpg]\n\tprogram = {program}\n\tformat = ssh\n[gpg "ssh"]\n\tprogram = {program}\n\tdefaultKeyCommand = {program}\n'
              f'[gpg "x509"]\n\tprogram = {program}\n[commit]\n\tgpgSign = true\n[tag]\n\tgpgSign = true\n[log]\n\tshowSignature = true\n'
              "[user]\n\tsigningKey = x\n")


def other_programs(t):
    trap = t.trap("program")
    keys = {
        "core": "pager editor sshCommand askPass gitProxy alternateRefsCommand", "credential": "helper", "sequence": "editor",
        "uploadpack": "packObjectsHook", "gc": "recentObjectsHook", "interactive": "diffFilter", "pager": "status diff log show",
        "web": "browser", "sendemail": "smtpServer", "receive": "procReceiveRefs", "trailer": "x.command",
    }
    for section, names in keys.items():
        config(t, f"[{section}]\n" + "".join(f'\t{name} = "!{trap}"\n\t{name} = "{trap}"\n' for name in names.split() if "." not in name))
    config(t, "[alias]\n" + "".join(f'\t{name} = "!{trap}"\n' for name in ("status", "log", "add", "reset", "worktree", "rev-parse")))


def promisor(t):
    """A partial clone with an object missing, whose remote is a program."""
    url = f'ext::sh -c {t.trap("ext").replace(" ", "% ")}'
    config(t, f'[core]\n\trepositoryFormatVersion = 1\n[extensions]\n\tpartialClone = o\n[protocol "ext"]\n\tallow = always\n'
              f'[remote "o"]\n\turl = "{url}"\n\tpromisor = true\n\tpartialCloneFilter = blob:none\n\tfetch = +refs/*:refs/*\n')
    blob = t.git("rev-parse", "HEAD:a.txt", check=False).stdout.decode().strip()
    os.unlink(t.path(f".git/objects/{blob[:2]}/{blob[2:]}"))


def remote_helper(t):
    t.program("git-remote-evil", "helper")
    config(t, '[remote "o"]\n\turl = evil::x\n\tvcs = evil\n\tpromisor = true\n[extensions]\n\tpartialClone = o\n')


def submodule(t):
    """A repository in the repository, known to the outer one, with traps of its own."""
    t.git("init", "-q", "sub")
    t.write("sub/f.txt", "f\n")
    for words in (("add", "-A"), ("commit", "-qm", "one")):
        t.git(*words, cwd=t.path("sub"))
    t.write(".gitmodules", '[submodule "sub"]\n\tpath = sub\n\turl = ./sub\n\tignore = none\n\tupdate = !' + t.trap("update") + "\n")
    t.git("add", "-f", "sub", ".gitmodules")
    t.git("commit", "-qm", "sub")
    config(t, '[submodule "sub"]\n\tactive = true\n\turl = ./sub\n\tupdate = "!' + t.trap("update") + '"\n[submodule]\n\trecurse = true\n'
              "[diff]\n\tsubmodule = log\n\tignoreSubmodules = none\n[status]\n\tsubmoduleSummary = true\n")
    config(t, f'[core]\n\tfsmonitor = "{t.trap("sub-fsmonitor")}; false"\n', "sub/.git/config")
    config(t, driver(t), "sub/.git/config")
    t.write("sub/.git/info/attributes", "* filter=x\n")
    hooks(t, "sub/.git/hooks")
    t.write("sub/f.txt", "changed\n")


def submodule_git_file(t):
    """The same by a `.git` file and `.git/modules`, with the work tree named in the settings."""
    submodule(t)
    os.makedirs(t.path(".git/modules"))
    os.rename(t.path("sub/.git"), t.path(".git/modules/sub"))
    t.write("sub/.git", "gitdir: ../.git/modules/sub\n")
    config(t, "[core]\n\tworktree = ../../../sub\n", ".git/modules/sub/config")


def commondir(t):
    """The repository says that its settings are those of another one."""
    t.git("clone", "-q", "--bare", ".", "evil.git")
    config(t, driver(t), "evil.git/config")
    t.write("evil.git/info/attributes", "* filter=x\n")
    t.write(".git/commondir", "../evil.git\n")


def git_file(t):
    os.rename(t.path(".git"), t.path("real.git"))
    t.write(".git", "gitdir: real.git\n")
    config(t, driver(t, b"\xff"), "real.git/config")
    t.write("real.git/info/attributes", b"* filter=\xff\n")


def git_link(t):
    os.rename(t.path(".git"), t.path("real.git"))
    os.symlink("real.git", t.path(".git"))
    config(t, driver(t, b"\xff"), "real.git/config")
    t.write("real.git/info/attributes", b"* filter=\xff\n")


def bare_parts(t):
    """The workspace is itself what looks like a bare repository."""
    for name in ("HEAD", "config", "objects", "refs"):
        os.rename(t.path(f".git/{name}"), t.path(name))
    t.remove(".git")
    config(t, f'[core]\n\tbare = true\n\tfsmonitor = "{t.trap("bare")}"\n', "config")
    config(t, driver(t), "config")


def worktree_gitdir(t):
    """A linked worktree of the user's is there already, with a `commondir` of the attacker's."""
    t.git("worktree", "add", "-q", "--detach", t.path("linked"))
    commondir(t)
    os.unlink(t.path(".git/commondir"))
    t.write(".git/worktrees/linked/commondir", t.path("evil.git") + "\n")


TRAPS = {
    "filter": plain_filter, "filter-not-utf8": not_utf8, "filter-not-utf8-in-tree": not_utf8_tree, "filter-overlong": overlong,
    "filter-surrogate": surrogate, "filter-with-lossy-twin": replacement_twin, "filter-process-only": process_only,
    "filter-odd-name": odd_name, "filter-name-that-changes-length-in-lower-case": upper_name, "filter-empty-name": empty_name,
    "include": included, "include-file-not-utf8": included_odd_file, "include-if-gitdir": include_if("gitdir:/"),
    "include-if-branch": include_if("onbranch:**"), "include-if-remote": include_if("hasconfig:remote.*.url:**"),
    "include-only-in-worktrees": include_only_in_worktrees, "more-settings-than-are-read": too_many, "settings-of-a-megabyte": too_large,
    "attributes-from-a-tree": attr_tree, "fsmonitor": fsmonitor, "fsmonitor-in-worktree-config": fsmonitor_worktree_config,
    "hooks": hooks, "hooks-path": hooks_path, "hooks-link": hooks_link, "hooks-in-settings": configured_hooks,
    "diff-drivers": diff_drivers, "merge-drivers": merge_drivers, "signatures": signatures, "other-programs": other_programs,
    "promisor-remote": promisor, "remote-helper": remote_helper, "submodule": submodule, "submodule-git-file": submodule_git_file,
    "commondir": commondir, "git-file": git_file, "git-link": git_link, "bare-parts": bare_parts, "commondir-of-a-worktree": worktree_gitdir,
}


def spring(t, plant):
    t.repository()
    plant(t)
    if os.path.exists(t.host):
        os.unlink(t.host)
    every_way(t)
    t.nothing_ran_outside()


spread("git", PAIR, TRAPS, spring, ("filter", "filter-not-utf8", "include-only-in-worktrees", "settings-of-a-megabyte", "fsmonitor", "hooks", "submodule", "commondir"))


@case("git/fair-ways-work", ALL)
def fair(t):
    """In a repository without traps all of it works, or the rest would only show that nothing does."""
    t.repository()
    session = t.session()
    steps = [call("git_status"), t.child(EDIT), call("task_control", task_id="$CHILD", action="merge")]
    turn = t.play(session, *steps)
    t.must("On branch main" in turn.results[0].text, f"git_status: {turn.results[0].text[:200]}")
    t.must(t.read("new.txt") == b"new\n" and b"more" in t.read("a.txt"), f"the merge made no changes: {turn.results[-1].text[:300]}")
    undone = t.daemon.request("POST", f"/v1/sessions/{session}/undo", {"turn_id": turn.id})
    t.must(undone[0] == 200 and t.read("new.txt") is None, f"the undo did nothing: {undone}")


@case("git/traps-are-armed", (USER_BWRAP,))
def armed(t):
    """Else all of the above shows nothing: an ordinary git falls into the traps."""
    t.repository()
    for plant in (not_utf8, fsmonitor, hooks, merge_drivers):
        plant(t)
    t.write("a.txt", "changed\n")
    t.git("add", "-A", check=False)
    t.git("commit", "-m", "x", check=False)
    with open(t.host) as file:
        words = file.read()
    t.must(all(word in words for word in ("driver", "fsmonitor", "pre-commit")), f"the traps are none: {words}")


# What a repository's links and files make the daemon's git read, write or wait for.

SHOWN = {
    "packed-refs": ".git/packed-refs", "shallow": ".git/shallow", "alternates": ".git/objects/info/alternates", "head": ".git/HEAD",
    "commondir": ".git/commondir", "exclude": ".git/info/exclude", "attributes": ".git/info/attributes", "settings": ".git/config",
    "modules": ".gitmodules", "ignore": ".gitignore", "todo": ".git/rebase-merge/git-rebase-todo", "message": ".git/MERGE_MSG",
    "orig-head": ".git/rebase-merge/head-name", "index": ".git/index",
}


def shows_nothing(t, name):
    """A part of the repository is a link to somebody's secret, which git would repeat in an error."""
    other = os.path.join(t.project, "other", ".env")
    t.write(other, f"{t.secret} {t.secret}\n")
    t.repository()
    if os.path.lexists(t.path(name)):
        os.unlink(t.path(name))
    os.makedirs(os.path.dirname(t.path(name)), exist_ok=True)
    os.symlink(other, t.path(name))
    every_way(t)
    t.no_secret()


spread("git", PAIR, {f"secret-as-{name}": path for name, path in SHOWN.items()}, shows_nothing)

LINKED = {"worktrees": "worktrees", "objects": "objects", "refs": "refs", "logs": "logs", "info": "info", "modules": "modules"}


def writes_nothing(t, name):
    """A part of the repository is a link to a directory outside, into which git would write."""
    t.repository()
    away = os.path.join(t.outside, "away")
    if os.path.exists(t.path(f".git/{name}")):
        os.rename(t.path(f".git/{name}"), away)
    os.makedirs(away, exist_ok=True)
    os.symlink(away, t.path(f".git/{name}"))
    before = listing(away)
    every_way(t)
    t.must(listing(away) == before, f"written outside: {sorted(listing(away) - before)[:5]}")


def listing(place):
    return {os.path.join(top, name) for top, folders, names in os.walk(place) for name in [*folders, *names]}


spread("git", PAIR, {f"link-outside-{name}": name for name in LINKED}, writes_nothing)


@case("git/work-tree-elsewhere", PAIR)
def work_tree(t):
    t.repository()
    away = os.path.join(t.outside, "away")
    t.write(os.path.join(away, "kept.txt"), t.secret)
    config(t, f"[core]\n\tworktree = {away}\n")
    every_way(t)
    t.must(os.listdir(away) == ["kept.txt"], f"changed outside: {os.listdir(away)}")
    t.no_secret()


@case("git/fifos", PAIR)
def fifos(t):
    """Pipes where git reads: a turn ends all the same."""
    t.repository()
    for name in (".gitignore", ".gitattributes", ".git/info/exclude", ".git/info/attributes", ".git/commondir", ".gitmodules"):
        if os.path.exists(t.path(name)):
            os.unlink(t.path(name))
        os.makedirs(os.path.dirname(t.path(name)), exist_ok=True)
        os.mkfifo(t.path(name))
    daemon = t.start()
    began = time.monotonic()
    t.run(call("git_status"))
    t.must(time.monotonic() - began < 40, "the turn hung on a pipe")
    daemon.stop()
    left = processes.in_directory(t.work)
    said = [processes.command(pid)[:80] for pid in left]
    for pid in left:
        os.kill(pid, signal.SIGKILL)
    t.must(not left, f"git outlives the daemon: {said}")


# A confined command that runs at the same time.

SWAP = """
cp -r .git evil.git 2>/dev/null; rm -rf evil.git/worktrees evil.git/objects; ln -s ../.git/objects evil.git/objects
mkdir -p evil.git/info; printf '* filter=x\\na.txt filter=\\xff\\n' > evil.git/info/attributes
for name in x $'\\xff'; do
  printf '[filter "%s"]\\n\\tclean = "%s; cat"\\n\\tsmudge = "%s; cat"\\n' "$name" "$TRAP" "$TRAP" >> evil.git/config
done
touch ready
end=$((SECONDS+4))
while [ $SECONDS -lt $end ] && [ ! -e stop ]; do
  for d in .git/worktrees/*; do [ -d "$d" ] && ACTION; done 2>/dev/null
done; true
"""
ACTIONS = {
    "commondir": 'echo "$PWD/evil.git" > $d/commondir',
    "commondir-renamed": 'echo "$PWD/evil.git" > c && mv -f c $d/commondir',
    "commondir-link": "ln -sfn $PWD/evil.git/c $d/commondir; echo $PWD/evil.git > evil.git/c",
    "worktree-directory-swapped": 'cp -r $d w 2>/dev/null && echo "$PWD/evil.git" > w/commondir && mv $d old$RANDOM && mv w $d',
    "worktree-config": "cp evil.git/config $d/config.worktree",
    "gitdir": "echo $PWD/.git > $d/gitdir",
    "head": "echo 'ref: refs/heads/evil' > $d/HEAD; cp .git/index $d/index",
}


def beside(t, action):
    t.repository()
    if action is ACTIONS["worktree-config"]:
        config(t, "[core]\n\trepositoryFormatVersion = 1\n[extensions]\n\tworktreeConfig = true\n")
    command = SWAP.replace("ACTION", action).replace("$TRAP", t.trap("swapped"))
    swapper = t.session()
    turn = t.say(swapper, "play " + json.dumps([shell(command)]))
    t.until(lambda: os.path.exists(t.path("ready")), "the command beside runs")
    for _ in range(2):
        t.run(t.child(shell("echo more >> a.txt")))
    t.write("stop", "")
    t.follow(swapper, turn)
    t.nothing_ran_outside()


spread("git", PAIR, {f"beside-{name}": action for name, action in ACTIONS.items()}, beside, ("beside-commondir", "beside-commondir-renamed"))


@case("git/beside-in-one-answer", ALL)
def beside_in_one_answer(t):
    """The same from one answer of the model, with calls side by side."""
    t.repository()
    command = SWAP.replace("ACTION", ACTIONS["commondir"]).replace("$TRAP", t.trap("swapped")).replace("+4", "+2")
    t.run(side_by_side(shell(command), t.child(shell("while [ ! -e a.txt ]; do :; done; echo more >> a.txt"))))
    t.nothing_ran_outside()


@case("git/child-plants-for-its-own-end", PAIR)
def own_end(t):
    """A child changes what git keeps of its worktree, before the daemon looks at what it changed."""
    t.repository()
    plant = f"""
    D=$(git rev-parse --git-dir); mkdir -p e/info; C=$(git rev-parse --git-common-dir)
    cp -r $C/* e/ 2>/dev/null; rm -rf e/objects; ln -s $C/objects e/objects; printf '[filter "\\xff"]\\n\\tclean = "{t.trap("end")}; cat"\\n' >> e/config
    printf '* filter=x\\na.txt filter=\\xff\\n' > e/info/attributes; printf '[filter "x"]\\n\\tclean = "{t.trap("end")}; cat"\\n' >> e/config
    echo "$PWD/e" > $D/commondir; cp e/config $D/config.worktree; echo "gitdir: $PWD/e" > .git; echo more >> a.txt"""
    t.run(t.child(shell(plant)), call("task_control", task_id="$CHILD", action="merge"))
    t.nothing_ran_outside()


@case("git/no-sandbox-first-message", (USER_BWRAP,))
def no_sandbox(t):
    """Where nothing confines, git of an untrusted repository runs only after somebody agreed."""
    t.repository()
    not_utf8(t)
    t.write("a.txt", "other\n")
    t.start(more='[sandbox]\nmode = "off"\n')
    t.run(call("git_status"), policy={"approval": {"require_for_kinds": ["write", "exec", "network"]}})
    t.nothing_ran_outside()


# A repository directory in the workspace that is not called `.git`: what a `.git` file says, and where it leads.
POINTED = {
    "beside": ("gitdir: ./.bare\n", ".bare"),
    "deep": ("gitdir: sub/a/b/store\n", "sub/a/b/store"),
    "absolute": ("gitdir: {work}/.bare\n", ".bare"),
    "no-line-end": ("gitdir: .bare", ".bare"),
    "blank-at-end": ("gitdir: .bare \n", ".bare "),
    "not-utf8": (b"gitdir: ./.b\xff\n", b".b\xff"),
}


def pointed_at(t, row):
    """A command writes hooks and settings into the repository directory that a `.git` file leads to; the user's git runs them."""
    text, name = row
    text, name = (os.fsencode(part) for part in (text, name))
    t.repository()
    directory = os.path.join(os.fsencode(t.work), name)
    os.makedirs(os.path.dirname(directory), exist_ok=True)
    os.rename(t.path(".git"), directory)
    t.write(".git", text.replace(b"{work}", os.fsencode(t.work)))
    t.git("status")
    word = "$(printf '" + "".join(f"\\{byte:03o}" for byte in name) + "x')"
    evil = f"#!/bin/sh\n{t.trap('hook')}\n"
    t.write("evil", evil, 0o755)
    plant = f'd={word}; d="${{d%x}}"; mkdir -p "$d/hooks"; cp evil "$d/hooks/post-commit"; git config --file "$d/config" core.fsmonitor "$PWD/evil"; true'
    turn = t.play(t.session(), shell(plant))
    # A sandbox that cannot hold such a name runs nothing.
    if name.isascii():
        t.must_have_run(turn)
    t.git("status", check=False)
    t.git("commit", "--allow-empty", "-m", "second", check=False)
    t.nothing_ran_outside()


spread("git/pointed-at", ALL, POINTED, pointed_at, everywhere=("beside",))


@case("git/clean-tree-without-a-sandbox", (USER_BWRAP,))
def clean_without_sandbox(t):
    """The check for a clean tree in an untrusted repository, where the owner has turned the sandbox off."""
    t.repository()
    plain_filter(t)
    config(t, f'[core]\n\tfsmonitor = "{t.trap("fsmonitor")}; true"\n')
    t.start(more='[sandbox]\nmode = "off"\n')
    t.run(call("write_file", path="b.txt", content="b\n"), policy=STRICT, answer="approve")
    t.nothing_ran_outside()


@case("git/clean-tree-runs-nothing-of-the-repository", PAIR)
def clean_confined(t):
    """The same in a sandbox: what the repository names does not run there either."""
    t.repository()
    t.write("monitor", "#!/bin/sh\ntouch ran\n", 0o755)
    t.git("add", "-A")
    t.git("commit", "--quiet", "-m", "second")
    config(t, '[core]\n\tfsmonitor = "touch ran; ./monitor"\n[filter "x"]\n\tclean = "touch ran; cat"\n')
    attributes(t, "* filter=x\n")
    turn = t.run(call("write_file", path="a.txt", content="two\n"), policy=STRICT, answer="approve")
    t.must(turn.of("verification_completed"), "nothing was checked, so this shows nothing")
    t.must(t.read("ran") is None, "a program of the repository ran")
