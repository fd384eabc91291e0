"""Gives schemathesis real things to work with: sessions, turns, messages and approvals that exist.

What is made up but well-formed (an id, a path, a model) is replaced by one that the daemon knows, so
that requests reach the handlers. What is malformed on purpose is left as it is, and so are ids that an
earlier answer gave out. Nothing here judges an answer.
"""

import json
import os
import pathlib
import re
import time
import urllib.error
import urllib.request

import schemathesis

BASE = os.environ["OSTLER_BASE"]
TOKEN = os.environ["OSTLER_TOKEN"]
WORKSPACE = os.environ["OSTLER_WORKSPACE"]

UUID = r"[0-9a-f]{8}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{12}"
ID = re.compile(rf"(?:sess|turn|msg)_[0-9a-f]{{32}}|{UUID}")
# What uses its scene up when it succeeds, so that the next request needs a fresh one.
CONSUMING = {
    "close_session", "withdraw_message", "answer_approval", "cancel", "retry_turn", "run", "compact", "run_subtasks",
    "remove_project", "change_queued",
}
# What names a session and something in it.
TOGETHER = {"withdraw_message", "change_queued", "answer_approval", "retry_turn", "fork_session", "get_turn_diff"}
# What a session may be called.
NAME = re.compile(r"[A-Za-z0-9_-][A-Za-z0-9._-]{0,127}")
# A conversation, as another program keeps it.
TRANSCRIPT = b'{"role":"user","content":"hello","timestamp":1700000000000}\n'

# A session for each operation in which that operation can succeed.
scenes = {}
# The ids that answers gave out.
given_out = set()


def call(method, path, body=None):
    request = urllib.request.Request(BASE + path, method=method)
    request.add_header("Authorization", "Bearer " + TOKEN)
    data = None
    if body is not None:
        request.add_header("Content-Type", "application/json")
        data = json.dumps(body).encode()
    with urllib.request.urlopen(request, data, timeout=10) as answer:
        return json.load(answer)


def say(session, text, **more):
    body = {"role": "user", "parts": [{"type": "text", "text": text}], **more}
    return call("POST", f"/v1/sessions/{session}/messages", body)


def waiting(session):
    """Lets a turn run into an approval, and returns what waits. Each asks for a command of its own, since an
    answer with the scope `always` allows that command in every session."""
    say(session, f"run `echo {session} > said.txt`")
    for _ in range(200):
        pending = call("GET", f"/v1/sessions/{session}")["pending_approvals"]
        if pending:
            return pending[0]
        time.sleep(0.02)
    raise RuntimeError("the demo model did not ask for an approval")


def make_scene(operation):
    """A session in which this operation can succeed."""
    if operation == "remove_project":
        return {"project_id": call("POST", "/v1/projects", {"path": new_directory()})["id"]}
    session = call("POST", "/v1/sessions", {"workspace_path": WORKSPACE})["session_id"]
    scene = {"session_id": session}
    if operation in ("answer_approval", "cancel", "withdraw_message", "change_queued", "list_queue", "retry_turn"):
        scene["approval"] = waiting(session)
        scene["turn_id"] = scene["approval"]["turn_id"]
    if operation in ("withdraw_message", "change_queued", "list_queue"):
        scene["message_id"] = say(session, "hello")["message_id"]
    if operation == "change_queued":
        scene["before"] = say(session, "hello again")["message_id"]
    if operation == "retry_turn":
        call("POST", f"/v1/sessions/{session}/cancel")
    if operation == "run":
        say(session, "hello", auto_run=False)
    if operation in ("fork_session", "get_turn_diff"):
        scene["turn_id"] = say(session, "hello")["turn_id"]
        settled(session)
    return scene


def new_directory():
    """A directory that is no project yet."""
    path = pathlib.Path(WORKSPACE, "projects", str(time.monotonic_ns()))
    path.mkdir(parents=True)
    return str(path)


def settled(session):
    """Waits until no turn runs."""
    for _ in range(200):
        if call("GET", f"/v1/sessions/{session}")["running_turn_id"] is None:
            return
        time.sleep(0.02)
    raise RuntimeError("the demo model did not come to an end")


