"""Ways out of the sandbox by system calls, sockets and files, and protected settings that a command changes or makes for later."""

import json
import os
import socket

from harness.attempt import Attempt, call, shell
from harness.registry import ALL, BWRAP, ROOT_LANDLOCK, USER_BWRAP, Case, case, cases, spread

PAIR = (ROOT_LANDLOCK, USER_BWRAP)

# Each is an expression that is true when the call got through. They run one after the other in one confined process per
# configuration, each in a child of its own.
CALLS = {
    "mount": 's(165,b"none",b"/tmp",b"tmpfs",0,None)==0', "mount-bind": 's(165,b"/",b"/tmp",None,4096,None)==0', "remount": 's(165,None,b"/",None,32|4096,None)==0', "unmount": 's(166,b"/proc",2)==0', "fsopen": 's(430,b"tmpfs",0)>=0',
    "open-tree": 's(428,-100,b"/",1)>=0', "move-mount": 's(429,0,b"",-100,b"/tmp",4)==0', "mount-setattr": 's(442,-100,b"/",0,bytes(32),32)==0', "fspick": 's(433,-100,b"/",0)>=0', "pivot-root": 's(155,b"/tmp",b"/tmp")==0', "chroot": 's(161,b"/")==0',
    "unshare-user": "s(272,0x10000000)==0", "unshare-mount": "s(272,0x20000)==0", "unshare-pid": "s(272,0x20000000)==0", "unshare-net": "s(272,0x40000000)==0", "unshare-both": "s(272,0x10020000)==0", "clone-user": "clone(56,0x10000000)", "clone3": "s(435,bytes(88),88)>=0", "setns": 's(308,os.open("/proc/self/ns/mnt",0),0)==0',
    "ptrace-parent": "s(101,16,os.getppid(),0,0)==0", "ptrace-me": "s(101,0,0,0,0)==0", "process-vm-write": "s(311,os.getppid(),bytes(16),1,bytes(16),1,0)>=0", "pidfd-getfd": "s(438,s(434,os.getppid(),0),0,0)>=0", "kcmp": "s(312,os.getpid(),1,0,0,0)>=0",
    "add-key": 's(248,b"user",b"x",b"y",1,-3)>0', "request-key": 's(249,b"user",b"x",None,-3)>0', "keyctl": "s(250,0,-3,1)>0", "keyctl-session": "s(250,1,None)>0", "io-uring": "s(425,8,bytes(120))>=0", "userfaultfd": "s(323,0)>=0 or s(323,1)>=0", "bpf": "s(321,0,bytes(128),128)>=0", "perf": "s(298,bytes(128),0,-1,-1,0)>=0",
    "fanotify": "s(300,0,0)>=0", "open-by-handle": 's(304,-100,bytes(32),0)>=0', "name-to-handle": 's(303,-100,b"/etc",(8).to_bytes(4,"little")+bytes(28),bytes(4),0)>=0 and False', "quota": 's(179,0x800007,None,0,bytes(64))==0', "swap": 's(167,b"/tmp/x",0)==0', "reboot": "s(169,0xfee1dead,672274793,0,None)==0", "hostname": 's(170,b"x",1)==0',
    "settimeofday": "s(164,bytes(16),None)==0", "clock-settime": "s(227,0,bytes(16))==0", "module": 's(175,b"",0,b"")==0', "finit-module": 's(313,0,b"",0)==0', "kexec": "s(246,0,0,None,0)==0", "accounting": 's(163,b"/tmp/a")==0', "iopl": "s(172,3)==0", "ioperm": "s(173,0x80,1,1)==0", "syslog": "s(103,3,bytes(64),64)>=0 and False", "lookup-cookie": "s(212,0,None,0)>=0",
    "personality": "s(135,0x0040000)>=0 and False", "seccomp-notify": "s(317,1,8,bytes(16))>=0", "landlock-off": "s(157,22,0,0,0,0)==0", "setuid-other": "s(105,12345)==0", "setgroups": "s(116,0,None)==0", "capset": "s(126,(0x20080522).to_bytes(4,'little')+bytes(4),b'\\xff'*24)==0", "no-new-privileges-off": "s(157,38,0,0,0,0)==0", "ambient": "s(157,47,2,21,0,0)==0",
    "socket-unix": "sock(1,1)", "socket-unix-datagram": "sock(1,2)", "socket-unix-packet": "sock(1,5)", "socket-netlink-audit": "sock(16,3,9)", "socket-packet": "sock(17,3)", "socket-raw": "sock(2,3,1)", "socket-vsock": "sock(40,1)", "socket-alg": "sock(38,5)", "socket-xdp": "sock(44,3)", "socket-bluetooth": "sock(31,3)", "socket-can": "sock(29,3)", "socket-key": "sock(15,3,2)", "socket-tipc": "sock(30,1)", "socket-smc": "sock(43,1)", "socket-kcm": "sock(41,2)", "socket-qipcrtr": "sock(42,2)", "socket-sctp": "sock(2,1,132)", "socket-high-bits": "s(41,ctypes.c_uint64(1<<32|1),1,0)>=0",
    "socketpair-datagram": "s(53,1,2,0,bytes(8))==0", "x32-socket": "s(0x40000000|41,1,1,0)>=0", "x32-ptrace": "s(0x40000000|521,0,0,0,0)>=0", "mknod-device": 's(133,b"/tmp/dev",0o60666,0x800)==0', "mknod-null": 's(133,b"/tmp/null",0o20666,0x103)==0', "dev-mem": 'opens("/dev/mem")', "dev-kmsg": 'opens("/dev/kmsg")', "dev-disk": "any(opens(p) for p in glob.glob('/dev/[snv]d*')+glob.glob('/dev/nvme*'))",
    "dev-userfaultfd": 'opens("/dev/userfaultfd")', "dev-screen": 'opens("/dev/vcs")', "dev-console": 'opens("/dev/tty1") or opens("/dev/ttyS0")', "dev-others": "any_opens('/dev')", "dev-kvm": 'opens("/dev/kvm")', "dev-fuse": 'opens("/dev/fuse")', "dev-tun": 'opens("/dev/net/tun")', "dev-uinput": 'opens("/dev/uinput")', "dev-loop": 'opens("/dev/loop-control")', "terminal-inject": "ioctl_on_tty(0x5412,b'x')", "terminal-inject-high-bits": "s(16,0,ctypes.c_uint64(1<<32|0x5412),b'x')==0", "terminal-linux": "ioctl_on_tty(0x541C,b'\\x02')", "proc-sysrq": 'opens("/proc/sysrq-trigger","w")', "proc-core-pattern": 'opens("/proc/sys/kernel/core_pattern","w")',
    "proc-modprobe": 'opens("/proc/sys/kernel/modprobe","w")', "proc-kcore": 'opens("/proc/kcore")', "sys-power": 'opens("/sys/power/state","w")', "sys-uevent": 'opens("/sys/kernel/uevent_helper","w")', "cgroup-release": "any(opens(p,'w') for p in glob.glob('/sys/fs/cgroup/**/cgroup.procs',recursive=True)[:20])", "cgroup-mkdir": 'makes("/sys/fs/cgroup/x")', "proc-init-root": 'os.path.exists("/proc/1/root/etc/shadow") and opens("/proc/1/root/etc/shadow")', "shadow": 'opens("/etc/shadow")',
    "inherited-descriptors": 'len([f for f in os.listdir("/proc/self/fd") if int(f)>3 and os.path.exists("/proc/self/fd/"+f)])>0', "write-etc": 'opens("/etc/ostler-attack","w")', "write-usr": 'opens("/usr/ostler-attack","w")', "write-home": 'opens(HOME+"/other-project/ostler-attack","w")', "write-daemon-memory": 'opens("/proc/PID/mem","r+b")', "daemon-environment": 'b"ATTACK_KEY" in open("/proc/PID/environ","rb").read()', "daemon-files": 'len([os.readlink("/proc/PID/fd/"+f) for f in os.listdir("/proc/PID/fd")])>0', "daemon-root": 'os.path.exists("/proc/PID/root/etc")',
    "daemon-cwd": 'os.path.exists("/proc/PID/cwd/config.toml")', "daemon-maps": 'len(open("/proc/PID/maps").read())>0', "daemon-signal-0": "os.kill(DAEMON,0) is None", "daemon-stop": "os.kill(DAEMON,18) is None", "token": 'len(open(DATA+"/token").read())>0', "data-listing": "\"token\" in os.listdir(DATA)", "other-workspaces": 'len(open(HOME+"/other-project/.env").read())>0', "tcp-daemon": "tcp(PORT)", "tcp-model": "tcp(MODEL)", "udp-out": "s(44,s(41,2,2,0),b'x',1,0,b'\\x02\\x00\\x005\\x08\\x08\\x08\\x08'+bytes(8),16)==1",
    "abstract-socket": 'connects("\\0ostler-attack-CONFIG")', "daemon-socket": 'connects(DATA+"/ostler.sock")', "memfd-exec": "False", "binfmt": 'opens("/proc/sys/fs/binfmt_misc/register","w")', "uid-map": 'opens("/proc/self/uid_map","w") and s(1,os.open("/proc/self/uid_map",1),b"0 0 1",5)==5', "debugfs": 'len(os.listdir("/sys/kernel/debug"))>0', "core-dump": "__import__('resource').getrlimit(4)[1]!=0", "escape-by-dotdot": 'opens("/proc/self/cwd/../../../../../../../../../../"+DATA+"/token")',
}
for dud in ("name-to-handle", "syslog", "personality", "memfd-exec"):
    del CALLS[dud]

