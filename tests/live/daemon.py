"""A daemon as a process, driven over its http door, and `ostler` commands beside it."""

import json
import os
import subprocess
import tempfile
import urllib.request

ENDS = ("turn_completed", "turn_failed", "turn_canceled")
# A busy machine takes a while to read a prompt with all tools in it.
PATIENCE = 300


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
    def data(self):
        return self.events[-1]["data"]

    @property
    def error(self):
        assert self.end == "turn_failed", self.events[-1]
        return self.data["error"]

    @property
    def answer(self):
        """The text of the last message of the model."""
        messages = self.of("model_output_completed")
        parts = messages[-1]["message"]["parts"] if messages else []
        return "".join(part.get("text", "") for part in parts)


class Daemon:
    """Ends with its `with` block."""

    def __init__(self, binary, config, keys=None):
        self.place = tempfile.TemporaryDirectory()
        # Apart from the data, so that tools that look around see the same in every run.
        self.work = os.path.join(self.place.name, "work")
        os.mkdir(self.work)
        self.environment = environment(self.place.name, keys or {})
        config_file, data = write_config(self.place.name, config), os.path.join(self.place.name, "data")
        self.log = os.path.join(self.place.name, "stderr")
        command = [binary, "serve", "--listen", "127.0.0.1:0", "--data-dir", data, "--config", config_file]
        with open(self.log, "w") as log:
            self.process = subprocess.Popen(command, stdout=subprocess.PIPE, stderr=log, text=True, env=self.environment)
        self.url = self.process.stdout.readline().split()[-1]
        with open(os.path.join(data, "token")) as file:
            self.headers = {"authorization": "Bearer " + file.read().strip(), "content-type": "application/json"}

    def __enter__(self):
        return self

    def __exit__(self, *_):
        self.process.terminate()
        code = self.process.wait(timeout=30)
        self.place.cleanup()
        assert code == 0, f"the daemon ended with {code}"

    def ask(self, method, path, body=None):
        data = None if body is None else json.dumps(body).encode()
        request = urllib.request.Request(self.url + path, method=method, data=data, headers=self.headers)
        with urllib.request.urlopen(request, timeout=PATIENCE) as answer:
            return json.load(answer)

    def events(self, session, after=0):
        headers = {**self.headers, "accept": "application/x-ndjson"}
        request = urllib.request.Request(f"{self.url}/v1/sessions/{session}/events?after={after}", headers=headers)
        with urllib.request.urlopen(request, timeout=PATIENCE) as stream:
            for line in stream:
                yield json.loads(line)

    def session(self, model, **more):
        prompt = "Answer in one or two sentences."
        body = {"workspace_path": self.work, "model": model, "system_prompt": prompt, **more}
        return self.ask("POST", "/v1/sessions", body)["session_id"]

    def turn(self, session, text, on_delta=lambda count: None):
        """Sends a message and follows its turn to the end."""
        after = self.ask("GET", f"/v1/sessions/{session}")["last_seq"]
        message = {"role": "user", "parts": [{"type": "text", "text": text}]}
        self.ask("POST", f"/v1/sessions/{session}/messages", message)
        turn = Turn()
        for event in self.events(session, after):
            if event["type"] == "model_output_delta":
                turn.deltas += 1
                on_delta(turn.deltas)
            elif "seq" in event:
                turn.events.append(event)
            if event["type"] in ENDS:
                return turn
        raise AssertionError("the stream ended before the turn")


def models(binary, config, keys=None):
    """What `ostler models --json` says, with these keys and nothing else in the environment."""
    with tempfile.TemporaryDirectory() as place:
        data = os.path.join(place, "data")
        command = [binary, "models", "--json", "--config", write_config(place, config), "--data-dir", data]
        done = subprocess.run(command, capture_output=True, text=True, env=environment(place, keys or {}), timeout=60)
        assert done.returncode == 0, done.stderr
        return json.loads(done.stdout)


def environment(home, keys):
    """Without the keys and servers of whoever runs the tests."""
    return {"PATH": os.environ["PATH"], "HOME": home, **keys}


def write_config(place, config):
    path = os.path.join(place, "config.toml")
    with open(path, "w") as file:
        file.write(config)
    return path
