#!/usr/bin/env python3
"""Makes the types of the client libraries from the daemon's own documents:

    python3 clients/generate.py [--check] [--documents DIR]

DIR is laid out as `docs/`, which it is unless another is named. With `--check` nothing is written, and files that are
not what they should be are named. Needs nothing but Python."""

from __future__ import annotations

import argparse
import sys
from pathlib import Path

from generator import documents, python, typescript

HERE = Path(__file__).resolve().parent


def main() -> int:
    parser = argparse.ArgumentParser(description="Makes the types of the client libraries.")
    parser.add_argument("--check", action="store_true", help="only say what is out of date")
    parser.add_argument("--documents", type=Path, default=HERE.parent / "docs", metavar="DIR")
    options = parser.parse_args()
    stale = []
    for path, text in made(documents.read(options.documents)).items():
        if path.exists() and path.read_text(encoding="utf-8") == text:
            continue
        stale.append(str(path.relative_to(HERE.parent)))
        if not options.check:
            path.parent.mkdir(parents=True, exist_ok=True)
            path.write_text(text, encoding="utf-8")
    for path in stale:
        print(f"{path} {'is out of date' if options.check else 'written'}")
    if stale and options.check:
        print("run `python3 clients/generate.py` and commit the result", file=sys.stderr)
        return 1
    return 0


def made(read: documents.Documents) -> dict[Path, str]:
    """Every generated file."""
    ts, py = HERE / "ts" / "src" / "generated", HERE / "python" / "src" / "ostler_client"
    return {
        ts / "http.ts": typescript.module(read.http),
        ts / "operations.ts": typescript.operations_module(read.operations),
        ts / "gateway.ts": typescript.module(read.gateway),
        ts / "jsonl.ts": typescript.module(read.jsonl),
        py / "http_types.py": python.module(read.http, "What the http door says and takes, and the events of a session."),
        py / "operations.py": python.operations_module(read.operations),
        py / "gateway_types.py": python.module(read.gateway, "The frames of the gateway."),
        py / "jsonl_types.py": python.module(read.jsonl, "The lines of `ostler rpc`."),
        py / "synchronous.py": python.synchronous((py / "asynchronous.py").read_text(encoding="utf-8")),
    }


if __name__ == "__main__":
    sys.exit(main())
