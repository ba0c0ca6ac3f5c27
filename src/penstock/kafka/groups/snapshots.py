"""Snapshots: what a group has committed, as a file that can be kept and given back.

The file is JSON, sorted and without a date, so that the same state gives the same bytes. Writing a
snapshot's offsets to a group is a reset (`plan_import` in `kafka/groups/resets.py`).
"""

from __future__ import annotations

import json
from dataclasses import dataclass
from typing import TYPE_CHECKING, Literal

from pydantic import BaseModel, ConfigDict, Field, ValidationError

from penstock.errors import Origin, UsageError
from penstock.kafka.groups.description import ensure_groups_exist
from penstock.kafka.groups.lag import CommittedOffset, committed_offsets
from penstock.kafka.offsets import TopicPartition
from penstock.names import GroupId, Offset, Partition, TopicName

if TYPE_CHECKING:
    from collections.abc import Mapping
    from pathlib import Path

    from penstock.kafka.admin import Admin


@dataclass(frozen=True, slots=True, kw_only=True)
class GroupSnapshot:
    """The committed offsets of a group at one time."""

    group: GroupId
    commits: Mapping[TopicPartition, CommittedOffset]


class SnapshotFileError(UsageError):
    """The file is not an exported group."""

    code = "PEN-434"

    def __init__(self, path: Path, *, reason: str) -> None:
        super().__init__(
            f"`{path}` cannot be read as an exported group: {reason}",
            hint="`penstock groups export GROUP > FILE` writes such a file",
            origin=Origin(path),
        )


class _PartitionEntry(BaseModel):
    model_config = ConfigDict(extra="forbid", strict=True)
    topic: str = Field(min_length=1)
    partition: int = Field(ge=0)
    offset: int = Field(ge=0)
    leader_epoch: int | None = None
    metadata: str = ""


class _SnapshotEntry(BaseModel):
    model_config = ConfigDict(extra="forbid", strict=True)
    version: Literal[1]
    group: str = Field(min_length=1)
    partitions: list[_PartitionEntry] = Field(min_length=1)


def take_snapshot(admin: Admin, group: GroupId) -> GroupSnapshot:
    """Return what `group` has committed.

    Raises:
        UnknownGroupError: the group does not exist.
        ClusterError: another subclass, for what else went wrong.
    """
    ensure_groups_exist(admin, [group])
    return GroupSnapshot(group=group, commits=committed_offsets(admin, [group])[group])


def snapshot_text(snapshot: GroupSnapshot) -> str:
    """Return the file that stands for `snapshot`; `load_snapshot` reads it back."""
    entries = [
        {
            "topic": item.topic,
            "partition": item.partition,
            "offset": commit.offset,
            "leader_epoch": commit.leader_epoch,
            "metadata": commit.metadata,
        }
        for item, commit in sorted(snapshot.commits.items(), key=lambda pair: pair[0])
    ]
    document = {"version": 1, "group": snapshot.group, "partitions": entries}
    return json.dumps(document, indent=2, ensure_ascii=False) + "\n"


def load_snapshot(path: Path) -> GroupSnapshot:
    """Read an exported group.

    Raises:
        SnapshotFileError: the file cannot be read, or says something else.
    """
    try:
        entry = _SnapshotEntry.model_validate_json(path.read_bytes())
    except OSError as err:
        raise SnapshotFileError(path, reason=err.strerror or str(err)) from err
    except ValidationError as err:
        raise SnapshotFileError(path, reason=_first_problem(err)) from None
    commits = {
        TopicPartition(TopicName(item.topic), Partition(item.partition)): CommittedOffset(
            offset=Offset(item.offset), leader_epoch=item.leader_epoch, metadata=item.metadata
        )
        for item in entry.partitions
    }
    if len(commits) < len(entry.partitions):
        raise SnapshotFileError(path, reason="a partition is in it more than once")
    return GroupSnapshot(group=GroupId(entry.group), commits=commits)


def _first_problem(err: ValidationError) -> str:
    problem = err.errors(include_input=False, include_url=False)[0]
    place = ".".join(str(part) for part in problem["loc"])
    reason = problem["msg"][0].lower() + problem["msg"][1:]
    return f"`{place}`: {reason}" if place else reason
