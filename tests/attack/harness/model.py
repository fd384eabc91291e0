"""A scripted model behind Chat Completions on loopback. A prompt that holds `play [step, …]` is the script: a step is a text or a
list of tool calls. The server keeps no conversation; the next step follows from how often the model has spoken since the script."""

import json
import threading
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer

from harness.daemon import KEY

SCRIPT = "play "


class Model:
    """Answers until it is stopped, and notes which of the watched texts it was ever sent."""

    def __init__(self):
        self.watched, self.seen, self.lock = set(), set(), threading.Lock()
        # Written for the marks of a script, so that a prompt need not hold what the model is to say.
        self.marks = {"@KEY@": KEY}
        model = self

        class Handler(BaseHTTPRequestHandler):
            protocol_version = "HTTP/1.1"

            def log_message(self, *_):
                pass

            def do_GET(self):
                self.reply("application/json", b'{"object":"list","data":[{"id":"m","object":"model"}]}')

            def do_POST(self):
                body = self.rfile.read(int(self.headers.get("content-length", 0)))
                model.note(body)
                self.reply("text/event-stream", model.answer(json.loads(body)))

            def reply(self, kind, content):
                self.send_response(200)
                self.send_header("content-type", kind)
                self.send_header("content-length", str(len(content)))
                self.end_headers()
                self.wfile.write(content)

        class Server(ThreadingHTTPServer):
            daemon_threads, request_queue_size = True, 128

            def handle_error(self, *_):
                """A daemon that goes away in the middle is none of our business."""

        self.server = Server(("127.0.0.1", 0), Handler)
        self.address = "127.0.0.1:%d" % self.server.server_address[1]
        threading.Thread(target=self.server.serve_forever, args=(0.05,), daemon=True).start()

    def stop(self):
        self.server.shutdown()
        self.server.server_close()

    def watch(self, *texts):
        with self.lock:
            self.watched.update(texts)

    def was_sent(self, text):
        with self.lock:
            return text in self.seen

    def note(self, body):
        with self.lock:
            for text in self.watched - self.seen:
                if text.encode() in body:
                    self.seen.add(text)

    def answer(self, body):
        messages = body["messages"]
        for index in range(len(messages) - 1, -1, -1):
            steps = script(messages[index])
            if steps is not None:
                break
        else:
            return chunks({"content": "nothing to play"}, "stop")
        said = [message for message in messages[index:] if message["role"] == "assistant"]
        step = steps[len(said)] if len(said) < len(steps) else "done"
        if any(mark in json.dumps(step) for mark in self.marks):
            text = json.dumps(step)
            for mark, value in self.marks.items():
                text = text.replace(mark, value)
            step = json.loads(text)
        if isinstance(step, str):
            return chunks({"content": step}, "stop")
        total = sum(message["role"] == "assistant" for message in messages)
        calls = [
            {"index": place, "id": f"call-{total}-{place}", "type": "function",
             "function": {"name": call["name"], "arguments": json.dumps(call["input"])}}
            for place, call in enumerate(filled(step, messages))
        ]
        return chunks({"tool_calls": calls}, "tool_calls")


def filled(step, messages):
    """The calls, with `$CHILD` replaced by the session that the last `task` has started."""
    text = json.dumps(step)
    if "$CHILD" in text:
        said = [json.dumps(message) for message in messages if message["role"] == "tool"]
        found = [word[:37] for one in said for word in one.split("sess_")[1:] for word in ["sess_" + word]]
        text = text.replace("$CHILD", found[-1] if found else "sess_none")
    return json.loads(text)


def script(message):
    """The last script in a message, if it holds one."""
    if message["role"] != "user":
        return None
    content = message["content"]
    texts = [content] if isinstance(content, str) else [part.get("text", "") for part in content]
    for line in reversed([line for text in texts for line in text.split("\n")]):
        if line.startswith(SCRIPT):
            return json.JSONDecoder().raw_decode(line[len(SCRIPT):])[0]
    return None


def chunks(delta, finish):
    def chunk(delta, finish):
        choice = {"index": 0, "delta": delta, "finish_reason": finish}
        return "data: " + json.dumps({"object": "chat.completion.chunk", "choices": [choice]}) + "\n\n"

    return (chunk(delta, None) + chunk({}, finish) + "data: [DONE]\n\n").encode()
