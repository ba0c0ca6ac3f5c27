"""What a client reports about its connections, outside of any request.

A password that is not accepted is told only there: the client goes on trying, and the request that
waits for a connection just times out.
"""

from __future__ import annotations

import logging
import math
import time
from typing import TYPE_CHECKING

from confluent_kafka import KafkaError

from penstock.kafka.errors import AuthenticationFailedError, NotAuthorizedError, translated

if TYPE_CHECKING:
    from collections.abc import Callable

client_logger = logging.getLogger("penstock.kafka.client")
"""Where clients write their own log lines."""

client_logger.addHandler(logging.NullHandler())  # quiet unless the program sets up logging

# The client connects again at least every ten seconds, and complains each time. What is older
# than this no longer explains why nobody answers now.
_FRESH_SECONDS = 30.0


Refusal = AuthenticationFailedError | NotAuthorizedError


class Complaints:
    """Remembers what one client complained about; `note` is its `error_cb`."""

    def __init__(
        self, bootstrap: str, *, action: str, clock: Callable[[], float] = time.monotonic
    ) -> None:
        self._bootstrap = bootstrap
        self._action = action
        self._clock = clock
        self._last: tuple[str, float] | None = None
        self._refused: tuple[Refusal, float] | None = None

    def note(self, error: KafkaError) -> None:
        """Remember a complaint."""
        if error.code() == KafkaError._ALL_BROKERS_DOWN:  # noqa: SLF001 - a public constant
            return  # follows upon the complaint that says why
        # A client that has met a fatal error will do nothing more.
        now = math.inf if error.fatal() else self._clock()
        self._last = error.str(), now
        fault = translated(error, action=self._action, bootstrap=self._bootstrap)
        if isinstance(fault, Refusal):
            self._refused = fault, now

    def last_word(self) -> str:
        """Return what the client complained about a moment ago; empty if it did not."""
        return self._last[0] if self._last and self._is_fresh(self._last[1]) else ""

    def refusal(self) -> Refusal | None:
        """Return that the cluster refused the credentials or the client, if a moment ago."""
        return self._refused[0] if self._refused and self._is_fresh(self._refused[1]) else None

    def _is_fresh(self, noted: float) -> bool:
        return self._clock() - noted <= _FRESH_SECONDS
