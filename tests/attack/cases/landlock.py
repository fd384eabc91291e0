"""Confined commands against the user's other processes, terminals and files, and against protected files by working side by side."""

import json
import os
import pty
import resource
import stat
import subprocess

from harness.attempt import shell
from harness.registry import ALL, LANDLOCK, ROOT_BWRAP, ROOT_LANDLOCK, USER_BWRAP, USER_LANDLOCK, case, cases, spread

PAIR = (ROOT_LANDLOCK, USER_BWRAP)
PYTHON = "/usr/bin/python3 -I -c"
CTYPES = "import ctypes,os,sys;s=ctypes.CDLL(None,use_errno=True).syscall;"


def python(code):
    """A step that runs Python code, which must not hold single quotes."""
    return shell(f"{PYTHON} '{CTYPES}{code}'")


# Two commands side by side: what the first plants is not what the second puts back.

TARGETS = [".git/config", ".git/hooks/pre-commit", ".ostler/config.toml", ".mcp.json", ".claude/settings.json", ".envrc", ".vscode/tasks.json", ".husky/pre-commit", ".git/config.worktree"]
WAIT = 'for i in $(seq 150); do [ -e {} ] && break; sleep 0.02; done'


def overlapping(t, first, second, background=False):
    """Starts the second command while the first one runs, and has the first end before the second."""
    one, two = t.session(), t.session()
    begin = t.say(one, "play " + json.dumps([shell(f"{first}; touch planted; {WAIT.format('joined')}", background=background)]))
    t.until(lambda: os.path.exists(t.path("planted")) or ended(t, one), "the first command has planted")
    then = t.say(two, "play " + json.dumps([shell(f"touch joined; {WAIT.format('go')}; {second}")]))
    t.follow(one, begin)
    if background:
        t.daemon.request("DELETE", f"/v1/sessions/{one}")
    t.write("go", "")
    t.follow(two, then)
    t.must(os.path.exists(t.path("joined")) and (background or os.path.exists(t.path("planted"))), "the commands did not run, so this shows nothing")
    t.daemon.request("DELETE", f"/v1/sessions/{one}")


def ended(t, session):
    return t.daemon.ask("GET", f"/v1/sessions/{session}")["running_turn_id"] is None


def plant(path):
    return f"mkdir -p {os.path.dirname(path) or '.'}; echo '# evil' >> {path}; chmod +x {path}"


def side_by_side(t, path):
    t.repository()
    t.git("config", "extensions.worktreeConfig", "true")
    before = t.read(path)
    overlapping(t, plant(path), "true")
    t.until(lambda: t.read(path) == before, f"{path} is as it was", 3)


spread("landlock", (ROOT_LANDLOCK, USER_BWRAP, USER_LANDLOCK, ROOT_BWRAP), {f"side-by-side-{path}": path for path in TARGETS}, side_by_side, ("side-by-side-.git/config", "side-by-side-.mcp.json"))


@case("landlock/side-by-side-background", ALL)
def in_background(t):
    t.repository()
    before = t.read(".git/config")
    overlapping(t, plant(".git/config"), "true", background=True)
    t.until(lambda: t.read(".git/config") == before, ".git/config is as it was", 5)


@case("landlock/side-by-side-removed", ALL)
def removed(t):
    """The first removes what is protected, the second would keep it removed."""
    t.repository(files=("a.txt", ".mcp.json", ".envrc"))
    overlapping(t, "rm -f .mcp.json .envrc .git/config", "true")
    t.until(lambda: all(t.read(name) for name in (".mcp.json", ".envrc", ".git/config")), "the protected files are back", 3)


@case("landlock/three-in-a-row", LANDLOCK)
def three(t):
    """A chain of commands, each of which starts before the one before it has ended."""
    t.repository()
    before = t.read(".git/config")
    for _ in range(2):
        overlapping(t, plant(".git/config"), plant(".git/config"))
        for name in ("planted", "joined", "go"):
            t.remove(name)
    t.until(lambda: t.read(".git/config") == before, ".git/config is as it was", 3)


