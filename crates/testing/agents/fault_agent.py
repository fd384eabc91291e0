"""An agent that speaks the Agent Client Protocol over its standard input and output, and does what its prompt
says, the bad things included.

Its arguments are options: `no-load`, `resume`, `login`, `mute`, `exits`, `version=N`, `loses`, `replays-late`,
`replays-twice`, `modes`, `lists`. The environment variable NOTES names a directory in which it keeps its sessions and notes what it heard.

A prompt is a list of words, one step each:
  say:TEXT      a piece of the answer          think:TEXT    a piece of thinking
  call:ID       a call that runs and is done   open:ID       a call that is begun and left open
  pend:ID       a call that is only announced  done:ID / fail:ID / work:ID   an update of a call
  edit:ID       a call with a diff             ask:ID        a question about a call; waits for the answer
  asks:A,B      two questions at once          plan / commands / usage / mode:X   what it says of itself
  unknown       an update nobody knows         notice:TEXT   a notice
  read:PATH / write:PATH=TEXT / run:LINE       what it has its client do
  own:LINE      a command that it runs itself
  wait          waits until it is canceled     hang          hears nothing any more
  late          when canceled, goes on talking and stops late
  crash         ends with exit code 7          badjson       lines that are no messages
  huge          a line of 100 MB               flood:N       N MB of text in small pieces
  foreign       updates and questions for sessions that nobody opened
  twice         answers the prompt twice       nonsense      answers requests that were never made
  error / auth / cancelled / refusal           how the prompt ends
  quit-asking   asks, and ends the prompt without waiting for the answer
"""

import json
import os
import subprocess
import sys
import threading
import time

OPTIONS = sys.argv[1:]
NOTES = os.environ.get("NOTES", ".")
LOCK = threading.Lock()
CANCELED = {}
ANSWERS = {}
ANSWERED = threading.Condition()
NEXT = [1000]


def option(name):
    return name in OPTIONS


def value_of(name):
    return next((word.split("=", 1)[1] for word in OPTIONS if word.startswith(name + "=")), None)


def raw(text):
    with LOCK:
        sys.stdout.write(text + "\n")
        sys.stdout.flush()


def send(message):
    raw(json.dumps({"jsonrpc": "2.0", **message}))


def note(text):
    with open(os.path.join(NOTES, "notes"), "a") as notes:
        notes.write(text + "\n")


def update(session, what, /, **fields):
    send({"method": "session/update", "params": {"sessionId": session, "update": {"sessionUpdate": what, **fields}}})


def text(session, words, kind="agent_message_chunk", **more):
    update(session, kind, content={"type": "text", "text": words}, **more)


def request(method, params):
    with ANSWERED:
        NEXT[0] += 1
        number = NEXT[0]
    send({"id": number, "method": method, "params": params})
    return number


def answer_to(number):
    with ANSWERED:
        while number not in ANSWERS:
            ANSWERED.wait()
        return ANSWERS.pop(number)


def call(session, name, status, **fields):
    update(session, "tool_call", toolCallId=name, title=f"Do {name}", kind="execute", status=status,
           rawInput={"command": f"do {name}"}, **fields)


def done(session, name, status="completed"):
    update(session, "tool_call_update", toolCallId=name, status=status,
           content=[{"type": "content", "content": {"type": "text", "text": f"{name} is {status}"}}],
           rawOutput={"exit_code": 0 if status == "completed" else 1})


OFFERED = [
    {"optionId": "yes", "name": "Allow", "kind": "allow_once"},
    {"optionId": "yes-always", "name": "Always allow", "kind": "allow_always"},
    {"optionId": "no", "name": "Reject", "kind": "reject_once"},
]


def ask(session, name, title=None):
    return request("session/request_permission", {
        "sessionId": session,
        "toolCall": {"toolCallId": name, "title": title or f"Do {name}", "kind": "read",
                     "rawInput": {"command": f"do {name}"}},
        "options": OFFERED,
    })


def after_asking(session, name, number):
    outcome = answer_to(number).get("result", {}).get("outcome", {})
    note(f"answer {name} {json.dumps(outcome)}")
    if outcome.get("optionId", "").startswith("yes"):
        update(session, "tool_call_update", toolCallId=name, status="in_progress")
        done(session, name)
    elif outcome.get("outcome") == "selected":
        done(session, name, "failed")


def canceled(session):
    return CANCELED.setdefault(session, threading.Event())