PROBE = """
import ctypes, glob, json, os, signal, socket, sys
libc = ctypes.CDLL(None, use_errno=True)
def s(*words):
    return libc.syscall(*[ctypes.c_long(word) if isinstance(word, int) else word for word in words])
def sock(family, kind, protocol=0):
    return s(41, family, kind, protocol) >= 0
def opens(path, mode="rb"):
    open(path, mode).close()
    return True
def any_opens(top):
    fair = {"null", "zero", "full", "random", "urandom", "tty", "ptmx"}
    for name in os.listdir(top):
        path = os.path.join(top, name)
        if name in fair or os.path.islink(path) or os.path.isdir(path):
            continue
        try:
            os.close(os.open(path, os.O_RDONLY | os.O_NONBLOCK | os.O_NOCTTY))
            return True
        except OSError:
            pass
    return False
def makes(path):
    os.mkdir(path)
    return True
def clone(number, flags):
    pid = s(number, flags | 17, 0, 0, 0, 0)
    if pid == 0:
        os._exit(0)
    return pid > 0
def ioctl_on_tty(request, data):
    return s(16, os.open("/dev/tty", os.O_RDWR), request, data) == 0
def tcp(port):
    socket.create_connection(("127.0.0.1", port), 2).close()
    return True
def connects(path):
    socket.socket(socket.AF_UNIX).connect(path)
    return True
given = json.load(open("probe.json"))
HOME, DATA, PORT, MODEL, DAEMON = given["home"], given["data"], given["port"], given["model"], given["pid"]
for name, code in given["calls"].items():
    read, write = os.pipe()
    pid = os.fork()
    if pid == 0:
        os.dup2(write, 3) if write != 3 else None
        os.closerange(4, 64)
        signal.alarm(5)
        try:
            got = bool(eval(code.replace("PID", str(DAEMON)).replace("CONFIG", given["config"])))
        except BaseException:
            got = False
        os.write(3, b"GOT" if got else b"no")
        os._exit(0)
    os.close(write)
    said = os.read(read, 3)
    os.close(read)
    os.waitpid(pid, 0)
    print(name, said.decode() or "killed")
"""


