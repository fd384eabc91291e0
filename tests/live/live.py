"""Drives a daemon with a real model over all three wires. Run by `make test-live`.

Asks over each wire, cancels in the middle of an answer and asks again, which shows that the server's
only slot was freed, and carries one conversation through all three wires.
"""

import json
import os
import subprocess
import sys
import tempfile
import urllib.request

WIRES = ["chat", "responses", "messages"]
CONFIG = """
[models]
default = "chat:smol"
[approval]
require_for_kinds = []
[providers.chat]
kind = "openai-chat"
base_url = "{server}/v1"
models = ["smol"]
[providers.responses]
kind = "openai-responses"
base_url = "{server}/v1"
models = ["smol"]
[providers.messages]
kind = "anthropic"
base_url = "{server}"
models = ["smol"]
"""


class Daemon:
    def __init__(self, binary, server, place):
        config, self.data = os.path.join(place, "config.toml"), os.path.join(place, "data")
        with open(config, "w") as file:
            file.write(CONFIG.format(server=server))
        command = [binary, "serve", "--listen", "127.0.0.1:0", "--data-dir", self.data, "--config", config]
        self.process = subprocess.Popen(command, stdout=subprocess.PIPE, text=True)
        self.url = self.process.stdout.readline().split()[-1]
        with open(os.path.join(self.data, "token")) as file:
            self.headers = {"authorization": "Bearer " + file.read().strip(), "content-type": "application/json"}

    def open(self, method, path, body=None):
        data = None if body is None else json.dumps(body).encode()
        request = urllib.request.Request(self.url + path, method=method, data=data, headers=self.headers)
        return urllib.request.urlopen(request, timeout=120)

    def ask(self, method, path, body=None):
        with self.open(method, path, body) as answer:
            return json.load(answer)

    def events(self, session, after=0):
        request = urllib.request.Request(
            f"{self.url}/v1/sessions/{session}/events?after={after}",
            headers={**self.headers, "accept": "application/x-ndjson"},
        )
        with urllib.request.urlopen(request, timeout=120) as stream:
            for line in stream:
                yield json.loads(line)

    def session(self, place, wire):
        body = {"workspace_path": place, "model": wire + ":smol", "system_prompt": "Answer in one or two sentences."}
        return self.ask("POST", "/v1/sessions", body)["session_id"]

    def turn(self, session, text, on_delta=lambda count: None):
        """Sends a message, follows its turn to the end, and returns how it ended, the answer, its deltas."""
        after = self.ask("GET", f"/v1/sessions/{session}")["last_seq"]
        message = {"role": "user", "parts": [{"type": "text", "text": text}]}
        self.ask("POST", f"/v1/sessions/{session}/messages", message)
        deltas, answer = 0, ""
        for event in self.events(session, after):
            if event["type"] == "model_output_delta":
                deltas += 1
                on_delta(deltas)
            elif event["type"] == "model_output_completed":
                answer = "".join(part.get("text", "") for part in event["data"]["message"]["parts"])
            elif event["type"] in ("turn_completed", "turn_failed", "turn_canceled"):
                return event, answer, deltas
        raise AssertionError("the stream ended before the turn")


def main():
    binary, server_program, model = sys.argv[1:4]
    server = subprocess.Popen(
        [sys.executable, server_program, model], stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL, text=True
    )
    passed = 0
    with tempfile.TemporaryDirectory() as place:
        daemon = Daemon(binary, server.stdout.readline().strip(), place)
        try:
            for wire in WIRES:
                session = daemon.session(place, wire)
                end, answer, deltas = daemon.turn(session, "What is a horse?")
                assert end["type"] == "turn_completed", end
                assert deltas > 1 and answer.strip(), (deltas, answer)
                assert end["data"]["usage"]["output_tokens"] > 0, end
                print(f"{wire}: {deltas} deltas: {answer.strip()[:60]!r}")
                passed += 1

                cancel = lambda count: count == 3 and daemon.ask("POST", f"/v1/sessions/{session}/cancel")
                end, answer, _ = daemon.turn(session, "Tell me a very long story about a stable.", cancel)
                assert end["type"] == "turn_canceled" and answer.strip(), (end, answer)
                end, answer, _ = daemon.turn(session, "Say hello.")
                assert end["type"] == "turn_completed" and answer.strip(), end
                print(f"{wire}: canceled in the middle, and the next turn was answered")
                passed += 1
            session = daemon.session(place, WIRES[0])
            for wire in WIRES + WIRES:
                daemon.ask("PATCH", f"/v1/sessions/{session}", {"model": wire + ":smol"})
                end, answer, _ = daemon.turn(session, "Name one more animal.")
                assert end["type"] == "turn_completed" and answer.strip(), (wire, end)
            print("one conversation went through all three wires, twice")
            passed += 1
        finally:
            daemon.process.terminate()
            assert daemon.process.wait(timeout=20) == 0
            server.kill()
            server.wait()
    print(f"{passed} passed, 0 failed")


main()