def attach(session):
    """Puts a file beside a session's log, if there is such a session."""
    try:
        folder = pathlib.Path(call("GET", f"/v1/sessions/{session}")["log_dir"], "attachments")
    except urllib.error.HTTPError:
        return
    folder.mkdir(exist_ok=True)
    folder.joinpath("picture.png").write_bytes(b"not really a picture")


def scene_of(operation):
    if operation not in scenes:
        scenes[operation] = make_scene(operation)
    return scenes[operation]


def name_of(case):
    return case.operation.definition.raw["operationId"]


def made_up(name, value):
    """Whether an id is only well-formed; some operations need several that belong together."""
    return isinstance(value, str) and ID.fullmatch(value) and (name in TOGETHER or value not in given_out)


@schemathesis.hook
def before_call(context, case, kwargs):
    name = name_of(case)
    if isinstance(case.query, dict):
        declared = {param["name"] for param in case.operation.definition.raw["parameters"]}
        for key, value in case.query.items():
            # Nothing would be sent of these, and so nothing could be refused.
            if key not in declared and value in (None, []):
                case.query[key] = "nothing"
        known_query(name, case.query)
    for key, value in list((case.headers or {}).items()):
        if key.lower() == "last-event-id" and re.fullmatch("[0-9]+", str(value)):
            case.headers[key] = "0"
    if isinstance(case.path_parameters, dict):
        for key, value in case.path_parameters.items():
            if made_up(name, value) and key in scene_of(name):
                case.path_parameters[key] = scene_of(name)[key]
    if name == "import_session":
        # Bytes that are made up are no session; what a bad one leads to is tested elsewhere.
        case.body = TRANSCRIPT
        if isinstance(case.query, dict) and case.query.get("format") in ("zip", "ndjson"):
            case.query["format"] = "transcript"
        if isinstance(case.query, dict) and "workspace_path" not in case.query:
            case.query["workspace_path"] = WORKSPACE
    if isinstance(case.body, dict):
        case.body = whole_numbers(case.body)
        known_words(name, case.body)
        if name in ("send_message", "change_queued") and "attachments/picture.png" in json.dumps(case.body):
            attach((case.path_parameters or {}).get("session_id"))


def known_query(name, query):
    """A cursor must have been given out, and a stream without end is no answer that could be checked."""
    if name == "list_sessions" and isinstance(query.get("cursor"), str):
        del query["cursor"]
    if name in ("get_trust", "list_tools", "import_session", "list_agent_sessions") and isinstance(query.get("workspace_path"), str):
        query["workspace_path"] = WORKSPACE
    if name == "list_directories" and isinstance(query.get("path"), str):
        query["path"] = WORKSPACE
    if name == "usage":
        for key in ("from", "to"):
            if isinstance(query.get(key), str):
                query[key] = "2026-01-31"
    if name == "session_events":
        if query.get("follow") in (None, True, "true"):
            query["follow"] = "false"
        after = str(query.get("after"))
        if re.fullmatch("[0-9]+", after) and int(after) < 2**64:
            query["after"] = "0"


def whole_numbers(value):
    """Writes 3.0 as 3: a schema takes both for an integer, but no client would send the former."""
    if isinstance(value, dict):
        return {key: whole_numbers(member) for key, member in value.items()}
    if isinstance(value, list):
        return [whole_numbers(member) for member in value]
    if isinstance(value, float) and value.is_integer():
        return int(value)
    return value