def probed(t):
    """What each call came to in this configuration; tried once."""
    stage = t.stage
    with stage.lock:
        if "probe" not in stage.memo:
            stage.memo["probe"] = {}
            one = Attempt(stage, Case("confinement/the-probe", ALL, None))
            given = {"home": stage.home, "data": stage.daemon.data, "pid": stage.daemon.pid, "port": int(stage.daemon.address.split(":")[1]),
                     "model": int(stage.model.address.split(":")[1]), "config": stage.config, "calls": CALLS}
            one.write("probe.json", json.dumps(given))
            one.write("probe.py", PROBE)
            os.makedirs(os.path.join(stage.home, "other-project"), exist_ok=True)
            one.write(os.path.join(stage.home, "other-project", ".env"), "KEY=x\n")
            listener = socket.socket(socket.AF_UNIX)
            listener.bind(f"\0ostler-attack-{stage.config}")
            listener.listen()
            text = one.run(shell("/usr/bin/python3 -I probe.py")).text
            listener.close()
            stage.memo["probe"] = dict(line.split() for line in text.splitlines() if len(line.split()) == 2)
    return stage.memo["probe"]


def held(t, name):
    said = probed(t).get(name)
    t.must(said in ("no", "killed"), f"{name}: {said or 'was not tried'}")


