"""How long to wait between two tries to come back to a daemon. Others do the waiting."""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True)
class Backoff:
    """Waits that double from the first to the longest, in seconds, for at most so many tries in a row."""

    first: float = 0.1
    longest: float = 5.0
    tries: int = 11

    def wait(self, attempt: int) -> float | None:
        """How long to wait before try number `attempt`, from 1; None when it is time to give up."""
        if attempt > self.tries:
            return None
        return min(self.first * float(1 << min(attempt - 1, 20)), self.longest)
