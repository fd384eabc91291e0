"""A daemon with one agent that others wrote, in a home of its own, that can be killed and started again."""

import json
import os
import signal
import subprocess
import time
import urllib.request

ENDS = ("turn_completed", "turn_failed", "turn_canceled")
# A cold start of some agents takes long on a busy machine.
PATIENCE = 60
OWN = '[gateway]\nlisten = "127.0.0.1:0"\n'


class Turn:
    """What a client sees of one turn."""

    def __init__(self):
        self.events = []
        self.deltas = 0

    def of(self, kind):
        return [event["data"] for event in self.events if event["type"] == kind]

    @property
    def end(self):
        return self.events[-1]["type"]

    @property
    def answer(self):
        """All that the agent said."""
        messages = [data["message"]["parts"] for data in self.of("model_output_completed")]
        return "".join(part["text"] for parts in messages for part in parts if part["type"] == "text")

    @property
    def results(self):
        """What came of its calls."""
        return [data["tool_result"] for data in self.of("tool_call_completed")]

    def __str__(self):
        return "\n".join(json.dumps(event)[:1500] for event in self.events)


class Daemon:
    """Ends with its `with` block."""

    def __init__(self, binary, adapter, place, path):
        self.place, self.adapter = place, adapter
        self.work, home = os.path.join(place, "work"), os.path.join(place, "home")
        self.log = os.path.join(place, "stderr")
        os.makedirs(self.work)
        for name, text in {"../config.toml": OWN + adapter.section(), **adapter.files}.items():
            file = os.path.normpath(os.path.join(home, name))
            os.makedirs(os.path.dirname(file), exist_ok=True)
            with open(file, "w") as written:
                written.write(text)
        os.makedirs(home, exist_ok=True)
        data = os.path.join(place, "data")
        self.binary, self.places = binary, ["--data-dir", data, "--config", os.path.join(place, "config.toml")]
        self.environment = {"PATH": path, "HOME": home}
        self.token = os.path.join(data, "token")
        self.start()

    def start(self):
        with open(self.log, "a") as log:
            command = [self.binary, "serve", "--listen", "127.0.0.1:0", *self.places]
            self.process = subprocess.Popen(command, stdout=subprocess.PIPE, stderr=log, text=True, env=self.environment)
        self.url = self.process.stdout.readline().split()[-1]
        with open(self.token) as file:
            self.headers = {"authorization": "Bearer " + file.read().strip(), "content-type": "application/json"}

    def run(self, *words):
        """A command of Ostler's beside the daemon."""
        command = [self.binary, *words, *self.places]
        return subprocess.run(
            command, capture_output=True, text=True, env=self.environment, cwd=self.work, timeout=PATIENCE)

    def kill(self):
        """As the machine's memory keeper would, and waits until its agents are gone with it."""
        agents = self.descendants()
        self.process.send_signal(signal.SIGKILL)
        self.process.wait()
        until = time.monotonic() + 20
        while left := [pid for pid in agents if is_alive(pid)]:
            if time.monotonic() > until:
                commands = [command_of(pid) for pid in left]
                for pid in left:
                    os.kill(pid, signal.SIGKILL)
                raise AssertionError(f"outlived the daemon: {commands}")
            time.sleep(0.1)
        return len(agents)

    def descendants(self):
        parents = {}
        for pid in filter(str.isdigit, os.listdir("/proc")):
            try:
                with open(f"/proc/{pid}/stat") as file:
                    parents[int(pid)] = int(file.read().rsplit(")", 1)[1].split()[1])
            except OSError:
                pass
        found = [self.process.pid]
        for pid in found:
            found += [child for child, parent in parents.items() if parent == pid]
        return found[1:]

    def __enter__(self):
        return self

    def __exit__(self, *_):
        if self.process.poll() is not None:
            return
        self.process.terminate()
        code = self.process.wait(timeout=60)
        assert code == 0, f"the daemon ended with {code}"

    def ask(self, method, path, body=None):
        data = None if body is None else json.dumps(body).encode()
        request = urllib.request.Request(self.url + path, method=method, data=data, headers=self.headers)
        try:
            with urllib.request.urlopen(request, timeout=PATIENCE) as answer:
                return json.load(answer)
        except urllib.error.HTTPError as error:
            raise AssertionError(f"{method} {path}: {error.code} {error.read().decode()}") from None

    def session(self):
        body = {"workspace_path": self.work, "agent": self.adapter.name}
        return self.ask("POST", "/v1/sessions", body)["session_id"]

    def state(self, session):
        return self.ask("GET", f"/v1/sessions/{session}")

    def cancel(self, session):
        self.ask("POST", f"/v1/sessions/{session}/cancel", {})

    def turn(self, session, text, action="approve", on_delta=lambda count: None):
        """Sends a message, answers what is asked about, and follows its turn to the end."""
        after = self.state(session)["last_seq"]
        message = {"role": "user", "parts": [{"type": "text", "text": text}]}
        self.ask("POST", f"/v1/sessions/{session}/messages", message)
        headers = {**self.headers, "accept": "application/x-ndjson"}
        request = urllib.request.Request(f"{self.url}/v1/sessions/{session}/events?after={after}", headers=headers)
        turn, until = Turn(), time.monotonic() + PATIENCE
        with urllib.request.urlopen(request, timeout=PATIENCE) as stream:
            for event in map(json.loads, stream):
                assert time.monotonic() < until, f"the turn does not end:\n{turn}"
                if event["type"] == "model_output_delta":
                    turn.deltas += 1
                    on_delta(turn.deltas)
                elif "seq" in event:
                    turn.events.append(event)
                if event["type"] == "approval_requested" and action == "cancel":
                    self.cancel(session)
                elif event["type"] == "approval_requested":
                    answer = {"turn_id": event["turn_id"], "tool_call_id": event["data"]["tool_call"]["id"], "action": action}
                    self.ask("POST", f"/v1/sessions/{session}/approve", answer)
                if event["type"] in ENDS:
                    return turn
        raise AssertionError(f"the stream ended before the turn:\n{turn}")


def is_alive(pid):
    try:
        with open(f"/proc/{pid}/stat") as file:
            return file.read().rsplit(")", 1)[1].split()[0] != "Z"
    except OSError:
        return False


def command_of(pid):
    try:
        with open(f"/proc/{pid}/cmdline") as file:
            return file.read().replace("\0", " ")
    except OSError:
        return f"process {pid}"
