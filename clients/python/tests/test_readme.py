"""The examples of the README, as they stand."""

from __future__ import annotations

import os
import re
import subprocess
import sys
from pathlib import Path

import pytest
from daemon import BINARY, Daemon

README = (Path(__file__).parents[1] / "README.md").read_text()
EXAMPLES = re.findall(r"```python\n(.*?)```", README, re.DOTALL)
EXPECTED = [r"(?i)list", r"(?i)hello", r"sess_[0-9a-f]{32} agent_start"]


@pytest.mark.parametrize("number", range(len(EXPECTED)))
def test_an_example_runs(daemon: Daemon, number: int) -> None:
    assert len(EXAMPLES) == len(EXPECTED)
    env = {
        **daemon.env,
        "PATH": os.path.dirname(BINARY) + os.pathsep + os.environ["PATH"],
        "OSTLER_DATA_DIR": daemon.data,
        "OSTLER_SERVER_LISTEN": daemon.host,
        "OSTLER_GATEWAY_LISTEN": daemon.gateway.removeprefix("ws://"),
    }
    command = [sys.executable, "-c", EXAMPLES[number]]
    ran = subprocess.run(command, capture_output=True, text=True, timeout=60, env=env)
    assert ran.returncode == 0, ran.stderr
    assert re.search(EXPECTED[number], ran.stdout), ran.stdout