def step(session, word):
    name, _, rest = word.partition(":")
    if name == "say":
        text(session, rest.replace("_", " "))
    elif name == "think":
        text(session, rest.replace("_", " "), "agent_thought_chunk")
    elif name == "call":
        call(session, rest, "pending")
        update(session, "tool_call_update", toolCallId=rest, status="in_progress")
        done(session, rest)
    elif name == "pend":
        call(session, rest, "pending")
    elif name in ("open", "work"):
        call(session, rest, "in_progress")
    elif name == "done":
        done(session, rest)
    elif name == "fail":
        done(session, rest, "failed")
    elif name == "edit":
        path = os.path.join(os.getcwd(), "file.txt")
        update(session, "tool_call", toolCallId=rest, title="Edit file.txt", kind="edit", status="completed",
               rawInput={"file_path": path}, content=[
                   {"type": "diff", "path": path, "oldText": "one\n", "newText": "one\ntwo\n"}])
    elif name == "ask":
        after_asking(session, rest, ask(session, rest))
    elif name == "asks":
        numbers = [(each, ask(session, each)) for each in rest.split(",")]
        for each, number in numbers:
            after_asking(session, each, number)
    elif name == "quit-asking":
        ask(session, "left")
    elif name == "plan":
        update(session, "plan", entries=[{"content": "First", "priority": "high", "status": "in_progress"}])
    elif name == "commands":
        update(session, "available_commands_update", availableCommands=[{"name": "init", "description": "Begins"}])
    elif name == "usage":
        update(session, "usage_update", used=1234, size=200000)
    elif name == "mode":
        update(session, "current_mode_update", currentModeId=rest)
    elif name == "unknown":
        update(session, "from_the_future", anything={"goes": True})
        update(session, "tool_call_update")
    elif name == "notice":
        update(session, "notice", severity="warning", title=rest.replace("_", " "))
    elif name == "read":
        number = request("fs/read_text_file", {"sessionId": session, "path": os.path.join(os.getcwd(), rest)})
        note(f"read {json.dumps(answer_to(number))}")
    elif name == "write":
        path, _, content = rest.partition("=")
        number = request("fs/write_text_file",
                         {"sessionId": session, "path": os.path.join(os.getcwd(), path), "content": content})
        note(f"write {json.dumps(answer_to(number))}")
    elif name == "run":
        number = request("terminal/create", {"sessionId": session, "command": rest.replace("_", " ")})
        made = answer_to(number)
        note(f"run {json.dumps(made)}")
        if "result" in made:
            terminal = {"sessionId": session, "terminalId": made["result"]["terminalId"]}
            note(f"exit {json.dumps(answer_to(request('terminal/wait_for_exit', terminal)))}")
            note(f"output {json.dumps(answer_to(request('terminal/output', terminal)))}")
            answer_to(request("terminal/release", terminal))
    elif name == "own":
        done_by_itself = subprocess.run(rest.replace("_", " "), shell=True, capture_output=True, text=True)
        note(f"own {json.dumps([done_by_itself.returncode, done_by_itself.stdout])}")
    elif name == "wait":
        canceled(session).wait()
    elif name == "late":
        note("late begins")
        canceled(session).wait()
        for number in range(50):
            text(session, f"too late {number} ")
        call(session, "late", "in_progress")
    elif name == "hang":
        note("hang begins")
        time.sleep(3600)
    elif name == "crash":
        print("the engine is on fire", file=sys.stderr, flush=True)
        os._exit(7)
    elif name == "badjson":
        for line in ["{", "[]", "null", "\"x\"", "{\"jsonrpc\":\"2.0\"}", "{\"id\":{},\"method\":1}", "log: hello", ""]:
            raw(line)
        with LOCK:
            sys.stdout.buffer.write(b"\xff\xfe\xfd\n")
            sys.stdout.buffer.flush()
    elif name == "huge":
        with LOCK:
            sys.stdout.write('{"jsonrpc":"2.0","method":"session/update","params":"')
            for _ in range(100):
                sys.stdout.write("x" * 1_000_000)
            sys.stdout.write('"}\n')
            sys.stdout.flush()
    elif name == "flood":
        for _ in range(int(rest) * 16):
            text(session, "x" * 65536)
    elif name == "foreign":
        for other in ("nobody", "sess_0", ""):
            text(other, "for somebody else")
            outcome = answer_to(ask(other, "foreign"))
            note(f"foreign {json.dumps(outcome.get('result'))}")
    elif name == "nonsense":
        send({"id": 99999, "result": {"stopReason": "end_turn"}})
        send({"id": "what", "error": {"code": 1, "message": "?"}})
        send({"id": 1, "result": {}})
    elif name in ("twice", "error", "auth", "cancelled", "refusal"):
        return name
    else:
        text(session, word + " ")
    return None


