"""The lease of a pipeline as the table `_penstock.status` keeps it, under `lease/<pipeline>`."""

from dataclasses import dataclass

from pydantic import TypeAdapter, ValidationError

from penstock.control.holders import Holder
from penstock.names import PipelineName

RENEW_SECONDS = 4.0
"""How often a holder renews its lease."""

TIME_TO_LIVE_SECONDS = 12.0
"""A lease that is not renewed for so long may be taken over: two renewals in a row are missing."""

_LEASE_PREFIX = "lease/"


@dataclass(frozen=True, slots=True, kw_only=True)
class LeaseRecord:
    """Who may run a pipeline; `holder` None: whoever comes first."""

    epoch: int
    """Grows with each holder, and stays when a lease is given back."""

    holder: Holder | None


_RECORD = TypeAdapter(LeaseRecord)


def lease_key(pipeline: PipelineName) -> str:
    """Return the key of a lease in the table."""
    return f"{_LEASE_PREFIX}{pipeline}"


def pipeline_of_lease(key: str) -> PipelineName | None:
    """Return whose lease is under `key`, or None when it holds something else."""
    is_lease = key.startswith(_LEASE_PREFIX)
    return PipelineName(key.removeprefix(_LEASE_PREFIX)) if is_lease else None


def encode_lease(record: LeaseRecord) -> bytes:
    """Return a lease as the table keeps it."""
    return _RECORD.dump_json(record)


def decode_lease(value: bytes) -> LeaseRecord | None:
    """Return the lease that the table keeps; None when another version wrote it unreadably."""
    try:
        return _RECORD.validate_json(value)
    except ValidationError:
        return None
