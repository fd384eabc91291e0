"""The servers that models run behind: llama.cpp's own, and LiteLLM's proxy. Each ends with its `with` block."""

import os
import socket
import subprocess
import sys
import tempfile
import time
import urllib.error
import urllib.request

HERE = os.path.dirname(os.path.abspath(__file__))
PROXY_KEY = "sk-live-proxy-key-0815"
# What the proxy's models answer. The mocks are its own.
PROXIED = """
model_list:
  - model_name: smol
    litellm_params: {{model: openai/smol, api_base: "{upstream}/v1", api_key: none}}
  - model_name: mock
    litellm_params: {{model: openai/mock, api_key: none, mock_response: "A horse lives in a stable."}}
  - model_name: busy
    litellm_params: {{model: openai/busy, api_key: none, mock_response: "litellm.RateLimitError"}}
  - model_name: full
    litellm_params: {{model: openai/full, api_key: none, mock_response: "litellm.ContextWindowExceededError"}}
  - model_name: broken
    litellm_params: {{model: openai/broken, api_key: none, mock_response: "litellm.InternalServerError"}}
general_settings:
  master_key: {key}
litellm_settings:
  num_retries: 0
router_settings:
  num_retries: 0
  disable_cooldowns: true
"""


class LlamaCpp:
    """llama.cpp's server with the small model, and with these settings."""

    def __init__(self, model, *settings):
        command = [sys.executable, os.path.join(HERE, "server.py"), model, *settings]
        pipe, quiet = subprocess.PIPE, subprocess.DEVNULL
        self.process = subprocess.Popen(command, stdin=pipe, stdout=pipe, stderr=quiet, text=True)
        self.url = self.process.stdout.readline().strip()
        assert self.url, "llama.cpp's server does not start; run tests/live/server.py by hand to see why"

    def __enter__(self):
        return self

    def __exit__(self, *_):
        self.process.kill()
        self.process.wait()


class LiteLlm:
    """LiteLLM's proxy, before another server and with models that only pretend."""

    def __init__(self, program, upstream):
        self.place = tempfile.TemporaryDirectory()
        config, self.log = os.path.join(self.place.name, "config.yaml"), os.path.join(self.place.name, "log")
        with open(config, "w") as file:
            file.write(PROXIED.format(upstream=upstream, key=PROXY_KEY))
        self.url = f"http://127.0.0.1:{free_port()}"
        command = [program, "--config", config, "--host", "127.0.0.1", "--port", self.url.rsplit(":", 1)[1], "--telemetry", "False"]
        # It would ask the network for prices otherwise.
        variables = {**os.environ, "LITELLM_LOCAL_MODEL_COST_MAP": "True", "NO_COLOR": "1"}
        with open(self.log, "w") as log:
            self.process = subprocess.Popen(command, stdout=log, stderr=log, stdin=subprocess.DEVNULL, env=variables)

    def __enter__(self):
        deadline = time.monotonic() + 180
        while not answers(self.url + "/health/liveliness"):
            if self.process.poll() is not None or time.monotonic() > deadline:
                with open(self.log) as log:
                    raise AssertionError("LiteLLM's proxy does not start:\n" + log.read()[-2000:])
            time.sleep(0.3)
        return self

    def __exit__(self, *_):
        self.process.kill()
        self.process.wait()
        self.place.cleanup()


def answers(url):
    try:
        with urllib.request.urlopen(url, timeout=5):
            return True
    except urllib.error.HTTPError:
        return True
    except OSError:
        return False


def free_port():
    with socket.socket() as free:
        free.bind(("127.0.0.1", 0))
        return free.getsockname()[1]
