"""An MCP server over standard input and output that does what no server should, as its arguments say.

Each start is noted in the directory that NOTES names, so that tests can count them. Where something is to take
long, it takes until a file appears there.
"""

import json
import os
import subprocess
import sys
import time

OPTIONS = set(sys.argv[1:])
EXTRA_TOOLS = []
NEXT_ID = 1000


def option(name):
    """The value of an option that is given as NAME=VALUE."""
    return next((word.split("=", 1)[1] for word in OPTIONS if word.startswith(name + "=")), None)


def send(message):
    sys.stdout.write(json.dumps({"jsonrpc": "2.0", **message}) + "\n")
    sys.stdout.flush()


def answer(request, result):
    send({"id": request["id"], "result": result})


def text(words, **more):
    return {"content": [{"type": "text", "text": words}], **more}


def read():
    line = sys.stdin.readline()
    if not line:
        note("input-closed")
        if "ignores-end" in OPTIONS:
            while True:
                time.sleep(1)
        sys.exit(0)
    return json.loads(line)


def note(word):
    """Leaves a file that a test waits for."""
    with open(os.path.join(os.environ["NOTES"], word), "w", encoding="utf-8") as file:
        file.write(word)


def wait_for(word):
    while not os.path.exists(os.path.join(os.environ["NOTES"], word)):
        time.sleep(0.02)


def ask(method, params):
    """Asks the client something, and gives what it answered."""
    global NEXT_ID
    NEXT_ID += 1
    send({"id": NEXT_ID, "method": method, "params": params})
    while True:
        message = read()
        if message.get("id") == NEXT_ID and "method" not in message:
            return message.get("result", message.get("error"))


def schema(**properties):
    return {"type": "object", "properties": properties}


def tools():
    if option("many"):
        return [{"name": f"tool-{n}", "inputSchema": schema()} for n in range(int(option("many")))]
    if "hostile" in OPTIONS:
        evil = "\u001b[2J\u202e\U000e0041\u0000"
        return [
            {"name": "same name", "description": evil + "x" * 100_000, "inputSchema": schema()},
            {"name": "same/name", "description": "", "inputSchema": schema(**{"y" * 100_000: {}})},
            {"name": evil, "inputSchema": schema(a={"description": evil})},
            {"name": "z" * 500, "inputSchema": schema(), "annotations": {"readOnlyHint": True, "openWorldHint": False}},
        ]
    return [{"name": name, "inputSchema": schema()} for name in CALLS] + EXTRA_TOOLS


def crash(request):
    sys.stderr.write("about to crash\n")
    sys.stderr.flush()
    os._exit(3)


def orphan(request):
    """Ends while a child of it holds its output open."""
    subprocess.Popen(["sleep", "1000"])
    os._exit(4)


def offspring(request):
    child = subprocess.Popen(["bash", "-c", "trap '' TERM HUP; while :; do sleep 1000; done"])
    answer(request, text(str(child.pid)))


def giant(request):
    answer(request, text("first" + "g" * 12_000_000 + "last"))


def oversized(request):
    answer(request, text("o" * 40_000_000))


def garbage(request):
    for line in ["garbage", "{", "[]", '{"jsonrpc":"2.0"}', '{"a":' * 200, "\x00\xff", "1", ""]:
        sys.stdout.write(line + "\n")
    sys.stdout.flush()
    answer(request, text("after the garbage"))


def never(request):
    note("called")
    while True:
        message = read()
        if message.get("method") == "notifications/cancelled" and message["params"]["requestId"] == request["id"]:
            note("called-off")
            return


def progress(request):
    """Shows progress for longer in all than the caller waits for a sign of it."""
    token = request["params"]["_meta"]["progressToken"]
    for step in range(1, 7):
        time.sleep(1)
        params = {"progressToken": token, "progress": step, "total": 6, "message": f"step \u001b{step}"}
        send({"method": "notifications/progress", "params": params})
    answer(request, text("arrived"))


def wait(request):
    note("called")
    wait_for("go-on")
    answer(request, text("went on"))


def roots(request):
    answer(request, text(json.dumps(ask("roots/list", {}))))


def sampling(request):
    answer(request, text(json.dumps(ask("sampling/createMessage", {"messages": [], "maxTokens": 1}))))


def elicitation(request):
    form = {"message": "Your password?", "requestedSchema": {"type": "object", "properties": {}}}
    answer(request, text(json.dumps(ask("elicitation/create", form))))


def more_tools(request):
    EXTRA_TOOLS.append({"name": "grown", "inputSchema": schema()})
    answer(request, text("grew"))
    send({"method": "notifications/tools/list_changed"})


CALLS = {
    "crash": crash,
    "elicitation": elicitation,
    "environment": lambda request: answer(request, text(json.dumps(dict(os.environ)))),
    "error": lambda request: answer(request, text("it is broken", isError=True)),
    "garbage": garbage,
    "giant": giant,
    "more_tools": more_tools,
    "never": never,
    "offspring": offspring,
    "orphan": orphan,
    "oversized": oversized,
    "pid": lambda request: answer(request, text(str(os.getpid()))),
    "progress": progress,
    "refused": lambda request: send({"id": request["id"], "error": {"code": -32602, "message": "no\u001b such thing"}}),
    "roots": roots,
    "sampling": sampling,
    "wait": wait,
}


def main():
    with open(os.path.join(os.environ["NOTES"], "starts"), "a", encoding="utf-8") as file:
        file.write("started\n")
    sys.stderr.write("token is " + os.environ.get("TOKEN", "none") + "\n" + "noise \u001b[31m\n" * 20_000)
    sys.stderr.flush()
    if "exits" in OPTIONS:
        sys.stderr.write("cannot go on like this\n")
        sys.exit(7)
    if option("wait"):
        wait_for(option("wait"))
    if "mute" in OPTIONS:
        while True:
            read()
    while True:
        request = read()
        method = request.get("method")
        if method == "server/discover":
            if "dies-on-discover" in OPTIONS:
                sys.exit(1)
            send({"id": request["id"], "error": {"code": -32601, "message": "Method not found"}})
        elif method == "initialize":
            capabilities = {"tools": {"listChanged": True}}
            info = {"name": "misbehaving", "version": "1"}
            answer(request, {"protocolVersion": "2025-06-18", "capabilities": capabilities, "serverInfo": info})
        elif method == "tools/list":
            answer(request, {"tools": tools()})
        elif method == "tools/call":
            name = request["params"]["name"]
            if name == "grown":
                answer(request, text("as grown"))
            else:
                CALLS[name](request)


main()
