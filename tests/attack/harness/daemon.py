"""The real `ostler serve` as a process, and its http door."""

import http.client
import json
import os
import signal
import subprocess
import time

ENDS = ("turn_completed", "turn_failed", "turn_canceled")
# The longest that anything may take; a machine with other work on it is slow.
PATIENCE = 60
KEY = "sk-attack-5b1f0c9e7d3a2468"


class Daemon:
    """Ends by `stop`. `place` gets the configuration, the data and what the daemon says."""

    def __init__(self, binary, place, model, home, more="", environment=None, arguments=(), data=None, backend="bwrap", cwd=None, descriptors=None):
        self.place, self.data = place, data or os.path.join(place, "data")
        os.makedirs(place, exist_ok=True)
        self.config = os.path.join(place, "config.toml")
        mode = '[sandbox]\nmode = "landlock"\n' if backend == "landlock-mode" else ""
        with open(self.config, "w") as file:
            file.write(
                '[models]\ndefault = "mock:m"\ndiscover = false\n[loop]\nmax_steps = 200\n[gateway]\nlisten = "127.0.0.1:0"\n'
                f'[providers.mock]\nkind = "openai-chat"\nbase_url = "http://{model.address}/v1"\n'
                f'api_key_env = "ATTACK_KEY"\nmodels = ["m"]\n[models.info."mock:m"]\nabilities = ["tools"]\n{mode}{more}'
            )
        path = "/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin"
        self.environment = {"PATH": path, "HOME": home, "USER": "attack", "LANG": "C.UTF-8", "ATTACK_KEY": KEY, **(environment or {})}
        self.binary = binary
        command = [binary, "serve", "--listen", "127.0.0.1:0", "--data-dir", self.data, "--config", self.config, *arguments]
        if descriptors:
            command = ["prlimit", f"--nofile={descriptors}:{descriptors}", *command]
        self.log = os.path.join(place, "stderr")
        with open(self.log, "a") as log:
            self.process = subprocess.Popen(
                command, stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, stderr=log, text=True, env=self.environment, cwd=cwd or place
            )
        line = self.process.stdout.readline()
        if "http://" not in line:
            self.process.kill()
            self.process.wait()
            with open(self.log) as log:
                raise RuntimeError(f"the daemon did not start: {line}{log.read()[-2000:]}")
        self.address = line.split("http://")[1].split()[0].strip("/")
        with open(os.path.join(self.data, "token")) as file:
            self.token = file.read().strip()

    @property
    def pid(self):
        return self.process.pid

    def stop(self):
        if self.process.poll() is None:
            self.process.send_signal(signal.SIGTERM)
        try:
            self.process.wait(timeout=20)
        except subprocess.TimeoutExpired:
            self.process.kill()
            self.process.wait()
        self.process.stdout.close()

    def kill(self):
        self.process.kill()
        self.process.wait()

    def request(self, method, path, body=None, headers=None, token=True, raw=None, timeout=PATIENCE):
        """The status and the body, parsed where it is JSON."""
        connection = http.client.HTTPConnection(self.address, timeout=timeout)
        given = {"authorization": "Bearer " + self.token} if token else {}
        data = raw if raw is not None else None if body is None else json.dumps(body)
        if data is not None:
            given["content-type"] = "application/json"
        given.update(headers or {})
        try:
            connection.request(method, path, body=data, headers=given)
            answer = connection.getresponse()
            text = answer.read().decode(errors="replace")
        finally:
            connection.close()
        try:
            return answer.status, json.loads(text)
        except ValueError:
            return answer.status, text

    def ask(self, method, path, body=None):
        status, answer = self.request(method, path, body)
        if status >= 300:
            raise RuntimeError(f"{method} {path}: {status} {answer}")
        return answer

    def events(self, session, after):
        """Records and deltas from a cursor on, with the deadline of a turn."""
        connection = http.client.HTTPConnection(self.address, timeout=PATIENCE)
        headers = {"authorization": "Bearer " + self.token, "accept": "application/x-ndjson"}
        deadline = time.monotonic() + PATIENCE
        try:
            connection.request("GET", f"/v1/sessions/{session}/events?after={after}", headers=headers)
            answer = connection.getresponse()
            while line := answer.readline():
                yield json.loads(line)
                if time.monotonic() > deadline:
                    raise RuntimeError(f"nothing came of {session} in {PATIENCE} s")
        finally:
            connection.close()

    def cli(self, *arguments, timeout=PATIENCE, **more):
        """Runs `ostler` beside the daemon, on the same data."""
        command = [self.binary, *arguments, "--data-dir", self.data, "--config", self.config]
        more.setdefault("stdin", subprocess.DEVNULL)
        return subprocess.run(command, capture_output=True, timeout=timeout, env=self.environment, **more)


class Turn:
    """What a client saw of one turn."""

    def __init__(self):
        self.records, self.asked = [], []

    def of(self, kind):
        return [record["data"] for record in self.records if record["type"] == kind]

    @property
    def results(self):
        return [Result(data["tool_result"]) for data in self.of("tool_call_completed")]

    @property
    def text(self):
        return "\n".join(result.text for result in self.results)

    @property
    def end(self):
        return self.records[-1] if self.records and self.records[-1]["type"] in ENDS else None


class Result:
    def __init__(self, result):
        self.ok, self.whole = result["ok"], result
        self.text = "\n".join(part.get("text", "") for part in result["parts"])
