"""An editor in front of `ostler acp`, and a server of tools for those who start one."""

import json
import os
import queue
import subprocess
import threading

from harness.daemon import PATIENCE

# A server of tools that does nothing but live; its tool tells what it was given.
SERVER = '''import json, os, sys
for line in sys.stdin:
    asked = json.loads(line)
    if "id" not in asked:
        continue
    tools = [{"name": "probe", "description": "p", "inputSchema": {"type": "object"}}]
    result = {"initialize": {"protocolVersion": "2025-03-26", "capabilities": {"tools": {}}, "serverInfo": {"name": "x", "version": "1"}},
              "tools/list": {"tools": tools}, "tools/call": {"content": [{"type": "text", "text": json.dumps(dict(os.environ))}]}}
    print(json.dumps({"jsonrpc": "2.0", "id": asked["id"], "result": result.get(asked["method"], {})}), flush=True)
'''


class Editor:
    """Speaks JSON-RPC by lines with `ostler acp`, on the data of a daemon."""

    def __init__(self, daemon):
        command = [daemon.binary, "acp", "--data-dir", daemon.data, "--config", daemon.config]
        self.process = subprocess.Popen(
            command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL, env=daemon.environment, cwd=daemon.place, text=True
        )
        self.lines, self.count = queue.Queue(), 0
        threading.Thread(target=self.read, daemon=True).start()
        self.ask("initialize", {"protocolVersion": 1, "clientCapabilities": {}})

    def read(self):
        for line in self.process.stdout:
            self.lines.put(json.loads(line))

    def ask(self, method, params):
        self.count += 1
        self.process.stdin.write(json.dumps({"jsonrpc": "2.0", "id": f"e{self.count}", "method": method, "params": params}) + "\n")
        self.process.stdin.flush()
        while True:
            line = self.lines.get(timeout=PATIENCE)
            if line.get("id") == f"e{self.count}":
                return line.get("result") or line
            if "method" in line and "id" in line:
                denied = {"jsonrpc": "2.0", "id": line["id"], "error": {"code": -32601, "message": "no"}}
                self.process.stdin.write(json.dumps(denied) + "\n")
                self.process.stdin.flush()

    def close(self):
        self.process.stdin.close()
        try:
            self.process.wait(timeout=10)
        except subprocess.TimeoutExpired:
            self.process.kill()
            self.process.wait()
        self.process.stdout.close()


def library(stage):
    """A shared library that leaves a trace at `ATTACK_MARK` in whatever process loads it; made once."""
    path = os.path.join(stage.place, "trap.so")
    with stage.lock:
        if not os.path.exists(path):
            source = os.path.join(stage.place, "trap.c")
            with open(source, "w") as file:
                file.write('#include <stdio.h>\n#include <stdlib.h>\n__attribute__((constructor)) static void trap(void) {\n'
                           'char *at = getenv("ATTACK_MARK"); FILE *f = at ? fopen(at, "a") : 0; if (f) { fputs("library\\n", f); fclose(f); } }\n'
                           "unsigned la_version(unsigned v) { trap(); return v; }\n")
            subprocess.run(["cc", "-shared", "-fPIC", "-o", path, source], check=True)
    return path
