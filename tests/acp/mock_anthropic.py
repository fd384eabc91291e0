"""A stand-in for Anthropic's API on loopback, for agents that speak it. Prints its port, then answers: a request
whose last message is a tool's result gets a text, one that says `use the shell` gets a call of Bash, any other a
text. Notes each request in the file that the first argument names."""

import json
import sys
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer

NOTES = sys.argv[1]


def events(request):
    last = [message for message in request["messages"] if message["role"] == "user"][-1]["content"]
    blocks = last if isinstance(last, list) else [{"type": "text", "text": last}]
    is_result = any(block.get("type") == "tool_result" for block in blocks)
    said = " ".join(block.get("text", "") for block in blocks)
    has_shell = any(tool.get("name") == "Bash" for tool in request.get("tools", []))
    yield "message_start", {"message": {
        "id": "msg_1", "type": "message", "role": "assistant", "model": request["model"], "content": [],
        "stop_reason": None, "stop_sequence": None, "usage": {"input_tokens": 10, "output_tokens": 1}}}
    if "use the shell" in said and has_shell and not is_result:
        yield "content_block_start", {"index": 0, "content_block": {
            "type": "tool_use", "id": f"toolu_{len(request['messages']):02}", "name": "Bash", "input": {}}}
        written = json.dumps({"command": "touch made-by-claude && echo done", "description": "Makes a file"})
        yield "content_block_delta", {"index": 0, "delta": {"type": "input_json_delta", "partial_json": written}}
        reason = "tool_use"
    else:
        yield "content_block_start", {"index": 0, "content_block": {"type": "text", "text": ""}}
        for word in ("Hello ", "from ", "the ", "mock."):
            yield "content_block_delta", {"index": 0, "delta": {"type": "text_delta", "text": word}}
        reason = "end_turn"
    yield "content_block_stop", {"index": 0}
    yield "message_delta", {"delta": {"stop_reason": reason, "stop_sequence": None}, "usage": {"output_tokens": 9}}
    yield "message_stop", {}


class Handler(BaseHTTPRequestHandler):
    protocol_version = "HTTP/1.1"

    def do_GET(self):
        self.answer(404, "application/json", b"{}")

    do_HEAD = do_GET

    def do_POST(self):
        body = self.rfile.read(int(self.headers.get("content-length", 0)))
        with open(NOTES, "ab") as notes:
            notes.write(self.path.encode() + b" " + body[:2000] + b"\n")
        if not self.path.startswith("/v1/messages"):
            return self.answer(404, "application/json", b"{}")
        if "count_tokens" in self.path:
            return self.answer(200, "application/json", b'{"input_tokens": 10}')
        request = json.loads(body)
        told = list(events(request))
        if request.get("stream"):
            lines = [f"event: {name}\ndata: {json.dumps({'type': name, **data})}\n\n" for name, data in told]
            return self.answer(200, "text/event-stream", "".join(lines).encode())
        message = {**told[0][1]["message"], "stop_reason": "end_turn", "content": [{"type": "text", "text": "Hello"}]}
        return self.answer(200, "application/json", json.dumps(message).encode())

    def answer(self, status, kind, body):
        self.send_response(status)
        self.send_header("content-type", kind)
        self.send_header("content-length", str(len(body)))
        self.end_headers()
        if self.command != "HEAD":
            self.wfile.write(body)

    def log_message(self, *arguments):
        pass


server = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
print(server.server_port, flush=True)
server.serve_forever()
