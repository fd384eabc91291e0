"""One daemon for all tests that do not kill it."""

from __future__ import annotations

from collections.abc import Iterator

import pytest
from daemon import Daemon

from ostler_client import Client


@pytest.fixture(scope="session")
def daemon() -> Iterator[Daemon]:
    with Daemon() as one:
        yield one


@pytest.fixture
def client(daemon: Daemon) -> Iterator[Client]:
    with Client(**daemon.options) as one:
        yield one
