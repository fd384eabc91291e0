"""What runs on this machine, from /proc."""

import os


def all_of():
    return [int(name) for name in os.listdir("/proc") if name.isdigit()]


def read(pid, name):
    try:
        with open(f"/proc/{pid}/{name}", "rb") as file:
            return file.read()
    except OSError:
        return b""


def with_words(text):
    """Processes whose command line holds a text, but for this one."""
    return [pid for pid in all_of() if pid != os.getpid() and text.encode() in read(pid, "cmdline")]


def with_variable(text):
    """Processes whose environment holds a text."""
    return [pid for pid in all_of() if pid != os.getpid() and text.encode() in read(pid, "environ")]


def in_directory(path):
    """Processes that work in a directory or below it."""
    found = []
    for pid in all_of():
        try:
            place = os.readlink(f"/proc/{pid}/cwd")
        except OSError:
            continue
        if place == path or place.startswith(path + "/"):
            found.append(pid)
    return found


def is_confined(pid):
    """Whether a filter of system calls is in force for it, or it has file systems of its own."""
    status = dict(line.split(":", 1) for line in read(pid, "status").decode(errors="replace").splitlines() if ":" in line)
    return status.get("Seccomp", "0").strip() == "2" or namespace(pid) not in (None, namespace("self"))


def namespace(pid):
    try:
        return os.readlink(f"/proc/{pid}/ns/mnt")
    except OSError:
        return None


def command(pid):
    return read(pid, "cmdline").replace(b"\0", b" ").decode(errors="replace").strip()