@case("landlock/killed-daemon-restores", LANDLOCK)
def killed(t):
    """What a command had planted when the daemon died is not the truth for the next one."""
    t.repository()
    before = t.read(".git/config")
    daemon = t.start()
    session = t.session()
    t.say(session, "play " + json.dumps([shell(f"{plant('.git/config')}; touch planted; sleep 600")]))
    t.until(lambda: os.path.exists(t.path("planted")), "the command has planted")
    daemon.kill()
    t.start(data=daemon.data)
    t.run(shell("true"))
    t.until(lambda: t.read(".git/config") == before, ".git/config is as it was before the command", 3)


SWAPPER = CTYPES + """
away, place = sys.argv[1:]
os.symlink(away, "swap")
while not os.path.exists("stop"):
    s(316, -100, place.encode(), -100, b"swap", 2)
"""


def put_back_race(t, place):
    """While one command swaps a protected directory with a link to outside, others end and have it put back."""
    t.repository(files=("a.txt", ".claude/settings.json", ".vscode/tasks.json"))
    away = os.path.join(t.outside, "away")
    t.write(os.path.join(away, "id_rsa"), t.secret)
    t.write("swapper.py", SWAPPER)
    session = t.session()
    turn = t.say(session, "play " + json.dumps([shell(f"timeout 3 /usr/bin/python3 -I swapper.py {away} {place}; true")]))
    t.until(lambda: os.path.lexists(t.path("swap")) or ended(t, session), "the swapping has begun")
    for number in range(4):
        t.run(shell(f"for i in $(seq 40); do echo evil > {place}/f{number}-$i; done 2>/dev/null; true"))
    t.write("stop", "")
    t.follow(session, turn)
    t.must(os.listdir(away) == ["id_rsa"], f"written outside: {sorted(os.listdir(away))[:3]}")
    for top, _, names in os.walk(t.work):
        for name in names:
            with open(os.path.join(top, name), "rb") as file:
                t.must(t.secret.encode() not in file.read(), f"a hidden file was copied to {name}")


cases("landlock", LANDLOCK, {f"put-back-race-{place}": place for place in (".git/hooks", ".claude", ".vscode")}, put_back_race)

# Modes.


@case("landlock/chmod-of-the-token", ALL)
def token_mode(t):
    daemon = t.start()
    t.run(shell(f"chmod 644 {daemon.data}/token; chmod 755 {daemon.data}; chmod -R a+rwx {daemon.data}; chmod 777 {daemon.data}/sessions {daemon.data}/sessions/*"))
    modes = {name: oct(stat.S_IMODE(os.stat(os.path.join(daemon.data, name)).st_mode)) for name in ("token", ".", "sessions")}
    t.must(modes == {"token": "0o600", ".": "0o700", "sessions": "0o700"}, f"a command changed modes of the daemon's data: {modes}")


SET_ID = {
    "chmod": "chmod 4755 {}", "chmod-symbolic": "chmod u+s,g+s {}", "fchmod": "/usr/bin/python3 -I -c 'import os;os.fchmod(os.open(\"{0}\",0),0o6755)'", "install": "install -m 4755 /bin/true {0}.new",
    "fchmodat2": PYTHON + " '" + CTYPES + "s(452,-100,b\"{0}\",0o6755,0)'", "open": PYTHON + " 'import os;os.umask(0);os.open(\"{0}.new\",os.O_CREAT|os.O_WRONLY,0o6755)'",
    "mknod": PYTHON + " 'import os;os.umask(0);os.mknod(\"{0}.new\",0o106755)'", "creat": PYTHON + " '" + CTYPES + "os.umask(0);s(85,b\"{0}.new\",0o6755)'",
    "openat2": PYTHON + " '" + CTYPES + "import struct;os.umask(0);how=struct.pack(\"QQQ\",65,0o6755,0);s(437,-100,b\"{0}.new\",how,24)'", "tar": "cp /bin/true t; tar --mode=6755 -cf t.tar t; tar -xpf t.tar --transform=s,t,{0}.new,",
    "cp-mode": "cp --preserve=mode /usr/bin/passwd {0}.new; cp --preserve=mode /usr/bin/su {0}.new2", "chmod-of-link": "ln -s {0} l; chmod 4755 l", "rsync-like": PYTHON + " 'import shutil;shutil.copymode(\"/usr/bin/su\",\"{0}\")'",
    "io-uring": PYTHON + " '" + CTYPES + "s(425,8,bytes(120))' ; chmod ug+s {0}",
}


