"""Whether Kafka is there: a thread that asks now and then, and tells when the answer changes.

A query notices an outage late, after its client has tried for a minute or two, and a short one not
at all. Users should hear of it at once, and a flow that fails because of it waits for the end of
the outage instead of using up its restarts.
"""

from __future__ import annotations

import logging
import time
from datetime import UTC, datetime
from threading import Event, Lock, Thread
from typing import TYPE_CHECKING, Self

from penstock.engine.events import KafkaAway, KafkaBack
from penstock.errors import PenstockError
from penstock.kafka import Admin, ensure_reachable

if TYPE_CHECKING:
    from collections.abc import Callable

    from penstock.engine.events import Notify
    from penstock.kafka import Connection

logger = logging.getLogger(__name__)

EVERY_SECONDS = 1.0
PATIENCE_SECONDS = 4.0
"""A broker that restarts, or an election, is over sooner: nobody needs to hear of it."""


class Outage:
    """Decides from answers and silences whether Kafka is away; for one thread at a time."""

    def __init__(self, clock: Callable[[], float] = time.monotonic) -> None:
        self.is_away = False
        self._clock = clock
        self._silent_since: float | None = None

    def silence(self, error: PenstockError, *, patience_seconds: float) -> KafkaAway | None:
        """No broker answered; return the event when that has lasted long enough to be told."""
        now = self._clock()
        if self._silent_since is None:
            self._silent_since = now
        if self.is_away or now - self._silent_since < patience_seconds:
            return None
        self.is_away = True
        return KafkaAway(at=datetime.now(UTC), error=error)

    def answer(self) -> KafkaBack | None:
        """A broker answered; return the event if Kafka was away."""
        was_away, since = self.is_away, self._silent_since
        self.is_away, self._silent_since = False, None
        if not was_away or since is None:
            return None
        return KafkaBack(at=datetime.now(UTC), away_seconds=self._clock() - since)


class KafkaWatch:
    """Watches one cluster while the `with` block runs."""

    def __init__(self, connection: Connection, notify: Notify) -> None:
        self._connection, self._notify = connection, notify
        self._outage, self._lock = Outage(), Lock()
        self._over = Event()
        self._thread = Thread(target=self._run, name="penstock-kafka-watch", daemon=True)

    def __enter__(self) -> Self:
        """Begin to watch."""
        self._thread.start()
        return self

    def __exit__(self, *_: object) -> None:
        """Stop watching; a request under way is left to time out by itself."""
        self._over.set()

    def is_away(self) -> bool:
        """Ask now, and return whether no broker answers; then KafkaBack is certain to follow."""
        self._check(self._ask, patience_seconds=0)
        return self._outage.is_away

    def _run(self) -> None:
        while not self._over.wait(EVERY_SECONDS):
            # A connection is enough while all is well; after an outage the broker must answer.
            ask = self._ask if self._outage.is_away else self._connect
            try:
                self._check(ask, patience_seconds=PATIENCE_SECONDS)
            except Exception:  # the top of a thread: the next answer counts as well
                logger.exception("asking whether Kafka is there failed")

    def _check(self, ask: Callable[[], None], *, patience_seconds: float) -> None:
        event: KafkaAway | KafkaBack | None
        try:
            ask()
        except PenstockError as error:
            with self._lock:
                event = self._outage.silence(error, patience_seconds=patience_seconds)
        else:
            with self._lock:
                event = self._outage.answer()
        if event is not None:
            self._notify(event)

    def _connect(self) -> None:
        ensure_reachable(self._connection)

    def _ask(self) -> None:
        # A client that has met the outage waits longer and longer before it connects again.
        with Admin(self._connection) as admin:
            admin.metadata()