# What only a network or process namespace of its own gives.
NOT_LANDLOCK = {"daemon-signal-0"}
for name in CALLS:
    case(f"confinement/call-{name}", ALL if name not in NOT_LANDLOCK else BWRAP)(lambda t, name=name: held(t, name))


@case("confinement/nothing-was-written", ALL)
def nothing_written(t):
    probed(t)
    for path in ("/etc/ostler-attack", "/usr/ostler-attack", os.path.join(t.home, "ostler-attack")):
        t.must(not os.path.exists(path), f"{path} was written")


# Settings that git obeys, made or changed by a command for the user's own git to find.

USERS_GIT = [("status",), ("diff",), ("add", "-A"), ("commit", "--allow-empty", "-qm", "x"), ("stash",), ("log", "-1")]


def users_git(t):
    """What the user does afterwards, without any guard."""
    for words in USERS_GIT:
        t.git(*words, check=False)


MISSING = {
    "include": ("[include]\n\tpath = ../.gitconfig.local\n", ".gitconfig.local", "config"),
    "include-in-git": ("[include]\n\tpath = local.inc\n", ".git/local.inc", "config"),
    "include-if": ('[includeIf "gitdir:/"]\n\tpath = ../conf/git.inc\n', "conf/git.inc", "config"),
    "include-absolute": ("[include]\n\tpath = WORK/abs.inc\n", "abs.inc", "config"),
    "hooks-path": ("[core]\n\thooksPath = .githooks\n", ".githooks/pre-commit", "hook"),
    "hooks-path-deep": ("[core]\n\thooksPath = tools/git/hooks\n", "tools/git/hooks/pre-commit", "hook"),
    "hooks-path-husky": ("[core]\n\thooksPath = .husky/_\n", ".husky/_/pre-commit", "hook"),
    "worktree-config": ("[extensions]\n\tworktreeConfig = true\n", ".git/config.worktree", "config"),
    "hooks-directory": ("", ".git/hooks/pre-commit", "hook"),
    "commondir": ("", ".git/commondir", "commondir"),
}


def missing(t, row):
    """The settings name something that is not there yet."""
    settings, path, kind = row
    t.repository()
    with open(t.path(".git/config"), "a") as file:
        file.write(settings.replace("WORK", t.work))
    if path == ".git/hooks/pre-commit":
        t.remove(".git/hooks")
    evil = {"config": f'[core]\n\tfsmonitor = "{t.trap("planted")}; false"\n', "hook": f"#!/bin/sh\n{t.trap('planted')}\n", "commondir": t.path("evil.git") + "\n"}[kind]
    t.write("evil", evil)
    t.run(shell(f"cp -r .git evil.git; cat evil >> evil.git/config; mkdir -p $(dirname {path}); cp evil {path}; chmod +x {path}; true"))
    users_git(t)
    t.nothing_ran_outside()


