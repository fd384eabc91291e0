"""Chooses cases and configurations, runs a worker for each configuration, and says what got through."""

import argparse
import ctypes
import json
import os
import shutil
import signal
import subprocess
import sys
import tempfile
import threading
import time
from fnmatch import fnmatch

HERE = os.path.dirname(os.path.abspath(__file__))
sys.path.insert(0, HERE)

import cases  # noqa: E402,F401  fills the list
from harness.registry import ALL, CASES  # noqa: E402

NOBODY = "65534"
# What confined programs have for themselves: there, outside could not be told from inside.
PRIVATE = ("/tmp", "/var/tmp", "/run", "/dev/shm")
LANDLOCK_OLDEST = 3
# The path of a daemon's socket has at most 107 bytes.
LONGEST_BASE = 60


def main():
    asked = arguments()
    chosen = [case for case in CASES.values() if fits(case, asked)]
    if asked.list:
        for case in chosen:
            print(f"{case.name}  [{' '.join(case.configs)}]")
        print(f"{len(chosen)} cases")
        return 0
    if not chosen:
        print("no case fits; --list shows them all")
        return 2
    configs, problems = configurations(asked)
    place = place_for_tests(asked.target)
    try:
        results = run_all(asked, place, configs, chosen)
    finally:
        shutil.rmtree(place, ignore_errors=True)
    return report(chosen, configs, results, problems, asked)


def arguments():
    parser = argparse.ArgumentParser()
    parser.add_argument("--binary", required=True)
    parser.add_argument("--target", required=True)
    parser.add_argument("--class", dest="group", action="append")
    parser.add_argument("--case", action="append")
    parser.add_argument("--config", action="append", choices=ALL)
    parser.add_argument("--list", action="store_true")
    parser.add_argument("--times", action="store_true", help="also print the slowest runs")
    return parser.parse_args()


def fits(case, asked):
    if asked.group and case.group not in asked.group:
        return False
    if asked.case and not any(fnmatch(case.name, name) or fnmatch(case.name, "*/" + name) for name in asked.case):
        return False
    return not asked.config or any(config in case.configs for config in asked.config)


def configurations(asked):
    """The configurations that can run here, each with how its sandbox is chosen, and what is wrong with the others."""
    wanted = [config for config in asked.config or ALL if os.geteuid() == 0 or config.startswith("user")]
    found, problems = {}, []
    for config in wanted:
        if config.endswith("bwrap"):
            if any(os.path.exists(path) for path in ("/usr/bin/bwrap", "/usr/local/bin/bwrap", "/bin/bwrap")):
                found[config] = "bwrap"
            else:
                problems.append(f"{config}: bubblewrap is not installed; install the package `bubblewrap`")
        elif landlock_version() < LANDLOCK_OLDEST:
            print(f"{config} did not run: this kernel has no Landlock, or one that is too old")
        elif knows_landlock_mode(asked.binary):
            found[config] = "landlock-mode"
        elif os.geteuid() == 0:
            found[config] = "landlock-hidden"
        else:
            problems.append(f"{config}: the daemon has no `sandbox.mode = \"landlock\"`, and hiding bubblewrap takes root")
    return found, problems


def landlock_version():
    create_ruleset, version_flag = 444, 1
    return ctypes.CDLL(None, use_errno=True).syscall(create_ruleset, None, ctypes.c_size_t(0), version_flag)


def knows_landlock_mode(binary):
    environment = {"PATH": os.environ["PATH"], "HOME": "/nonexistent", "OSTLER_SANDBOX_MODE": "landlock"}
    done = subprocess.run([binary, "config", "show"], env=environment, capture_output=True, timeout=60)
    return done.returncode == 0


def place_for_tests(target):
    """A new directory that every user can go to and that confined programs share."""
    for base in (os.path.join(target, "tmp"), "/var/cache/ostler-tests", os.path.expanduser("~/.cache/ostler-tests")):
        if base.startswith(tuple(private + "/" for private in PRIVATE)):
            continue
        if len(base) > LONGEST_BASE:
            continue
        try:
            os.makedirs(base, exist_ok=True)
            if os.geteuid() == 0 and not is_open(base):
                continue
            place = tempfile.mkdtemp(prefix="a-", dir=base)
            os.chmod(place, 0o755)
            return place
        except OSError:
            continue
    sys.exit("no directory outside of /tmp can be used; make target/ reachable for other users")


def is_open(path):
    while path != "/":
        if not os.stat(path).st_mode & 0o001:
            return False
        path = os.path.dirname(path)
    return True


