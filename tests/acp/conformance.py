#!/usr/bin/env python3
"""Holds `ostler acp` to the rules of the Agent Client Protocol, version 1: python3 conformance.py SCHEMA WORKSPACE COMMAND…
Each rule has a process of its own. Every line that one writes must be what the protocol's published schema says, with no
field that the schema does not know. Prints the rules that were kept, and ends with 1 where one was not. Used by the tests of
crates/cli; the prompts are played by their scripted model."""

import base64
import json
import queue
import subprocess
import sys
import threading
import traceback
from pathlib import Path

from jsonschema import Draft202012Validator

schema_file, cwd, *command = sys.argv[1:]
DEFINITIONS = json.loads(Path(schema_file).read_text())["$defs"]
PATIENCE = 30
# How long nothing must come after which nothing comes any more.
QUIET = 0.3
STOP_REASONS = {"end_turn", "max_tokens", "max_turn_requests", "refusal", "cancelled"}
PAST = {"user_message_chunk", "agent_message_chunk", "agent_thought_chunk"}
RULES, AGENTS = [], []


def rule(function):
    RULES.append(function)
    return function


def definition(method, ending):
    """The name of what the schema says of a method's request, answer or notification."""
    return next(name for name, of in DEFINITIONS.items() if of.get("x-method") == method and name.endswith(ending))


def fields(of):
    """The names of all fields that an object of this definition may have; None where it may have any."""
    known = set(of.get("properties", {}))
    for part in [*of.get("allOf", []), *of.get("anyOf", []), *of.get("oneOf", []), of]:
        if "$ref" in part:
            known |= fields(DEFINITIONS[part["$ref"].split("/")[-1]])
        elif part is not of:
            known |= fields(part)
    return known


def valid(name, value):
    errors = Draft202012Validator({"$ref": f"#/$defs/{name}", "$defs": DEFINITIONS}).iter_errors(value)
    wrong = [f"{error.json_path}: {error.message}" for error in errors]
    assert not wrong, f"{name}: {wrong} in {value}"
    foreign = set(value) - fields(DEFINITIONS[name]) - {"_meta"}
    assert not foreign, f"{name} has no {foreign}: {value}"