cases("confinement", PAIR, {f"missing-{name}": row for name, row in MISSING.items()}, missing)


NAMED = {
    "include": ("[include]\n\tpath = ../local.cfg\n", "local.cfg", "config"),
    "hooks-path": ("[core]\n\thooksPath = tools/hooks\n", "tools/hooks/pre-commit", "hook"),
    "hooks-path-through-link": ("[core]\n\thooksPath = linked/hooks\n", "real/hooks/pre-commit", "hook"),
    "monitor": ("[core]\n\tfsmonitor = tools/monitor\n", "tools/monitor", "hook"),
    "link-in-hooks": ("", "tools/pre-commit", "hook"),
    "monitor-behind-variable": ('[core]\n\tfsmonitor = "$PWD"/tools/monitor\n', "tools/monitor", "hook"),
    "driver": ('[diff "x"]\n\ttextconv = sh tools/text.sh\n', "tools/text.sh", "hook"),
}


def named(t, row):
    """What the user's settings of git name is written by no tool, by no merge and by no command."""
    settings, path, kind = row
    t.repository()
    os.makedirs(t.path("real"))
    os.symlink("real", t.path("linked"))
    t.write(".gitattributes", "*.txt diff=x\n")
    t.write(path, "[core]\n" if kind == "config" else "#!/bin/sh\n", 0o755)
    t.git("add", "-A")
    t.git("commit", "-qm", "more")
    with open(t.path(".git/config"), "a") as file:
        file.write(settings)
    if not settings:
        os.makedirs(t.path(".git/hooks"), exist_ok=True)
        os.symlink("../../" + path, t.path(".git/hooks/pre-commit"))
    evil = {"config": f'[core]\n\tfsmonitor = "{t.trap("named")}; false"\n', "hook": f"#!/bin/sh\n{t.trap('named')}\n"}[kind]
    steps = [call("write_file", path=path, content=evil), call("edit_file", path=path, old="[core]" if kind == "config" else "#!/bin/sh", new=evil)]
    t.write("evil", evil)
    steps.append(shell(f"cp evil {path}; rm -f linked; mkdir -p other/hooks; cp evil other/hooks/pre-commit; chmod +x other/hooks/*; ln -s other linked; true"))
    steps += [t.child(shell(f"cp evil {path}; true")), call("task_control", task_id="$CHILD", action="merge")]
    t.run(*steps)
    t.write("a.txt", "changed\n")
    users_git(t)
    t.nothing_ran_outside()


cases("confinement", PAIR, {f"named-{name}": row for name, row in NAMED.items()}, named)


@case("confinement/settings-of-a-worktree-that-count-later", PAIR)
def later_settings(t):
    """Settings that git does not read yet are not left for the day on which it does."""
    t.repository()
    t.git("worktree", "add", "-q", "--detach", t.path("linked-tree"))
    evil = f'[core]\\n\\tfsmonitor = \\"{t.trap("later")}; false\\"\\n'
    t.run(shell(f'for d in .git .git/worktrees/*; do printf "{evil}" > $d/config.worktree; done; true'))
    t.git("config", "extensions.worktreeConfig", "true")
    users_git(t)
    t.git("-C", t.path("linked-tree"), "status", check=False)
    t.nothing_ran_outside()


REPOSITORY = {"HEAD": "ref: refs/heads/main\n", "objects/info/packs": "\n", "refs/heads/x.txt": "x\n"}