def set_id(t, line):
    """Neither a file of the workspace nor one outside gets a set-id bit."""
    target = t.write(os.path.join(t.outside, "tool"), "x", 0o755)
    t.write("tool", "x", 0o755)
    t.run(shell(line.replace("{0}", "tool").replace("{}", "tool")), shell(line.replace("{0}", target).replace("{}", target)))
    for place in (t.work, t.outside):
        for top, _, names in os.walk(place):
            for name in names:
                mode = os.lstat(os.path.join(top, name)).st_mode
                t.must(not mode & (stat.S_ISUID | stat.S_ISGID), f"{name} has mode {mode:o}")


cases("landlock", PAIR, {f"set-id-{name}": line for name, line in SET_ID.items()}, set_id)

# Other processes of the user.


def victim_of(t):
    child = subprocess.Popen(["sleep", "600"])
    t.children.append(child)
    return child


def unchanged(child):
    pid = child.pid
    with open(f"/proc/{pid}/oom_score_adj") as file:
        oom = file.read().strip()
    return {
        "limits": [resource.prlimit(pid, kind) for kind in (resource.RLIMIT_CPU, resource.RLIMIT_FSIZE, resource.RLIMIT_NOFILE, resource.RLIMIT_CORE)],
        "affinity": sorted(os.sched_getaffinity(pid)), "scheduler": os.sched_getscheduler(pid), "priority": os.getpriority(os.PRIO_PROCESS, pid),
        "alive": child.poll() is None, "group": os.getpgid(pid), "oom": oom, "io": ioprio(pid),
    }


def ioprio(pid):
    import ctypes
    return ctypes.CDLL(None).syscall(252, 1, pid)


REACH = {
    "prlimit-cpu": "import resource;resource.prlimit(PID,resource.RLIMIT_CPU,(1,1))", "prlimit-file-size": "import resource;resource.prlimit(PID,resource.RLIMIT_FSIZE,(0,0))",
    "prlimit-files": "import resource;resource.prlimit(PID,resource.RLIMIT_NOFILE,(3,3))", "prlimit-high-bits": "b=(ctypes.c_uint64*2)(0,0);s(302,ctypes.c_uint64(PID|1<<40),1,b,None)",
    "affinity": "os.sched_setaffinity(PID,{0})", "scheduler": "os.sched_setscheduler(PID,os.SCHED_BATCH,os.sched_param(0))", "scheduler-attributes": "import struct;s(314,PID,struct.pack(\"IIQiIQQQ\",48,3,0,5,0,0,0,0),0)",
    "priority": "os.setpriority(os.PRIO_PROCESS,PID,15)", "io-priority": "s(251,1,PID,(3<<13)|7)", "kill": "os.kill(PID,15)", "kill-thread": "s(234,PID,PID,9)",
    "kill-descriptor": "s(424,s(434,PID,0),9,None,0)", "queue-signal": "s(129,PID,15,b\"\\0\"*128)", "kill-group": "os.killpg(GROUP,15)", "process-group": "os.setpgid(PID,0)", "out-of-memory": "open(\"/proc/PID/oom_score_adj\",\"w\").write(\"900\")",
    "attach": "s(101,16,PID,0,0)", "seize": "s(101,0x4206,PID,0,0);s(101,0x4207,PID,0,0)", "memory": "open(\"/proc/PID/mem\",\"rb\").read(1);print(\"GOT\")", "read-memory": "import ctypes as c;b=c.create_string_buffer(8);v=(c.c_uint64*2)(c.addressof(b),8);print(\"GOT\" if s(310,PID,v,1,v,1,0)>=0 else 0)",
    "release": "s(448,s(434,PID,0),0)", "coredump-filter": "open(\"/proc/PID/coredump_filter\",\"w\").write(\"ff\");print(\"GOT\")", "timer-slack": "open(\"/proc/PID/timerslack_ns\",\"w\").write(\"1\");print(\"GOT\")", "environment": "print(\"GOT\" if b\"PATH\" in open(\"/proc/PID/environ\",\"rb\").read() else 0)",
    "clear-references": "open(\"/proc/PID/clear_refs\",\"w\").write(\"1\");print(\"GOT\")", "descriptor": "print(\"GOT\" if s(438,s(434,PID,0),0,0)>=0 else 0)", "robust-list": "print(\"GOT\" if s(274,PID,bytes(8),bytes(8))==0 else 0)", "io-of": "open(\"/proc/PID/io\").read();print(\"GOT\")",
    "working-directory": "os.listdir(\"/proc/PID/cwd\");print(\"GOT\")", "root-directory": "os.listdir(\"/proc/PID/root\");print(\"GOT\")", "move-pages": "print(\"GOT\" if s(256,PID,64,bytes(8),bytes(8))>=0 else 0)",
}


