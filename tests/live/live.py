"""Drives daemons with models behind servers that others wrote. Run by `make test-live`.

Usage: live.py OSTLER MODEL LITELLM [WORD]. With a word, only the checks whose names hold it are run.
"""

import signal
import sys
import time
import traceback

import discovery
import proxy
import wires
from servers import HERE, LiteLlm, LlamaCpp


def main():
    # As an exception, so that servers and daemons end with us.
    signal.signal(signal.SIGTERM, lambda *_: sys.exit(1))
    binary, model, litellm = sys.argv[1:4]
    word = sys.argv[4] if len(sys.argv) > 4 else ""
    with LlamaCpp(model, f"chat_template={HERE}/tools.jinja") as server, LiteLlm(litellm, server.url) as proxied:
        checks = {
            "wires: answers": lambda report: wires.answers(binary, server, report),
            "wires: one conversation": lambda report: wires.one_conversation(binary, server, report),
            "wires: errors": lambda report: wires.errors(binary, model, report),
            "proxy: turns": lambda report: proxy.turns(binary, proxied, report),
            "proxy: refusals": lambda report: proxy.refusals(binary, proxied, report),
            "discovery: listed": lambda report: discovery.listed(binary, server, proxied, report),
            "discovery: default": lambda report: discovery.default_is_local(binary, model, report),
        }
        failed = [name for name, check in checks.items() if word in name and not passes(name, check)]
    reports = REPORTED - SKIPPED
    print(f"{reports} passed, {SKIPPED} skipped, {len(failed)} failed {' '.join(failed)}")
    sys.exit(1 if failed else 0)


REPORTED = SKIPPED = 0


def passes(name, check):
    start = time.monotonic()

    def report(line):
        global REPORTED, SKIPPED
        REPORTED, SKIPPED = REPORTED + 1, SKIPPED + line.startswith("SKIPPED")
        print(f"  {line}", flush=True)

    print(name, flush=True)
    try:
        check(report)
    except Exception:
        traceback.print_exc()
        print(f"  FAILED after {time.monotonic() - start:.0f} s", flush=True)
        return False
    return True


main()