def made_repository(t, place):
    """File tools and merges make no repository out of a directory, in whatever order its files are written."""
    t.write("a.txt", "one\n")
    if place.startswith("in/"):
        t.repository()
    files = dict(REPOSITORY, config=f'[core]\n\trepositoryformatversion = 0\n\tbare = false\n\tworktree = {t.work}\n\tfsmonitor = "{t.trap("made")}; false"\n')
    names = [os.path.join(place, name) for name in files]
    orders = [list(zip(names, files.values())), list(zip(names, files.values()))[::-1]]
    steps = [call("write_file", path=name, content=content) for order in orders for name, content in order]
    patch = "".join(f"*** Add File: {name}\n" + "".join(f"+{line}\n" for line in content.splitlines()) for name, content in orders[0])
    steps.append(call("apply_patch", patch=f"*** Begin Patch\n{patch}*** End Patch\n"))
    if place.startswith("in/"):
        make = "; ".join(f"mkdir -p $(dirname {name})" for name in names)
        copies = "; ".join(f"printf '%s' \"$(cat <<'E'\n{content}E\n)\" > {name}" for name, content in orders[0])
        steps += [t.child(shell(f"{make}; {copies}; true")), call("task_control", task_id="$CHILD", action="merge")]
    t.run(*steps)
    t.git("-C", t.path(place) if os.path.isdir(t.path(place)) else t.work, "status", check=False)
    t.nothing_ran_outside()


cases("confinement", PAIR, {"made-at-the-top": ".", "made-below": "docs", "made-in-a-repository": "in/bare"}, made_repository)


@case("confinement/missing-include-of-an-include", PAIR)
def nested_include(t):
    t.repository()
    t.write("conf/one.inc", "[include]\n\tpath = two.inc\n")
    with open(t.path(".git/config"), "a") as file:
        file.write("[include]\n\tpath = ../conf/one.inc\n")
    evil = f'[core]\\n\\tfsmonitor = \\"{t.trap("nested")}; false\\"\\n'
    t.run(shell(f'printf "{evil}" > conf/two.inc; printf "{evil}" >> conf/one.inc; true'))
    users_git(t)
    t.nothing_ran_outside()


PLANTED_STEPS = {
    "rebase-merge": "mkdir -p .git/rebase-merge; cd .git/rebase-merge; git rev-parse HEAD > onto; git rev-parse HEAD > orig-head; echo refs/heads/main > head-name; touch interactive; echo 1 > msgnum; echo 1 > end; : > done; echo 'exec TRAP' > git-rebase-todo",
    "sequencer": "mkdir -p .git/sequencer; cd .git/sequencer; git rev-parse HEAD > head; echo '[options]' > opts; echo 'exec TRAP' > todo; git rev-parse HEAD > ../CHERRY_PICK_HEAD",
    "real-rebase": "git -c user.name=t -c user.email=t@t -c sequence.editor='f() { printf \"break\\nexec TRAP\\n\" > $1; }; f' rebase -i --root",
}


def planted_todo(t, how):
    """A list of steps that `git rebase --continue` of the user would carry out."""
    t.repository()
    t.run(shell(how.replace("TRAP", t.trap("todo")) + "; true"))
    t.git("status", check=False)
    t.git("-c", "core.editor=true", "rebase", "--continue", check=False)
    t.git("-c", "core.editor=true", "cherry-pick", "--continue", check=False)
    t.nothing_ran_outside()


cases("confinement", PAIR, {f"todo-{name}": how for name, how in PLANTED_STEPS.items()}, planted_todo)

CHANGES = {
    "append": "echo evil >> F", "truncate": ": > F", "remove": "rm -f F", "rename-over": "cp a.txt c; mv c F", "rename-away": "mv F moved", "hard-link": "ln F h && echo evil >> h", "link-over": "ln -sf ../a.txt F", "parent-away": "mv $(dirname F) gone && mkdir $(dirname F) && echo evil > F",
    "exchange": "echo evil > e; /usr/bin/python3 -I -c 'import ctypes;ctypes.CDLL(None).syscall(316,-100,b\"F\",-100,b\"e\",2)'", "dd": "dd if=a.txt of=F conv=notrunc", "git-config": "git config --file F x.y evil", "python-mmap": "/usr/bin/python3 -I -c 'import os,mmap;f=os.open(\"F\",2);os.ftruncate(f,9);mmap.mmap(f,9)[:4]=b\"evil\"'",
    "chmod": "chmod 000 F", "times": "touch -d @417417417 F", "proc-self": "echo evil >> /proc/self/cwd/F", "through-link": "ln -s . here; echo evil >> here/F", "git-dir-away": "mv .git .g2; mkdir -p $(dirname F); echo evil > F", "later": "(sleep 0.3; echo evil >> F) & exit 0", "xattr": "setfattr -n user.x -v y F; setfacl -m u:1:rw F; false", "open-before": "exec 3>>F; echo evil >&3",
}