def reach(t, code):
    child = victim_of(t)
    before = unchanged(child)
    code = code.replace("PID", str(child.pid)).replace("GROUP", str(os.getpgid(child.pid)))
    turn = t.run(python(code))
    if child.poll() is None:
        after = unchanged(child)
        after["io"] = before["io"] if "251" not in code else after["io"]
        t.must(after == before, f"another process was changed: { {key: after[key] for key in after if after[key] != before[key]} }")
    t.must(child.poll() is None, "another process was ended")
    t.must("GOT" not in turn.text, "another process was looked into")


spread("landlock", (USER_LANDLOCK, ROOT_LANDLOCK), {f"process-{name}": code for name, code in REACH.items()}, reach)
# These would change every process of the user, so they set what is so anyway and only tell whether they may.
WIDE = {
    "priority-user": "s(141,2,os.getuid(),0)", "priority-group": "s(141,1,GROUP,0)", "io-priority-group": "s(251,2,GROUP,0)", "io-priority-user": "s(251,3,os.getuid(),0)",
}
cases("landlock", LANDLOCK, {f"process-{name}": f"print(\"GOT\" if {code}==0 else 0)" for name, code in WIDE.items()}, reach)


@case("landlock/process-daemon-limits", ALL)
def daemon_limits(t):
    daemon = t.start()
    before = resource.prlimit(daemon.pid, resource.RLIMIT_FSIZE)
    try:
        t.run(python(f"import resource;resource.prlimit({daemon.pid},resource.RLIMIT_FSIZE,(0,0))"))
    except (RuntimeError, OSError):
        t.must(False, "a command ended the daemon by its limits")
    t.must(daemon.process.poll() is None and resource.prlimit(daemon.pid, resource.RLIMIT_FSIZE) == before, "a command changed the daemon's limits")


# Terminals, shared memory, temporary files.


@case("landlock/terminal-written", ALL)
def terminal_written(t):
    master, slave = pty.openpty()
    name = os.ttyname(slave)
    try:
        os.set_blocking(master, False)
        t.run(shell(f"echo {t.secret} > {name}; printf '\\033]0;x\\007' > {name}; exec 3<>{name} && echo {t.secret} >&3"))
        try:
            shown = os.read(master, 4096)
        except BlockingIOError:
            shown = b""
        t.must(t.secret.encode() not in shown, "a command wrote to the user's terminal")
    finally:
        os.close(master)
        os.close(slave)