class Agent:
    """The agent, and a client that offers it nothing unless `offers` says so."""

    def __init__(self, offers=None, version=1, **more):
        pipes = {"stdin": subprocess.PIPE, "stdout": subprocess.PIPE, "stderr": subprocess.DEVNULL}
        self.process = subprocess.Popen(command, cwd=cwd, **pipes)
        AGENTS.append(self)
        self.lines, self.asked, self.updates, self.requests = queue.Queue(), {}, [], []
        threading.Thread(target=self.read, daemon=True).start()
        about = {"name": "conformance", "version": "1.0.0"}
        params = {"protocolVersion": version, "clientInfo": about, "clientCapabilities": offers or {}, **more}
        self.told = self.ask("initialize", params)

    def read(self):
        for line in self.process.stdout:
            self.lines.put(line)
        self.lines.put(None)

    def write(self, line):
        self.process.stdin.write(line.encode() + b"\n")
        self.process.stdin.flush()

    def send(self, method, params, id=None):
        id = len(self.asked) if id is None else id
        self.asked[id] = method
        self.write(json.dumps({"jsonrpc": "2.0", "id": id, "method": method, "params": params}))
        return id

    def notify(self, method, params):
        self.write(json.dumps({"jsonrpc": "2.0", "method": method, "params": params}))

    def next(self, patience=PATIENCE):
        """The next message, held to the schema; None at the end, or after so long without one."""
        try:
            line = self.lines.get(timeout=patience)
        except queue.Empty:
            return None
        if line is None:
            return None
        message = json.loads(line.decode())
        assert line.endswith(b"\n") and message["jsonrpc"] == "2.0", line
        if "method" in message:
            valid(definition(message["method"], "Request" if "id" in message else "Notification"), message["params"])
            if "id" in message:
                self.answer(message)
            elif message["method"] == "session/update":
                self.updates.append(message["params"])
        else:
            assert ("result" in message) != ("error" in message), f"one of result and error: {message}"
            if "result" in message:
                valid(definition(self.asked[message["id"]], "Response"), message["result"])
            else:
                text = message["error"]["message"]
                assert isinstance(message["error"]["code"], int) and text and "\n" not in text, message
        return message

    def answer(self, request):
        self.requests.append(request["method"])
        assert request["method"] == "session/request_permission", f"nothing else was offered: {request}"
        options = request["params"]["options"]
        chosen = next(option["optionId"] for option in options if option["kind"] == "allow_once")
        result = {"outcome": {"outcome": "selected", "optionId": chosen}}
        self.write(json.dumps({"jsonrpc": "2.0", "id": request["id"], "result": result}))

    def answered(self, id):
        """The answer to a request, whole."""
        while True:
            message = self.next()
            assert message is not None, f"{self.asked[id]} was not answered"
            if "method" not in message and message["id"] == id:
                return message

    def ask(self, method, params, id=None):
        answer = self.answered(self.send(method, params, id))
        assert "result" in answer, answer
        return answer["result"]

    def refused(self, method, params):
        answer = self.answered(self.send(method, params))
        assert "error" in answer, answer
        return answer["error"]["code"]

    def session(self, **more):
        return self.ask("session/new", {"cwd": cwd, "mcpServers": [], **more})["sessionId"]

    def prompt(self, session, *steps, blocks=(), **more):
        text = {"type": "text", "text": "play " + json.dumps(steps or ["said"])}
        return self.send("session/prompt", {"sessionId": session, "prompt": [text, *blocks], **more})

    def runs(self, session):
        """A prompt whose turn runs until it is stopped, and has begun."""
        id = self.prompt(session, [{"name": "shell", "input": {"command": "sleep 600"}}])
        while not any(update["update"].get("status") == "in_progress" for update in self.updates):
            assert self.next() is not None, "the turn has not begun"
        return id

    def ends(self, id):
        reason = self.answered(id)["result"]["stopReason"]
        assert reason in STOP_REASONS, reason
        return reason

    def quiet(self):
        message = self.next(QUIET)
        assert message is None, f"nothing more was to come: {message}"

    def listed(self, **params):
        return [session["sessionId"] for session in self.ask("session/list", params)["sessions"]]


def remembered():
    """A session in which something was said, to another process."""
    agent = Agent()
    session = agent.session()
    agent.ends(agent.prompt(session, "remembered"))
    return session


@rule
def version_1_is_answered_by_1_and_an_unknown_one_by_one_that_is_spoken():
    assert Agent().told["protocolVersion"] == 1
    future = Agent(version=65535, info={"name": "conformance", "version": "1.0.0"})
    assert future.told["protocolVersion"] == 1


@rule
def the_agent_says_its_name_and_version():
    about = Agent().told["agentInfo"]
    assert about["name"] == "ostler" and about["version"]


@rule
def there_is_a_way_to_log_in_that_registries_take_and_none_that_was_not_asked_for():
    methods = Agent().told["authMethods"]
    kinds = [method.get("type", "agent") for method in methods]
    assert "agent" in kinds and "terminal" not in kinds, kinds
    assert len({method["id"] for method in methods}) == len(methods)


@rule
def a_login_lets_sessions_be_made():
    agent = Agent()
    agent.ask("authenticate", {"methodId": agent.told["authMethods"][0]["id"]})
    assert agent.session()


@rule
def ids_come_back_as_they_were_given():
    agent = Agent()
    for id in ["a word", 7, 0, -1, 2**53]:
        assert agent.answered(agent.send("session/list", {}, id=id))["id"] == id


@rule
def notifications_are_not_answered():
    agent = Agent()
    agent.notify("session/cancel", {"sessionId": agent.session()})
    agent.notify("_conformance/unknown", {})
    agent.notify("session/cancel", {"sessionId": "never made"})
    while agent.next(QUIET) is not None:
        assert agent.updates, "updates of the new session are all that may come"