def known_words(name, body):
    """Puts what exists in the place of what is only well-formed."""

    def replace(key, value):
        if isinstance(body.get(key), str):
            body[key] = value

    if name == "create_session":
        replace("workspace_path", WORKSPACE)
        replace("agent", "native")
        if made_up(name, body.get("parent_session_id")):
            body["parent_session_id"] = scene_of(name)["session_id"]
        replace("log_dir", WORKSPACE + "/logs")
        # Only the empty text means something: clients of another program send it.
        replace("spec_path", "")
        # A name is there once.
        if isinstance(body.get("name"), str) and NAME.fullmatch(body["name"]):
            body["name"] = f"name-{time.monotonic_ns()}"
    if name == "log_in" and isinstance(body.get("code"), str):
        # A code that is made up would have to wait for its refusal.
        body["code"] = call("POST", "/v1/login/code")["address"].rsplit("=", 1)[1]
    if name == "fork_session" and made_up(name, body.get("turn_id")):
        body["turn_id"] = scene_of(name)["turn_id"]
    if name == "run_subtasks":
        known_plan(body)
    if name in ("create_session", "update_session"):
        # The daemon's own agent has no settings, and no sessions elsewhere.
        chosen = body.get("agent_settings")
        if isinstance(chosen, dict) and all(isinstance(choice, str) for choice in chosen.values()):
            body["agent_settings"] = {}
        if isinstance(body.get("adopt"), str):
            body["adopt"] = None
        replace("model", "demo:demo")
        models = body.get("fallback_models")
        if isinstance(models, list) and all(isinstance(model, str) for model in models):
            body["fallback_models"] = ["demo:demo"]
        allow_no_commands(body)
        policy = body.get("policy")
        if isinstance(policy, dict) and isinstance(policy.get("model"), dict) and body.get("model", 0) in (None, 0):
            # There is the demo, and nothing that could do more.
            body["model"] = "demo:demo" if name == "create_session" else None
    if name == "add_project" and isinstance(body.get("path"), str):
        body["path"] = new_directory()
    if name == "set_trust":
        replace("workspace_path", WORKSPACE)
    if name == "attach_file":
        replace("data", "aGVsbG8=")
    if name == "change_queued" and made_up(name, body.get("before")):
        body["before"] = scene_of(name)["before"]
    if name in ("send_message", "change_queued") and isinstance(body.get("parts"), list):
        for part in body["parts"]:
            if isinstance(part, dict) and isinstance(part.get("ref"), str):
                part["ref"] = "attachments/picture.png"
    if name == "answer_approval":
        approval = scene_of(name)["approval"]
        # The empty text counts as none, which the description does not promise.
        if body.get("turn_id") == "":
            body["turn_id"] = "turn_"
        if made_up(name, body.get("turn_id")):
            body["turn_id"] = approval["turn_id"]
        replace("tool_call_id", approval["tool_call_id"])
        # The call offers no options of its own.
        if isinstance(body.get("option"), str):
            body["option"] = None
        # It is no review that waits.
        if isinstance(body.get("review"), dict):
            body["review"] = None


def known_plan(body):
    """A plan must hold together, which no schema can say: each piece has a name of its own, and waits for none."""
    subtasks = body.get("subtasks")
    if not isinstance(subtasks, list) or not 1 <= len(subtasks) <= 200:
        return
    for number, piece in enumerate(subtasks[:3]):
        if not isinstance(piece, dict):
            continue
        for key, value in (("id", f"piece-{number}"), ("prompt", "hello")):
            if isinstance(piece.get(key), str) and piece[key].strip() and len(piece[key]) <= 100:
                piece[key] = value
        for key, value in (("agent", "native"), ("model", "demo:demo")):
            if isinstance(piece.get(key), str):
                piece[key] = value
        depends_on = piece.get("depends_on")
        if isinstance(depends_on, list) and all(isinstance(name, str) for name in depends_on):
            piece["depends_on"] = []
    if all(isinstance(piece, dict) for piece in subtasks):
        del subtasks[3:]


def allow_no_commands(body):
    """A pattern of a rule must not allow anything, which no schema can say."""
    for key in ("policy", "approval", "rules"):
        body = body.get(key) if isinstance(body, dict) else None
    for rule in body if isinstance(body, list) else []:
        if isinstance(rule, dict) and isinstance(rule.get("commands"), list):
            rule["commands"] = []


@schemathesis.hook
def after_call(context, case, response):
    name = name_of(case)
    if response.status_code < 300:
        # A file may be anything.
        given_out.update(ID.findall(response.content.decode(errors="replace")))
        if name in CONSUMING:
            scenes.pop(name, None)
