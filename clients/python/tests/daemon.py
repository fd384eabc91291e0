"""The built daemon on a temporary data directory, and a proxy in front of it that can cut connections."""

from __future__ import annotations

import os
import re
import socket
import subprocess
import tempfile
import threading
from pathlib import Path
from types import TracebackType
from typing import Any, Self

from ostler_client import Backoff

REPOSITORY = Path(__file__).resolve().parents[3]
BINARY = os.environ.get("OSTLER_BINARY") or str(REPOSITORY / "target" / "debug" / "ostler")
# Tries often, and for long enough on a busy machine.
BACKOFF = Backoff(first=0.02, longest=0.1, tries=300)
SLOWLY = "say one two three four five six seven eight nine ten ä ö ü 😀 eleven twelve slowly"


class Daemon:
    """A daemon that can be killed and started again at the same address. Ends with its `with` block."""

    def __init__(self) -> None:
        self._place = tempfile.TemporaryDirectory(prefix="ostler-client-", ignore_cleanup_errors=True)
        self.place = Path(self._place.name)
        self.workspace = str(self.place / "work")
        self.data = str(self.place / "data")
        os.mkdir(self.workspace)
        config = self.place / "config.toml"
        config.write_text('[models]\ndefault = "demo:demo"\ndiscover = false\n')
        # What any `ostler` of this place is started with.
        self.arguments = ["--data-dir", self.data, "--config", str(config)]
        self.url = self.gateway = ""
        self.restart()

    @property
    def host(self) -> str:
        return self.url.removeprefix("http://")

    @property
    def env(self) -> dict[str, str]:
        inherited = {name: os.environ[name] for name in ("PATH", "HOME") if name in os.environ}
        return {**inherited, "OSTLER_GATEWAY_LISTEN": "127.0.0.1:0", "OSTLER_GATEWAY_WORKSPACE": self.workspace}

    @property
    def options(self) -> dict[str, Any]:
        return {"url": self.url, "token": self.token, "backoff": BACKOFF}

    def restart(self) -> None:
        command = [BINARY, "serve", "--listen", self.host or "127.0.0.1:0", *self.arguments]
        with open(self.place / "stderr", "a") as log:
            self.process = subprocess.Popen(command, stdout=subprocess.PIPE, stderr=log, text=True, env=self.env)
        assert self.process.stdout is not None
        said = ""
        while "the token is in" not in said:
            line = self.process.stdout.readline()
            assert line, f"the daemon ended: {(self.place / 'stderr').read_text()}"
            said += line
        found = re.search(r"ready at (\S+)[^$]*gateway is at (\S+)", said)
        assert found, said
        self.url, self.gateway = found[1], found[2]
        self.token = (Path(self.data) / "token").read_text().strip()

    def kill(self) -> None:
        self.process.kill()
        self._reap()

    def _reap(self) -> None:
        self.process.wait(timeout=60)
        assert self.process.stdout is not None
        self.process.stdout.close()

    def __enter__(self) -> Self:
        return self

    def __exit__(self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None) -> None:
        self.process.terminate()
        self._reap()
        self._place.cleanup()


class Proxy:
    """Passes bytes on, until it is told to cut. With a `limit`, each connection is cut when so many bytes have come from
    the daemon. Ends with its `with` block."""

    def __init__(self, daemon: Daemon, limit: int | None = None) -> None:
        self._daemon = daemon
        self._limit = limit
        self._listener = socket.create_server(("127.0.0.1", 0))
        self.host = f"127.0.0.1:{self._listener.getsockname()[1]}"
        self.connections = 0
        self._lock = threading.Lock()
        self._sockets: list[socket.socket] = []
        threading.Thread(target=self._accept, daemon=True).start()

    @property
    def options(self) -> dict[str, Any]:
        return {**self._daemon.options, "url": f"http://{self.host}"}

    def cut(self) -> None:
        with self._lock:
            for one in self._sockets:
                self._shut(one)
            self._sockets.clear()

    def __enter__(self) -> Self:
        return self

    def __exit__(self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None) -> None:
        self._shut(self._listener)
        self._listener.close()
        self.cut()

    def _accept(self) -> None:
        while True:
            try:
                near, _ = self._listener.accept()
                address, port = self._daemon.host.split(":")
                far = socket.create_connection((address, int(port)))
            except OSError:
                return
            with self._lock:
                self.connections += 1
                self._sockets += [near, far]
            threading.Thread(target=self._pass, args=(near, far, True), daemon=True).start()
            threading.Thread(target=self._pass, args=(far, near, False), daemon=True).start()

    def _pass(self, source: socket.socket, target: socket.socket, requests: bool) -> None:
        left = None if requests else self._limit
        try:
            while data := source.recv(65_536):
                if requests:
                    # The daemon takes no request that is meant for another host.
                    data = data.replace(self.host.encode(), self._daemon.host.encode())
                target.sendall(data if left is None else data[:left])
                if left is not None:
                    left -= len(data)
                    if left <= 0:
                        break
        except OSError:
            pass
        self._shut(source)
        self._shut(target)

    @staticmethod
    def _shut(one: socket.socket) -> None:
        try:
            one.shutdown(socket.SHUT_RDWR)
        except OSError:
            pass