def prompt(number, session, words):
    end = None
    for word in words:
        end = step(session, word) or end
        if canceled(session).is_set() and word not in ("late",):
            end = "cancelled"
            break
    if canceled(session).is_set():
        end = "cancelled"
    canceled(session).clear()
    if end == "error":
        send({"id": number, "error": {"code": -32603, "message": "Internal error", "data": {"details": "no luck"}}})
    elif end == "auth":
        send({"id": number, "error": {"code": -32000, "message": "Authentication required"}})
    else:
        reason = end if end in ("cancelled", "refusal") else "end_turn"
        result = {"stopReason": reason, "usage": {"inputTokens": 10, "outputTokens": 5, "totalTokens": 15}}
        send({"id": number, "result": result})
        if end == "twice":
            send({"id": number, "result": {"stopReason": "refusal"}})


MODES = {"currentModeId": "ask", "availableModes": [{"id": "ask", "name": "Ask"}, {"id": "code", "name": "Code"}]}


def take(message):
    method, number, params = message.get("method"), message.get("id"), message.get("params") or {}
    if method is None:
        with ANSWERED:
            ANSWERS[number] = message
            ANSWERED.notify_all()
        return
    if method == "initialize":
        if option("mute"):
            return
        abilities = {"loadSession": not option("no-load"), "promptCapabilities": {"embeddedContext": True, "image": True},
                     "sessionCapabilities": {**({"resume": {}} if option("resume") else {}),
                                             **({"list": {}} if option("lists") else {})}}
        send({"id": number, "result": {
            "protocolVersion": int(value_of("version") or 1), "agentCapabilities": abilities,
            "agentInfo": {"name": "fault", "version": "1.0"},
            "authMethods": [{"id": "browser", "name": "Log in with a browser"}]}})
    elif method == "session/new":
        note(f"new {json.dumps(params)}")
        if option("login") and not os.path.exists(os.path.join(NOTES, "logged-in")):
            send({"id": number, "error": {"code": -32000, "message": "Authentication required"}})
            return
        session = f"fault-{os.getpid()}-{time.monotonic_ns()}"
        open(os.path.join(NOTES, session), "w").close()
        send({"id": number, "result": {"sessionId": session, **({"modes": MODES} if option("modes") else {})}})
        update(session, "available_commands_update", availableCommands=[{"name": "early", "description": "Bird"}])
    elif method in ("session/load", "session/resume"):
        note(f"{method} {json.dumps(params)}")
        session = params["sessionId"]
        if option("loses") or not os.path.exists(os.path.join(NOTES, session)):
            send({"id": number, "error": {"code": -32002, "message": "Resource not found"}})
            return
        if method == "session/load":
            for _ in range(2 if option("replays-twice") else 1):
                text(session, "replayed question", "user_message_chunk")
                text(session, "replayed answer")
                call(session, "replayed", "completed")
        send({"id": number, "result": None})
        if option("replays-late"):
            text(session, "replayed again")
            call(session, "replayed", "completed")
    elif method == "session/list" and option("lists"):
        kept = sorted(name for name in os.listdir(NOTES) if name.startswith(("fault-", "kept-")))
        listed = [{"sessionId": name, "cwd": params.get("cwd") or os.getcwd(), "title": f"About {name}"} for name in kept]
        send({"id": number, "result": {"sessions": listed}})
    elif method == "authenticate":
        note(f"authenticate {params['methodId']}")
        if params["methodId"] == "browser":
            open(os.path.join(NOTES, "logged-in"), "w").close()
            send({"id": number, "result": {}})
        else:
            send({"id": number, "error": {"code": -32602, "message": "Invalid params"}})
    elif method == "session/set_mode":
        note(f"mode {params['modeId']}")
        if params["modeId"] == "forbidden":
            send({"id": number, "error": {"code": -32602, "message": "Invalid params"}})
        else:
            send({"id": number, "result": {}})
    elif method == "session/prompt":
        words = []
        for block in params["prompt"]:
            note(f"prompt {json.dumps(block)}")
        words = params["prompt"][-1].get("text", "").split()
        threading.Thread(target=prompt, args=(number, params["sessionId"], words), daemon=True).start()
    elif method == "session/cancel":
        note("cancel heard")
        canceled(params["sessionId"]).set()
    elif number is not None:
        send({"id": number, "error": {"code": -32601, "message": "Method not found"}})


def main():
    note(f"start {os.getpid()}")
    note("env " + " ".join(sorted(os.environ)))
    if option("exits"):
        print("cannot go on like this", file=sys.stderr, flush=True)
        sys.exit(3)
    for line in sys.stdin.buffer:
        take(json.loads(line))


main()
