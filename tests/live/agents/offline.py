"""Cuts this process off from every network but loopback, where the machine lets it."""

import fcntl
import os
import shutil
import socket
import struct
import subprocess
import sys

INSIDE = "OSTLER_TEST_OFFLINE"
SIOCSIFFLAGS, UP_AND_RUNNING = 0x8914, 0x41


def go():
    """Starts this program again in a network of its own. Returns in there, or here where that cannot be had."""
    if os.environ.pop(INSIDE, None):
        with socket.socket() as any_socket:
            fcntl.ioctl(any_socket, SIOCSIFFLAGS, struct.pack("16sh", b"lo", UP_AND_RUNNING))
        return True
    unshare = ["unshare", "--net"] if os.geteuid() == 0 else ["unshare", "--map-root-user", "--net"]
    if not shutil.which("unshare") or subprocess.run([*unshare, "true"], capture_output=True).returncode:
        return False
    os.execvpe(unshare[0], [*unshare, sys.executable, *sys.argv], {**os.environ, INSIDE: "1"})