@rule
def what_is_not_known_is_refused_and_the_connection_goes_on():
    agent = Agent()
    assert agent.refused("conformance/unknown", {}) == -32601
    assert agent.refused("_conformance/unknown", {}) == -32601
    for method in ["session/fork", "session/set_model"]:
        assert agent.refused(method, {"sessionId": "never made", "modelId": "none"}) == -32601
    assert agent.refused("session/new", {"cwd": 7}) == -32602
    prompt = [{"type": "text", "text": "to nobody"}]
    assert agent.refused("session/prompt", {"sessionId": "never made", "prompt": prompt}) == -32002
    assert agent.session()


@rule
def lines_that_are_no_requests_harm_nobody():
    for line, code in [("not JSON", -32700), ('{"foo":"bar"}', -32600), ("[]", -32600), ("7", -32600)]:
        agent = Agent()
        agent.write(line)
        answer = json.loads(agent.lines.get(timeout=PATIENCE))
        assert answer["id"] is None and answer["error"]["code"] == code, (line, answer)
        assert agent.session(), line


@rule
def sessions_have_ids_of_their_own():
    agent = Agent()
    assert len({agent.session() for _ in range(3)}) == 3


@rule
def updates_of_a_turn_name_its_session_and_come_before_its_answer():
    agent = Agent()
    other, session = agent.session(), agent.session()
    while agent.next(QUIET) is not None:
        pass
    agent.updates.clear()
    assert agent.ends(agent.prompt(session, "one", [{"name": "shell", "input": {"command": "true"}}], "two")) == "end_turn"
    assert agent.updates and {update["sessionId"] for update in agent.updates} == {session} != {other}


@rule
def a_client_that_offers_nothing_is_asked_for_permission_only():
    agent = Agent()
    session = agent.session()
    calls = [
        [{"name": "write_file", "input": {"path": "conformance.txt", "content": "one\n"}}],
        [{"name": "read_file", "input": {"path": "conformance.txt"}}],
        [{"name": "shell", "input": {"command": "cat conformance.txt"}}],
    ]
    assert agent.ends(agent.prompt(session, *calls, "done")) == "end_turn"
    assert agent.requests and set(agent.requests) == {"session/request_permission"}
    assert Path(cwd, "conformance.txt").read_text() == "one\n"


@rule
def prompts_may_have_every_kind_of_content_and_meta():
    agent = Agent()
    session, offered = agent.session(), agent.told["agentCapabilities"]["promptCapabilities"]
    assert offered["image"] and offered["audio"] and offered["embeddedContext"]
    picture = base64.b64encode(base64.b64decode(PIXEL)).decode()
    text = {"uri": "file:///nowhere/a.txt", "mimeType": "text/plain", "text": "words"}
    blob = {"uri": "file:///nowhere/b.bin", "mimeType": "application/octet-stream", "blob": "AAEC"}
    for block in [
        {"type": "resource_link", "name": "a.txt", "uri": "file:///nowhere/a.txt"},
        {"type": "image", "mimeType": "image/png", "data": picture},
        {"type": "audio", "mimeType": "audio/wav", "data": "UklGRg=="},
        {"type": "resource", "resource": text},
        {"type": "resource", "resource": blob},
    ]:
        assert agent.ends(agent.prompt(session, "seen", blocks=[block])) == "end_turn", block
    trace = {"traceparent": "00-80e1afed08e019fc1110464cfa66635c-7a085853722dc6d2-01"}
    assert agent.ends(agent.prompt(session, _meta=trace)) == "end_turn"


@rule
def a_cancelled_prompt_is_answered_so_and_nothing_follows():
    agent = Agent()
    session = agent.session()
    running = agent.runs(session)
    agent.notify("session/cancel", {"sessionId": session})
    assert agent.ends(running) == "cancelled"
    agent.quiet()


@rule
def a_loaded_session_is_told_before_the_answer():
    session = remembered()
    agent = Agent()
    assert agent.told["agentCapabilities"]["loadSession"]
    agent.ask("session/load", {"sessionId": session, "cwd": cwd, "mcpServers": []})
    said = [update["update"] for update in agent.updates]
    assert any("remembered" in update.get("content", {}).get("text", "") for update in said), said
    assert {update["sessionId"] for update in agent.updates} == {session}
    while (late := agent.next(QUIET)) is not None:
        assert late["params"]["update"]["sessionUpdate"] not in PAST, late


