"""LiteLLM's proxy over the wires that it offers: what it translates, its refusals, and another model in its place."""

import json

import wires
from daemon import Daemon
from servers import PROXY_KEY

WRONG_KEY = "sk-live-wrong-proxy-4713"
MODELS = ["smol", "mock", "busy", "full", "broken"]


def config(proxy):
    return wires.config(proxy.url, MODELS, "LIVE_PROXY_KEY")


def turns(binary, proxy, report):
    with Daemon(binary, config(proxy), {"LIVE_PROXY_KEY": PROXY_KEY}) as daemon:
        for wire in wires.WIRES:
            turn = wires.called(daemon, daemon.session(wire + ":smol"), f"{wire}.txt")
            report(f"{wire}: a tool call through the proxy, then {turn.answer.strip()[:40]!r}")
        session = daemon.session("chat:smol")
        for number, wire in enumerate(wires.WIRES):
            daemon.ask("PATCH", f"/v1/sessions/{session}", {"model": wire + ":smol"})
            wires.called(daemon, session, f"{number}.txt")
        report("one conversation went through all three wires of the proxy")
        # Over Messages the proxy streams no mock, and answers in one piece although a stream was asked for.
        for wire in ["chat", "messages"]:
            turn = daemon.turn(daemon.session(wire + ":mock"), "Where does a horse live?")
            assert turn.answer == "A horse lives in a stable.", turn.events[-1]
            report(f"{wire}: a mocked answer in {turn.deltas} deltas")


def refusals(binary, proxy, report):
    with Daemon(binary, config(proxy), {"LIVE_PROXY_KEY": PROXY_KEY}) as daemon:
        for wire in ["chat", "messages"]:
            turn = daemon.turn(daemon.session(wire + ":busy"), "Hello.")
            waited = turn.of("model_waiting")
            assert [wait["attempt"] for wait in waited] == [1, 2, 3], waited
            assert all(wait["error"]["code"] == "rate_limited" and wait["wait_ms"] > 0 for wait in waited), waited
            assert turn.error["code"] == "rate_limited" and "attempt 4 of 4" in turn.error["message"], turn.error
            report(f"{wire}: a rate limit was waited for three times, then told")

            turn = daemon.turn(daemon.session(wire + ":busy", fallback_models=["chat:mock"]), "Hello.")
            assert turn.end == "turn_completed" and turn.answer == "A horse lives in a stable.", turn.events[-1]
            resolved = [data["model"] for data in turn.of("model_resolved")]
            assert resolved == ["chat:mock"], resolved
            report(f"{wire}: another model took the place of one that was too busy")

            turn = daemon.turn(daemon.session(wire + ":full"), "Hello.")
            assert turn.error["code"] == "context_overflow" and turn.error["hint"], turn.error
            assert not turn.of("model_waiting"), turn.of("model_waiting")
            report(f"{wire}: a full window was recognised")

            turn = daemon.turn(daemon.session(wire + ":broken"), "Hello.")
            assert turn.error["code"] == "server_error" and turn.of("model_waiting"), turn.error
            report(f"{wire}: an internal error was tried again, then told")
        # The proxy cannot mock Responses as a stream, and says so in a 500 that is itself a stream.
        turn = daemon.turn(daemon.session("responses:mock"), "Hello.")
        assert turn.error["code"] == "server_error" and "Error processing stream" in turn.error["message"], turn.error
        report("responses: an error that came as a stream with status 500 was told")
    with Daemon(binary, config(proxy), {"LIVE_PROXY_KEY": WRONG_KEY}) as daemon:
        for wire in wires.WIRES:
            turn = daemon.turn(daemon.session(wire + ":mock"), "Hello.")
            # Without a database the proxy does not call a wrong key a wrong key.
            assert "No connected db" in turn.error["message"], turn.error
            with open(daemon.log) as log:
                assert WRONG_KEY not in json.dumps(turn.events) + log.read()
        report("a key that the proxy does not know ended every turn with the proxy's own words")
