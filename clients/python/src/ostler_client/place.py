"""Where this user's daemon is, and its token."""

from __future__ import annotations

import os
from collections.abc import Callable
from pathlib import Path

# A token, or what gets it: it is asked for before each request, so a new one counts at once.
Token = str | Callable[[], str]


def data_directory() -> Path:
    """The data directory of this user's daemon."""
    shared = Path(os.environ.get("XDG_DATA_HOME") or Path.home() / ".local" / "share")
    return Path(os.environ.get("OSTLER_DATA_DIR") or shared / "ostler")


def token_of(directory: Path) -> Callable[[], str]:
    """The token in a data directory, read anew each time."""
    return lambda: (directory / "token").read_text(encoding="utf-8").strip()


def bearer(token: Token) -> str:
    """The token itself."""
    return token if isinstance(token, str) else token()


def http_url() -> str:
    """`http://$OSTLER_SERVER_LISTEN`, and without that variable `http://127.0.0.1:8787`."""
    return f"http://{os.environ.get('OSTLER_SERVER_LISTEN') or '127.0.0.1:8787'}"


def gateway_url() -> str:
    """`ws://$OSTLER_GATEWAY_LISTEN`, and without that variable `ws://127.0.0.1:18789`."""
    return f"ws://{os.environ.get('OSTLER_GATEWAY_LISTEN') or '127.0.0.1:18789'}"
