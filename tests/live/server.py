"""A real model behind a real server: llama.cpp's own, from the wheel of xllamacpp. Prints its address."""

import socket
import sys

import xllamacpp


def main():
    params = xllamacpp.CommonParams()
    params.model.path = sys.argv[1]
    params.hostnames = ["127.0.0.1"]
    with socket.socket() as free:
        free.bind(("127.0.0.1", 0))
        params.port = free.getsockname()[1]
    params.n_ctx = 8192
    params.n_parallel = 1
    params.use_jinja = True
    server = xllamacpp.Server(params)
    print(f"http://127.0.0.1:{params.port}", flush=True)
    # The server ends with the process that started us.
    sys.stdin.read()
    del server


main()
