"""A stand-in for a model, on loopback, over the wires that agents speak (`wires.py`). What it does follows from the last
thing between double brackets that the user said: `[[hello]]` a text, `[[shell COMMAND]]` a call of whatever tool runs
commands, `[[slow]]` a text that hardly ends, `[[recall]]` what was said between brackets before."""

import json
import re
import sys
import threading
import time
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer

import wires

ASKED = re.compile(r"\[\[(\w+) ?(.*?)\]\]")
# The pause after each piece of a text, and how many pieces the text has that hardly ends.
PAUSE, MANY = 0.03, 2000

# How the tools are called that run a command, and what they are given.
SHELLS = {
    "Bash": lambda command: {"command": command, "description": "Runs what was asked for"},
    "run_shell_command": lambda command: {"command": command, "description": "Runs it", "is_background": False},
    "bash": lambda command: {"command": command, "description": "Runs what was asked for"},
    "exec_command": lambda command: {"cmd": command, **OUTSIDE},
    "shell_command": lambda command: {"command": command, **OUTSIDE},
    "shell": lambda command: {"command": command},
    "developer__shell": lambda command: {"command": command},
}
# Codex asks about what leaves its own sandbox.
OUTSIDE = {"sandbox_permissions": "require_escalated", "justification": "May it write a file?"}


def plan(said, tools):
    """What to answer: pieces of text, or the name of a tool and what it is given."""
    asked = [(place, found) for place, (role, text) in enumerate(said) if role == "user" for found in ASKED.findall(text)]
    if not asked or not tools:
        # Agents also ask for titles and the like.
        return ["A small ", "matter."]
    place, (word, rest) = asked[-1]
    results = [text for role, text in said[place:] if role == "result"]
    if results:
        return ["The tool ", "said: ", results[-1][:200]]
    if word == "shell":
        name = next((name for name in SHELLS if name in tools), None)
        return (name, SHELLS[name](rest)) if name else [f"No tool runs commands: {sorted(tools)}"]
    if word == "slow":
        return (f"piece {number} " for number in range(MANY))
    if word == "recall":
        return ["Before ", "that: ", " ".join(found for earlier, (found, _) in asked if earlier < place)]
    return ["Hello ", "from ", "the ", "mock."]


class Server(ThreadingHTTPServer):
    daemon_threads = True

    def handle_error(self, request, client_address):
        # Agents that are killed leave connections behind.
        if not isinstance(sys.exc_info()[1], ConnectionError):
            super().handle_error(request, client_address)


class Model:
    """Ends with its `with` block."""

    def __init__(self, notes):
        self.notes = notes
        self.requests, self.cut = [], 0
        self.changed = threading.Condition()
        model = self

        class Handler(BaseHTTPRequestHandler):
            protocol_version = "HTTP/1.1"

            def do_GET(self):
                self.whole(*wires.looked_up(self.path))

            def do_HEAD(self):
                self.whole(200, {})

            def do_POST(self):
                body = self.rfile.read(int(self.headers.get("content-length", 0)))
                model.note(self.path, body)
                wire = wires.find(self.path)
                if not wire:
                    return self.whole(*wires.posted(self.path))
                request = json.loads(body)
                answer = plan(list(wire.said(request)), wire.tools(request))
                if not wire.streams(self.path, request):
                    return self.whole(200, wire.whole(request, "".join(answer)))
                self.stream(wire, request, answer)

            def stream(self, wire, request, answer):
                self.send_response(200)
                self.send_header("content-type", "text/event-stream")
                self.send_header("connection", "close")
                self.end_headers()
                self.close_connection = True
                try:
                    for name, data in wire.events(request, answer):
                        head = f"event: {name}\n" if name else ""
                        data = data if isinstance(data, str) else json.dumps(data)
                        self.wfile.write(f"{head}data: {data}\n\n".encode())
                        self.wfile.flush()
                        time.sleep(PAUSE)
                except (BrokenPipeError, ConnectionResetError):
                    with model.changed:
                        model.cut += 1
                        model.changed.notify_all()

            def whole(self, status, value):
                body = json.dumps(value).encode()
                self.send_response(status)
                self.send_header("content-type", "application/json")
                self.send_header("content-length", str(len(body)))
                self.end_headers()
                if self.command != "HEAD":
                    self.wfile.write(body)

            def log_message(self, *_):
                pass

        self.server = Server(("127.0.0.1", 0), Handler)
        self.url = f"http://127.0.0.1:{self.server.server_port}"
        threading.Thread(target=self.server.serve_forever, daemon=True).start()

    def __enter__(self):
        return self

    def __exit__(self, *_):
        self.server.shutdown()

    def note(self, path, body):
        with self.changed, open(self.notes, "ab") as notes:
            self.requests.append(path)
            notes.write(path.encode() + b" " + body + b"\n")

    def was_cut(self, times, patience):
        """Whether so many streams were broken off by whoever listened."""
        with self.changed:
            return self.changed.wait_for(lambda: self.cut >= times, patience)