@case("landlock/terminal-read", ALL)
def terminal_read(t):
    master, slave = pty.openpty()
    name = os.ttyname(slave)
    try:
        os.write(master, (t.secret + "\n").encode())
        turn = t.run(shell(f"timeout 2 head -n 1 < {name}; timeout 2 head -n 1 {name}", pty=False), shell(f"timeout 2 head -n 1 < {name}", pty=True))
        t.must(t.secret not in turn.text, "a command read what was typed at the user's terminal")
    finally:
        os.close(master)
        os.close(slave)


@case("landlock/terminal-of-its-own", ALL)
def own_terminal(t):
    """A command at a terminal still works."""
    turn = t.run(shell("test -t 0 && test -t 1 && echo has-terminal; stty size", pty=True))
    t.must("has-terminal" in turn.text, f"a command with `pty` has no terminal: {turn.text[:200]}")


@case("landlock/shared-memory-is-not-kept", ALL)
def shared_memory(t):
    path = f"/dev/shm/ostler-{t.secret}"
    t.run(shell(f"head -c 100000 /dev/zero > {path}"), python("s(319,b\"x\",0)"), shell(f"/usr/bin/python3 -I -c 'from multiprocessing import shared_memory as m; m.SharedMemory(\"{t.secret}\",True,4096)'"))
    left = [name for name in os.listdir("/dev/shm") if t.secret in name]
    for name in left:
        os.unlink(os.path.join("/dev/shm", name))
    t.must(not left, "a command left files in /dev/shm")


@case("landlock/ipc-is-not-kept", ALL)
def ipc(t):
    """Nothing of System V or POSIX queues outlives a command."""
    def objects():
        return [line for name in ("shm", "msg", "sem") for line in open(f"/proc/sysvipc/{name}").read().splitlines()[1:]]

    before = objects()
    t.run(python("print(s(29,0x5eed,4096,0o1666),s(68,0x5eed,0o1666),s(64,0x5eed,1,0o1666),s(240,b\"ostler\",66,0o666,None))"))
    left = [line for line in objects() if line not in before]
    for kind in "MQS":
        subprocess.run(["ipcrm", f"-{kind}", str(0x5eed)], capture_output=True)
    t.must(not left, f"objects are left: {left}")


@case("landlock/temporary-files-have-a-limit", LANDLOCK)
def temporary_limit(t):
    fill = "cd $TMPDIR; for i in 1 2 3 4 5 6; do fallocate -l 512M f$i || exit 9; done; for i in $(seq 60); do sleep 0.1; done; echo kept-it-all"
    turn = t.run(shell(fill, timeout_seconds=20))
    t.must("kept-it-all" not in turn.text, "a command kept 3 GiB in its temporary directory")
    left = subprocess.run(["du", "-sm", os.path.join(t.daemon.data, "sandbox")], capture_output=True, text=True).stdout
    t.must(int(left.split()[0]) < 1000, f"temporary files are left: {left}")


@case("landlock/temporary-files-are-removed", ALL)
def temporary_removed(t):
    t.run(shell("mkdir -p $TMPDIR/d /tmp/e; echo x > $TMPDIR/d/f; echo x > /tmp/e/ostler-attack; chmod 0 $TMPDIR/d; mkdir $TMPDIR/g && chmod 0500 $TMPDIR/g"))
    t.must(not os.path.exists("/tmp/e/ostler-attack"), "a command wrote to the real /tmp")
    place = os.path.join(t.daemon.data, "sandbox")
    t.until(lambda: not any("d" in folders for _, folders, _ in os.walk(place)), "the temporary files are gone", 5)


@case("landlock/processes-end-with-the-command", ALL)
def processes_end(t):
    name = f"sleep 61{abs(hash(t.secret)) % 10 ** 6}"
    t.run(shell(f"setsid {name} & nohup {name} & (trap '' TERM HUP INT; {name}) & disown -a; (exec -a x {name} &) ; /usr/bin/python3 -I -c 'import os;os.fork() or (os.setsid(),os.fork() or os.execvp(\"sleep\",[\"sleep\",\"{name.split()[1]}\"]))'"))
    from harness import processes
    t.until(lambda: not processes.with_words(name.split()[1]), "no process of the command is left", 5)
