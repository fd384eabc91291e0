"""Gives schemathesis real things to work with: sessions, turns, messages and approvals that exist.

What is made up but well-formed (an id, a path, a model) is replaced by one that the daemon knows, so
that requests reach the handlers. What is malformed on purpose is left as it is. The ids that are used
are kept in OSTLER_SCENES for the script; nothing here judges an answer.
"""

import json
import os
import re
import time
import urllib.request

import schemathesis

BASE = os.environ["OSTLER_BASE"]
TOKEN = os.environ["OSTLER_TOKEN"]
WORKSPACE = os.environ["OSTLER_WORKSPACE"]

ID = re.compile(r"(sess|turn|msg)_[0-9a-f]{32}")
# What uses its scene up when it succeeds, so that the next request needs a fresh one.
CONSUMING = {"close_session", "withdraw_message", "answer_approval", "cancel", "retry_turn", "run"}

scenes = {}


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
    """Lets a turn run into an approval, and returns what waits."""
    say(session, "run `true`")
    for _ in range(200):
        pending = call("GET", f"/v1/sessions/{session}")["pending_approvals"]
        if pending:
            return pending[0]
        time.sleep(0.02)
    raise RuntimeError("the demo model did not ask for an approval")


def make_scene(operation):
    """A session in which this operation can succeed."""
    session = call("POST", "/v1/sessions", {"workspace_path": WORKSPACE})["session_id"]
    scene = {"session_id": session}
    if operation in ("answer_approval", "cancel", "withdraw_message", "list_queue", "retry_turn"):
        scene["approval"] = waiting(session)
        scene["turn_id"] = scene["approval"]["turn_id"]
    if operation in ("withdraw_message", "list_queue"):
        scene["message_id"] = say(session, "hello")["message_id"]
    if operation == "retry_turn":
        call("POST", f"/v1/sessions/{session}/cancel")
    if operation == "run":
        say(session, "hello", auto_run=False)
    return scene


def scene_of(operation):
    if operation not in scenes:
        scenes[operation] = make_scene(operation)
    return scenes[operation]


def name_of(case):
    return case.operation.definition.raw["operationId"]


@schemathesis.hook
def before_call(context, case, kwargs):
    name = name_of(case)
    if isinstance(case.query, dict) and name == "session_events":
        # A stream without end is no answer that could be checked.
        if case.query.get("follow") in (None, True, "true"):
            case.query["follow"] = "false"
    if isinstance(case.path_parameters, dict) and "session_id" in case.path_parameters:
        for key, value in case.path_parameters.items():
            if isinstance(value, str) and ID.fullmatch(value) and key in scene_of(name):
                case.path_parameters[key] = scene_of(name)[key]
    if isinstance(case.body, dict):
        known_words(name, case.body)


def known_words(name, body):
    """Puts what exists in the place of what is only well-formed."""

    def replace(key, value):
        if isinstance(body.get(key), str):
            body[key] = value

    if name == "create_session":
        replace("workspace_path", WORKSPACE)
        replace("agent", "native")
        if isinstance(body.get("parent_session_id"), str) and ID.fullmatch(body["parent_session_id"]):
            body["parent_session_id"] = scene_of(name)["session_id"]
    if name in ("create_session", "update_session"):
        replace("model", "demo:demo")
    if name == "answer_approval":
        approval = scene_of(name)["approval"]
        if isinstance(body.get("turn_id"), str) and ID.fullmatch(body["turn_id"]):
            body["turn_id"] = approval["turn_id"]
        replace("tool_call_id", approval["tool_call_id"])


@schemathesis.hook
def after_call(context, case, response):
    name = name_of(case)
    if name in CONSUMING and response.status_code < 300:
        scenes.pop(name, None)
