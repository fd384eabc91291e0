"""llama.cpp's server over all three wires: answers, tool calls, cancellation, refusals, and errors in the middle.

The model is far too small to be an agent, so it is told word for word which call to make. What is checked is that
calls, results and errors get through, not what it makes of them.
"""

import json
import os
import threading
import urllib.request

from daemon import Daemon
from servers import HERE, LlamaCpp

WIRES = ["chat", "responses", "messages"]
KINDS = {"chat": ("openai-chat", "/v1"), "responses": ("openai-responses", "/v1"), "messages": ("anthropic", "")}
RIGHT_KEY, WRONG_KEY = "sk-live-right-4711", "sk-live-wrong-4712"
# How often the model is told to make a call before it counts as a failure that it made none.
TRIES = 3


def config(url, models=("smol",), key_variable=None):
    """Three providers that are one server, named after how it is spoken to."""
    text = "[approval]\nrequire_for_kinds = []\n[models]\ndiscover = false\n"
    for wire in WIRES:
        kind, path = KINDS[wire]
        text += f'[providers.{wire}]\nkind = "{kind}"\nbase_url = "{url}{path}"\nmodels = {json.dumps(list(models))}\n'
        text += f'api_key_env = "{key_variable}"\n' if key_variable else ""
    # Messages always says how long an answer may be, whatever the server thinks; a small model may never end it.
    return text + '[models.info."messages:smol"]\nmax_output_tokens = 200\n'


def call_prompt(path):
    call = json.dumps({"name": "read_file", "arguments": {"path": path}})
    return f"Repeat this exactly, and nothing else:\n<tool_call>\n{call}\n</tool_call>"


def called(daemon, session, path):
    """Has the model read a file, and returns the turn in which it did and then said something."""
    with open(os.path.join(daemon.work, path), "w") as file:
        file.write(f"The horse in {path} is grey.\n")
    for _ in range(TRIES):
        turn = daemon.turn(session, call_prompt(path))
        assert turn.end == "turn_completed", turn.events[-1]
        results = [result["tool_result"] for result in turn.of("tool_call_completed")]
        if any(result["ok"] and f"horse in {path}" in json.dumps(result["parts"]) for result in results):
            assert turn.answer.strip(), "nothing was said after the call"
            return turn
    raise AssertionError(f"no call in {TRIES} turns: {turn.answer!r}")


def answers(binary, server, report):
    with urllib.request.urlopen(server.url + "/props") as props:
        abilities = json.load(props)["chat_template_caps"]
    # Tools are left out without a word if the template has no place for them.
    assert abilities["supports_tools"] and abilities["supports_tool_calls"], abilities
    with Daemon(binary, config(server.url)) as daemon:
        for wire in WIRES:
            session = daemon.session(wire + ":smol")
            turn = daemon.turn(session, "What is a horse?")
            assert turn.end == "turn_completed", turn.events[-1]
            assert turn.deltas > 1 and turn.answer.strip(), (turn.deltas, turn.answer)
            assert turn.data["usage"]["output_tokens"] > 0, turn.data
            report(f"{wire}: streamed {turn.deltas} deltas: {turn.answer.strip()[:50]!r}")

            # A session of its own: so small a model would rather repeat its last answer than call anything.
            session = daemon.session(wire + ":smol")
            turn = called(daemon, session, f"{wire}.txt")
            report(f"{wire}: read a file by a tool call, then said {turn.answer.strip()[:40]!r}")

            cancel = lambda count: count == 3 and daemon.ask("POST", f"/v1/sessions/{session}/cancel")
            turn = daemon.turn(session, "Write a very long story about a stable and its horses.", cancel)
            assert turn.end == "turn_canceled" and turn.answer.strip(), (turn.events[-1], turn.answer)
            # The server has one slot, so it answers only if that was given back.
            turn = daemon.turn(session, "Say hello.")
            assert turn.end == "turn_completed" and turn.answer.strip(), turn.events[-1]
            report(f"{wire}: canceled in the middle, and the next turn was answered")


def one_conversation(binary, server, report):
    with Daemon(binary, config(server.url)) as daemon:
        session = daemon.session("chat:smol")
        for number, wire in enumerate(WIRES + WIRES):
            daemon.ask("PATCH", f"/v1/sessions/{session}", {"model": wire + ":smol"})
            turn = called(daemon, session, f"{number}.txt")
            assert not turn.of("model_waiting"), f"{wire} refused what the others said: {turn.of('model_waiting')}"
        report("one conversation went through all three wires, twice, with tool calls in each turn")


def errors(binary, model, report):
    # Two answers share one small window and never end by themselves, so that both meet its end while they stream.
    shared = ["n_ctx=512", "n_predict=-1", "n_parallel=2", "kv_unified=true", "sampling.ignore_eos=true"]
    with LlamaCpp(model, *shared, f'api_keys=["{RIGHT_KEY}"]') as server:
        with Daemon(binary, config(server.url, key_variable="LIVE_KEY"), {"LIVE_KEY": RIGHT_KEY}) as daemon:
            for wire in WIRES:
                in_the_middle(daemon, wire, report)
                turn = daemon.turn(daemon.session(wire + ":smol"), "horse " * 3000)
                assert turn.error["code"] == "context_overflow", turn.error
                assert not turn.of("model_waiting"), "a prompt that is too long does not get shorter by waiting"
                report(f"{wire}: a prompt beyond the window: {turn.error['code']}: {turn.error['message'][:80]}")
        with Daemon(binary, config(server.url, key_variable="LIVE_KEY"), {"LIVE_KEY": WRONG_KEY}) as daemon:
            for wire in WIRES:
                turn = daemon.turn(daemon.session(wire + ":smol"), "Say hello.")
                assert turn.error["code"] == "unauthorized", turn.error
                assert f"[providers.{wire}]" in turn.error["hint"] and "refused" in turn.error["hint"], turn.error
                with open(daemon.log) as log:
                    assert WRONG_KEY not in json.dumps(turn.events) + log.read()
                report(f"{wire}: a wrong key: {turn.error['message'][:60]}")


def in_the_middle(daemon, wire, report):
    sessions = [daemon.session(wire + ":smol") for _ in range(2)]
    turns = []
    threads = [threading.Thread(target=lambda s=s: turns.append(daemon.turn(s, "Tell a story."))) for s in sessions]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    failed = [turn for turn in turns if turn.end == "turn_failed"]
    assert len(turns) == 2 and failed, [turn.events[-1] for turn in turns]
    for turn in failed:
        assert turn.deltas > 1 and turn.answer.strip(), "what came before the error is kept"
        assert turn.error["code"] == "context_overflow", turn.error
    states = [daemon.ask("GET", f"/v1/sessions/{session}")["status"] for session in sessions]
    assert states.count("failed") == len(failed), states
    report(f"{wire}: an error after {failed[0].deltas} deltas of a good stream: {failed[0].error['message'][:90]}")
