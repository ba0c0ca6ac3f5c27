"""Waiting until brokers have learned what the controller has decided.

A request to create, change or delete succeeds when the controller has written it down; each
broker hears of it some milliseconds later. Whoever asks another broker at once is told of the
past, so changes wait here before they return.
"""

from __future__ import annotations

import time
from dataclasses import replace
from typing import TYPE_CHECKING

from penstock.kafka.admin import Admin
from penstock.kafka.errors import ClusterError
from penstock.kafka.reachability import reachable_brokers

if TYPE_CHECKING:
    from collections.abc import Callable

    from confluent_kafka.admin._metadata import ClusterMetadata

    Condition = Callable[[ClusterMetadata], bool]

_PAUSE_SECONDS = 0.02
# On a large cluster a sample tells enough: brokers follow the same log at about the same pace.
_MAX_BROKERS = 10


def await_everywhere(admin: Admin, condition: Condition) -> bool:
    """Wait until `condition` holds for what each broker knows; return whether it came to that.

    Gives up after the time that a request may take. Brokers that are down are not waited for.
    """
    deadline = time.monotonic() + admin.timeout_seconds
    brokers = list(reachable_brokers(admin).values())[:_MAX_BROKERS]
    # A new client asks the broker that it is given, and meets the others only then.
    asked = [Admin(replace(admin.connection, bootstrap=str(broker))) for broker in brokers]
    for one in asked:
        while not _holds(one, condition):
            if time.monotonic() > deadline:
                return False
            time.sleep(_PAUSE_SECONDS)
            one.forget()
    return True


def _holds(admin: Admin, condition: Condition) -> bool:
    try:
        return condition(admin.metadata())
    except ClusterError:
        return True  # it has gone meanwhile: nothing to wait for