def change(t, how):
    """A protected file is as it was when the command has ended."""
    names = (".git/config", ".mcp.json", ".vscode/tasks.json")
    t.repository(files=("a.txt", *names[1:]))
    before = {name: state(t.path(name)) for name in names}
    t.run(*[shell(how.replace("F", name)) for name in names])
    t.until(lambda: {name: state(t.path(name)) for name in names} == before, "the protected files are as they were", 3)


def state(path):
    try:
        with open(path, "rb") as file:
            return os.lstat(path).st_mode, file.read()
    except OSError as error:
        return str(error.errno)


spread("confinement", PAIR, {f"protected-{name}": how for name, how in CHANGES.items()}, change)


@case("confinement/protected-link", ALL)
def protected_link(t):
    """A protected name that is a link: two commands side by side cannot point it elsewhere for good."""
    from cases.landlock import overlapping
    t.repository()
    t.write("conf/claude/settings.json", "{}")
    os.symlink("conf/claude", t.path(".claude"))
    evil = "mkdir -p evil; echo evil > evil/settings.json; ln -sfn evil .claude; ln -sfn evil conf/claude; mv conf/claude conf/c2; ln -s ../evil conf/claude"
    overlapping(t, evil, evil)
    t.until(lambda: os.path.islink(t.path(".claude")) and os.readlink(t.path(".claude")) == "conf/claude", "the link is as it was", 3)
    t.must(t.read(".claude/settings.json") == b"{}", "what the link leads to was changed")


@case("confinement/protected-link-target", ALL)
def protected_target(t):
    t.repository()
    t.write("conf/claude/settings.json", "{}")
    os.symlink("conf/claude", t.path(".claude"))
    t.run(shell("echo evil > conf/claude/settings.json"), shell("mv conf elsewhere; mkdir -p conf/claude; echo evil > conf/claude/settings.json"))
    t.until(lambda: t.read(".claude/settings.json") == b"{}", "the protected target is as it was", 3)


@case("confinement/placeholder-date-hides-nothing", PAIR)
def placeholder_date(t):
    """A small file with a certain date is still part of what a turn changed."""
    t.repository(files=("a.txt", "b"))
    session = t.session()
    turn = t.play(session, shell("printf x > b; touch -d @417417417 b; printf y > new; touch -d @417417417 new; for f in b new; do chmod 444 $f; done; truncate -s 2 new; touch -d @417417417 new"))
    shown = t.daemon.request("GET", f"/v1/sessions/{session}/turns/{turn.id}/diff")[1]
    kinds = {file["path"]: file["kind"] for file in shown.get("files", [])}
    t.must(kinds.get("b") == "modified" and kinds.get("new") == "added", f"a date hides changes: {kinds}")


@case("confinement/repository-in-the-workspace-is-told", PAIR)
def nested_repository(t):
    """A repository with a trap, five directories deep: whoever reads the result is told."""
    t.repository()
    turn = t.run(shell(f"mkdir -p a/b/c/d/e; cd a/b/c/d/e; git init -q .; git config core.fsmonitor '{t.trap('deep')}; false'"))
    t.must("fsmonitor" in json.dumps([record for record in turn.records if record["type"] != "tool_call_started" and "fsmonitor'" not in json.dumps(record)]) or "fsmonitor" in turn.text, "a repository with a trap was made, and nobody is told")
