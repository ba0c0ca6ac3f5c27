"""Which instance leads, and what it takes to lead.

An instance that the group has chosen (`penstock.kafka.schemas_log.candidacy`) enters the log,
which shuts out whoever led before, and leads from then on. Each entry begins a term. Within a term
nobody else has written, so what was decided on the folded state still holds when it is written.
"""

from __future__ import annotations

import logging
import threading
from contextlib import suppress
from contextvars import ContextVar
from typing import TYPE_CHECKING

from penstock.errors import PenstockError
from penstock.kafka import Admin
from penstock.kafka.schemas_log import Candidacy, leader_of
from penstock.names import GroupId

if TYPE_CHECKING:
    from collections.abc import Callable

    from penstock.kafka import Connection
    from penstock.kafka.schemas_log import SchemasLog

logger = logging.getLogger(__name__)

_ENTER_SECONDS = 20.0
_PAUSE_SECONDS = 0.5
_ASK_SECONDS = 2.0
# Without Kafka, entering the log goes on trying for longer than anybody waits for the end.
_END_SECONDS = 1.0

deciding_in: ContextVar[int | None] = ContextVar("deciding_in", default=None)
"""The term in which a request began: what it decides is not written in a later one."""


class Election:
    """Stands for election, and leads when elected.

    Args:
        connection: how to reach the cluster.
        log: the log to be written.
        address: where other instances reach this one.
    """

    def __init__(self, connection: Connection, log: SchemasLog, *, address: str) -> None:
        self._log, self._address = log, address
        self._name = f"penstock-registry:{log.topic}"
        self._admin = Admin(connection.with_request_timeout(_ASK_SECONDS))
        self._changed = threading.Condition()
        self._elected = self._leading = self._closing = False
        self._term = 0
        self._known_leader: str | None = None
        self._candidacy = Candidacy(
            connection,
            log.topic,
            group=GroupId(self._name),
            address=address,
            on_elected=lambda: self._note(elected=True),
            on_deposed=lambda: self._note(elected=False),
        )
        self._thread = threading.Thread(target=self._lead, name="registry-leading", daemon=True)

    def start(self) -> None:
        """Join the others."""
        self._thread.start()
        self._candidacy.start()

    def close(self) -> None:
        """Leave, so that another can lead at once."""
        with self._changed:
            self._closing = True
            self._changed.notify_all()
        self._candidacy.close()
        self._thread.join(_END_SECONDS)

    @property
    def term(self) -> int | None:
        """The term in which this instance leads; None while it does not."""
        with self._changed:
            return self._term if self._leading else None

    @property
    def fault(self) -> Exception | None:
        """Why this instance will never lead again; None while it may."""
        return self._candidacy.fault

    def step_down(self, *, shut_out: bool) -> None:
        """Lead no more until the log is entered again.

        Args:
            shut_out: another leads, so it is for the group to say who should.
        """
        with self._changed:
            self._leading = False
            self._elected = self._elected and not shut_out
            self._changed.notify_all()
        if shut_out:
            self._candidacy.stand_again()

    def await_term(self, timeout_seconds: float) -> None:
        """Return as soon as this instance leads, at the latest after the time."""
        with self._changed:
            self._changed.wait_for(lambda: self._leading, timeout_seconds)

    def leader(self) -> str | None:
        """Return the address of another instance that leads; None if nobody knows of one."""
        if self._known_leader is None:
            found = self._described()
            self._known_leader = None if found == self._address else found
        return self._known_leader

    def may_lead(self, address: str) -> bool:
        """Return whether the instance at `address` leads, as far as anybody knows."""
        return self._described() in (None, address)

    def forget_leader(self, address: str) -> None:
        """Ask anew who leads: the one at `address` does not, or does not answer."""
        if self._known_leader == address:
            self._known_leader = None

    def _described(self) -> str | None:
        with suppress(PenstockError):
            return leader_of(self._admin, GroupId(self._name), self._log.topic)
        return None

    def _note(self, *, elected: bool) -> None:
        with self._changed:
            self._elected = elected
            self._leading = self._leading and elected
            self._changed.notify_all()

    def _lead(self) -> None:
        while self._await(lambda: self._elected and not self._leading):
            try:
                self._log.enter(transactional_id=self._name, timeout_seconds=_ENTER_SECONDS)
            except PenstockError as err:
                logger.warning("cannot lead yet", extra={"reason": err.message})
                self._await(lambda: not self._elected, timeout_seconds=_PAUSE_SECONDS)
            else:
                self._begin_term()

    def _begin_term(self) -> None:
        with self._changed:
            self._leading = self._elected
            self._term += 1
            self._changed.notify_all()
        logger.info("leading", extra={"topic": self._log.topic, "term": self._term})

    def _await(self, condition: Callable[[], bool], timeout_seconds: float | None = None) -> bool:
        """Wait for `condition` or the end; return whether to go on."""
        with self._changed:
            self._changed.wait_for(lambda: self._closing or condition(), timeout_seconds)
            return not self._closing
