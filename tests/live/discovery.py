"""What `ostler models` finds out about servers, and which model is chosen when nobody has chosen one."""

import socket

import daemon
import proxy
import wires
from servers import PROXY_KEY, LlamaCpp, answers

# Where the presets of servers on this machine look.
PRESETS = {"ollama": 11434, "llamacpp": 8080, "lmstudio": 1234, "vllm": 8000}


def listed(binary, server, proxied, report):
    text = f'[providers.llama]\nkind = "openai-chat"\nbase_url = "{server.url}/v1"\n'
    text += f'[providers.lite]\nkind = "openai-chat"\nbase_url = "{proxied.url}/v1"\napi_key_env = "LIVE_PROXY_KEY"\n'
    found = daemon.models(binary, text, {"LIVE_PROXY_KEY": PROXY_KEY})["models"]
    names = {model["name"] for model in found}
    expected = {"llama:smol"} | {"lite:" + name for name in proxy.MODELS}
    assert expected <= names, (expected - names, names)
    report(f"`ostler models` found {len(expected)} models of two servers that nobody had listed")


def default_is_local(binary, model, report):
    taken = [name for name, port in PRESETS.items() if answers(f"http://127.0.0.1:{port}/") or not is_free(port)]
    if taken:
        report(f"SKIPPED: something else listens where {', '.join(taken)} would")
        return
    assert daemon.models(binary, "")["default"]["model"] == "demo:demo"
    with LlamaCpp(model, "port=8080", "n_ctx=1024"):
        chosen = daemon.models(binary, "")["default"]
        assert chosen["model"] == "llamacpp:smol", chosen
        with daemon.Daemon(binary, "") as running:
            body = {"workspace_path": running.work}
            session = running.ask("POST", "/v1/sessions", body)["session_id"]
            turn = running.turn(session, "Say hello.")
            assert turn.end == "turn_completed" and turn.answer.strip(), turn.events[-1]
            assert running.ask("GET", f"/v1/sessions/{session}")["model"] == "llamacpp:smol"
    report("without any configuration, the model of a server on this machine was chosen and answered")


def is_free(port):
    with socket.socket() as probe:
        probe.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        try:
            probe.bind(("127.0.0.1", port))
        except OSError:
            return False
        return True