def run_all(asked, place, configs, chosen):
    """Runs every configuration at the same time; gives all results."""
    binary = asked.binary
    if os.geteuid() == 0 and not is_open(binary):
        binary = shutil.copy(binary, place)
    results, threads, workers = [], [], []
    # A run that is stopped from outside stops its workers, which stop their daemons.
    signal.signal(signal.SIGTERM, lambda *_: sys.exit(1))
    for config, backend in configs.items():
        names = [case.name for case in chosen if config in case.configs]
        if names:
            threads.append(threading.Thread(target=run_config, args=(binary, place, config, backend, names, results, workers)))
    for thread in threads:
        thread.start()
    try:
        for thread in threads:
            thread.join()
    finally:
        for worker in workers:
            if worker.poll() is None:
                worker.terminate()
                worker.wait()
    return results


def run_config(binary, place, config, backend, names, results, workers):
    own = os.path.join(place, config)
    os.mkdir(own)
    command = [sys.executable, os.path.join(HERE, "worker.py"), binary, own, config, backend, *names]
    if config.startswith("user") and os.geteuid() == 0:
        os.chown(own, int(NOBODY), int(NOBODY))
        command = ["setpriv", "--reuid", NOBODY, "--regid", NOBODY, "--clear-groups", *command]
    if backend == "landlock-hidden":
        empty = os.path.join(place, f"{config}.empty")
        open(empty, "w").close()
        hide = 'for it in /usr/bin/bwrap /usr/local/bin/bwrap; do [ ! -e "$it" ] || mount --bind "$0" "$it"; done; exec "$@"'
        command = ["unshare", "--mount", "--propagation", "private", "sh", "-c", hide, empty, *command]
    said = os.path.join(place, f"{config}.stderr")
    with open(said, "w") as errors:
        worker = subprocess.Popen(command, stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, stderr=errors, text=True)
        workers.append(worker)
        for line in worker.stdout:
            results.append(json.loads(line))
        code = worker.wait()
    if os.environ.get("ATTACK_SHOW"):
        sys.stderr.write(open(said).read())
    if code:
        with open(said) as errors:
            results.append({"case": None, "config": config, "why": f"the worker ended with {code}: {errors.read()[-1500:]}"})
    told = {(result["case"], result["config"]) for result in results}
    results.extend({"case": name, "config": config, "why": "never ran"} for name in names if (name, config) not in told)


def pending():
    """Cases that are known to fail: a name, and the configurations if not in all."""
    found = {}
    with open(os.path.join(HERE, "pending.txt")) as file:
        for line in file:
            words = line.split("#")[0].split()
            if words:
                found[words[0]] = words[1:] or list(ALL)
    return found


def report(chosen, configs, results, problems, asked):
    known, failures, stale = pending(), [], []
    counts = {case.group: [0, 0, 0, 0] for case in chosen}
    for case in chosen:
        own = [result for result in results if result["case"] == case.name]
        if not own:
            continue
        bad = [result for result in own if result["why"]]
        new = [result for result in bad if result["config"] not in known.get(case.name, ())]
        fixed = [result["config"] for result in own if not result["why"] and result["config"] in known.get(case.name, ())]
        failures.extend(new)
        if fixed:
            stale.append(f"{case.name} {' '.join(sorted(fixed))}")
        count = counts[case.group]
        count[1 if new else 2 if bad else 0] += 1
        count[3] += len(own)
    problems = problems + [f"{result['config']}: {result['why']}" for result in results if result["case"] is None]
    for group, (passed, failed, still, runs) in counts.items():
        print(f"{group}: {passed} passed, {failed} failed, {still} pending, in {runs} runs")
    for result in sorted(failures, key=lambda one: (one["case"], one["config"])):
        print(f"\nFAILED {result['case']} [{result['config']}]: {result['why'].rstrip()}")
        print(f"  again: tests/attack/run.sh --case {result['case']} --config {result['config']}")
    for problem in problems:
        print(f"\nFAILED {problem}")
    if stale:
        print("\nno longer failing; delete from tests/attack/pending.txt:")
        print("".join(f"  {line}\n" for line in stale), end="")
    if asked.times:
        for result in sorted(results, key=lambda one: -one.get("seconds", 0))[:25]:
            print(f"  {result.get('seconds')} s {result['case']} {result['config']}")
    passed, failed = sum(count[0] for count in counts.values()), sum(count[1] for count in counts.values()) + len(problems)
    still = sum(count[2] for count in counts.values())
    print(f"\n{', '.join(configs)}: {len(results)} runs, {still} cases pending")
    print(f"{passed} passed, {failed} failed")
    return 1 if failed else 0


began = time.monotonic()
code = main()
if os.environ.get("ATTACK_TIME"):
    print(f"{time.monotonic() - began:.1f} s", file=sys.stderr)
sys.exit(code)
