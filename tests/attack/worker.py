"""Runs the cases of one configuration, as whoever it was started as: worker.py BINARY PLACE CONFIG BACKEND CASE…
Each result is one line of JSON."""

import json
import os
import queue
import shutil
import signal
import sys
import threading
import time
import traceback

sys.path.insert(0, os.path.dirname(os.path.abspath(__file__)))

import cases  # noqa: E402
from harness import processes  # noqa: E402
from harness.attempt import Attempt  # noqa: E402
from harness.daemon import Daemon  # noqa: E402
from harness.model import Model  # noqa: E402
from harness.registry import CASES, Failure  # noqa: E402

# Cases at the same time, for each so many of them; they wait for processes most of the time.
CASES_PER_THREAD, FEWEST_THREADS, MOST_THREADS = 80, 3, 10


class Stage:
    """What the cases of a configuration share."""

    def __init__(self, binary, place, config, backend):
        self.binary, self.place, self.config, self.backend = binary, place, config, backend
        self.is_root, self.is_landlock = config.startswith("root"), config.endswith("landlock")
        self.lock, self.memo, self.daemons = threading.RLock(), {}, []
        self.home = os.path.join(place, "home")
        os.makedirs(os.path.join(self.home, "projects"))
        cases.prepare(self)
        self.model = Model()
        self.daemon = Daemon(binary, os.path.join(place, "d/0"), self.model, self.home, backend=backend)
        self.check_sandbox()

    def check_sandbox(self):
        """Fails where the daemon does not confine by what this configuration is about."""
        said = self.daemon.cli("doctor").stdout.decode()
        line = next((line for line in said.splitlines() if line.startswith("sandbox:")), "sandbox: nothing")
        wanted = "landlock" if self.is_landlock else "bubblewrap"
        if wanted not in line.lower():
            self.close()
            raise RuntimeError(f"the daemon does not use {wanted} here ({line}); `ostler doctor` says why")

    def close(self):
        self.daemon.stop()
        self.model.stop()


def attempt(stage, case):
    began = time.monotonic()
    why = None
    one = None
    try:
        one = Attempt(stage, case)
        case.run(one)
    except Failure as failure:
        why = str(failure)
    except Exception:
        why = "broke: " + traceback.format_exc(limit=-3)
    finally:
        if one:
            one.close()
    return {"case": case.name, "config": stage.config, "why": why, "seconds": round(time.monotonic() - began, 2)}


def stop(stages):
    """Ends at once, with every daemon and what they run."""
    for stage in stages:
        for daemon in [stage.daemon, *stage.daemons]:
            daemon.process.kill()
    os._exit(1)


def main():
    binary, place, config, backend, *names = sys.argv[1:]
    os.umask(0o022)
    results, waiting = threading.Lock(), queue.Queue()

    def tell(result):
        with results:
            print(json.dumps(result), flush=True)

    signal.signal(signal.SIGTERM, lambda *_: stop(stage_of))
    stage_of = []
    try:
        stage = Stage(binary, place, config, backend)
    except Exception as error:
        tell({"case": None, "config": config, "why": str(error)})
        return
    stage_of.append(stage)
    for name in names:
        waiting.put(CASES[name])

    def work():
        while True:
            try:
                case = waiting.get_nowait()
            except queue.Empty:
                return
            tell(attempt(stage, case))

    threads = [threading.Thread(target=work) for _ in range(max(FEWEST_THREADS, min(MOST_THREADS, len(names) // CASES_PER_THREAD)))]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    stage.close()
    left = [f"{pid} {processes.command(pid)[:120]}" for pid in processes.with_variable(place) if pid != os.getppid()]
    if left:
        tell({"case": None, "config": config, "why": f"processes are left: {left}"})
    shutil.rmtree(place, ignore_errors=True)


main()
