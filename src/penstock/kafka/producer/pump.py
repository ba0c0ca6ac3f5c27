"""The thread behind a producer: it serves the client, so that callbacks come by themselves.

All delivery callbacks run in this one thread, one after the other. It knows the client and not the
producer, so that a producer which nobody closes can still be collected and ends its thread.
"""

from __future__ import annotations

import logging
import threading
from contextlib import contextmanager
from typing import TYPE_CHECKING

from confluent_kafka import KafkaException

from penstock.kafka.errors import error_of
from penstock.kafka.producer.progress import Progress

if TYPE_CHECKING:
    from collections.abc import Iterator

    from confluent_kafka import Producer

    from penstock.kafka.complaints import Complaints

logger = logging.getLogger(__name__)

# The longest time until the thread sees that it shall flush or stop; ten wake-ups a second are
# not measurable.
_SERVE_SECONDS = 0.1


class Pump:
    """Serves a client in a thread of its own and announces each progress."""

    def __init__(self, complaints: Complaints) -> None:
        self.progress = Progress()
        self._complaints = complaints
        self._flushing = 0
        self._stopping = False
        self._thread: threading.Thread | None = None

    def start(self, client: Producer) -> None:
        """Begin to serve `client`."""
        self._thread = threading.Thread(
            target=self._run, args=(client,), name="penstock-producer", daemon=True
        )
        self._thread.start()

    def runs_here(self) -> bool:
        """Whether the caller is inside a delivery callback."""
        return threading.current_thread() is self._thread

    @contextmanager
    def hurrying(self) -> Iterator[None]:
        """Let the client send what it holds without lingering, as long as the block runs."""
        with self.progress.lock:
            self._flushing += 1
        try:
            yield
        finally:
            with self.progress.lock:
                self._flushing -= 1

    def wait_for_progress(self, limit_seconds: float) -> None:
        """Wait for the next reports, but not longer than the caller should look again."""
        self.progress.wait(min(limit_seconds, _SERVE_SECONDS))

    def stop(self) -> None:
        """Ask the thread to end; callable from anywhere."""
        self._stopping = True

    def join(self) -> None:
        """Wait until the thread has ended."""
        if self._thread is not None:
            self._thread.join()

    def _run(self, client: Producer) -> None:
        while not self._stopping:
            try:
                if self._flushing and len(client):
                    client.flush(_SERVE_SECONDS)
                else:
                    client.poll(_SERVE_SECONDS)
            except KafkaException as err:  # fatal errors are raised instead of handed over
                self._complaints.note(error_of(err))
            except Exception:  # the top of a thread; without it no callback would come any more
                logger.exception("a delivery callback failed")
            self.progress.announce()
