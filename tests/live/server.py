"""A real model behind a real server: llama.cpp's own, from the wheel of xllamacpp. Prints its address.

Usage: server.py MODEL [SETTING=VALUE …]. Settings are llama.cpp's own names for its parameters; those that
stand under `sampling` are written `sampling.NAME`, and `chat_template` names a file.
"""

import json
import os
import socket
import sys

import xllamacpp


def main():
    params = xllamacpp.CommonParams()
    params.model.path = sys.argv[1]
    params.model_alias = {"smol"}
    params.hostnames = ["127.0.0.1"]
    params.n_ctx = 8192
    params.n_parallel = 1
    params.use_jinja = True
    # The likeliest word always, so that a run goes like the one before; small models then tend to go on for ever.
    params.sampling.temp = 0.0
    params.n_predict = 200
    # More than one wait for each other on a machine that does other things too.
    params.cpuparams.n_threads = params.cpuparams_batch.n_threads = 1
    params.port = 0
    for setting in sys.argv[2:]:
        name, _, value = setting.partition("=")
        place = params
        if name.startswith("sampling."):
            place, name = params.sampling, name.removeprefix("sampling.")
        if name == "chat_template":
            with open(value) as file:
                params.chat_template = file.read()
        else:
            setattr(place, name, json.loads(value))
    if params.port == 0:
        with socket.socket() as free:
            free.bind(("127.0.0.1", 0))
            params.port = free.getsockname()[1]
    # Runs as long as somebody holds it.
    _server = xllamacpp.Server(params)
    print(f"http://127.0.0.1:{params.port}", flush=True)
    # The server ends with the process that started us, at once, whatever it is doing.
    sys.stdin.read()
    os._exit(0)


main()