@rule
def a_resumed_session_is_not_told_its_past():
    session = remembered()
    agent = Agent()
    agent.ask("session/resume", {"sessionId": session, "cwd": cwd})
    while agent.next(QUIET) is not None:
        pass
    assert not [update for update in agent.updates if update["update"]["sessionUpdate"] in PAST]
    assert agent.ends(agent.prompt(session, "still here")) == "end_turn"


@rule
def sessions_are_listed_by_directory():
    agent = Agent()
    session = agent.session()
    assert session in agent.listed() and session in agent.listed(cwd=cwd)
    assert agent.listed(cwd="/nowhere/at/all") == []


@rule
def a_deleted_session_is_listed_no_longer_and_deleting_is_done_once():
    agent = Agent()
    session, kept = agent.session(), agent.session()
    running = agent.runs(session)
    delete = agent.send("session/delete", {"sessionId": session})
    assert agent.ends(running) == "cancelled"
    agent.answered(delete)
    agent.ask("session/delete", {"sessionId": session})
    agent.ask("session/delete", {"sessionId": "never made"})
    agent.ask("session/delete", {"sessionId": "01900000-0000-7000-8000-000000000000"})
    listed = agent.listed()
    assert kept in listed and session not in listed, listed


@rule
def closing_a_session_cancels_what_runs_in_it():
    agent = Agent()
    idle, busy = agent.session(), agent.session()
    agent.ask("session/close", {"sessionId": idle})
    running = agent.runs(busy)
    close = agent.send("session/close", {"sessionId": busy})
    assert agent.ends(running) == "cancelled"
    agent.answered(close)
    agent.quiet()


@rule
def modes_are_those_that_are_offered_and_can_be_set():
    agent = Agent()
    made = agent.ask("session/new", {"cwd": cwd, "mcpServers": []})
    offered = [mode["id"] for mode in made["modes"]["availableModes"]]
    assert made["modes"]["currentModeId"] in offered
    other = next(mode for mode in offered if mode != made["modes"]["currentModeId"])
    agent.ask("session/set_mode", {"sessionId": made["sessionId"], "modeId": other})
    while agent.next(QUIET) is not None:
        pass
    told = [update["update"] for update in agent.updates]
    assert [update["currentModeId"] for update in told if update["sessionUpdate"] == "current_mode_update"][-1] == other


@rule
def options_are_selections_with_a_valid_value_and_setting_one_tells_all():
    agent = Agent()
    made = agent.ask("session/new", {"cwd": cwd, "mcpServers": []})
    before = made["configOptions"]
    assert before and all(option["type"] == "select" for option in before), "the client knows no switches"
    tried = 0
    for option in before:
        choices = [choice["value"] for part in option["options"] for choice in part.get("options", [part])]
        assert option["currentValue"] in choices, option
        for choice in choices[:2]:
            chosen = {"sessionId": made["sessionId"], "configId": option["id"], "value": choice}
            after = agent.ask("session/set_config_option", chosen)["configOptions"]
            assert {option["id"] for option in after} >= {option["id"] for option in before}
            assert next(same for same in after if same["id"] == option["id"])["currentValue"] == choice
            tried += 1
    assert tried


@rule
def the_agent_ends_when_its_input_does():
    agent = Agent()
    agent.session()
    agent.process.stdin.close()
    assert agent.process.wait(PATIENCE) == 0


PIXEL = "iVBORw0KGgoAAAANSUhEUgAAAAEAAAABCAYAAAAfFcSJAAAADUlEQVR42mNkYPhfDwAChwGA60e6kgAAAABJRU5ErkJggg=="

broken = []
for check in RULES:
    try:
        check()
        print("kept:", check.__name__.replace("_", " "))
    except Exception:
        broken.append(check.__name__)
        print("BROKEN:", check.__name__.replace("_", " "))
        traceback.print_exc(file=sys.stdout)
    while AGENTS:
        AGENTS.pop().process.stdin.close()
sys.exit(bool(broken))
