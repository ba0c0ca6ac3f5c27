"""Names that everything shares: identifiers that must not be swapped, and the nearest of a list."""

from collections.abc import Iterable
from difflib import get_close_matches
from typing import NewType

TopicName = NewType("TopicName", str)
GroupId = NewType("GroupId", str)
Partition = NewType("Partition", int)
Offset = NewType("Offset", int)
BrokerId = NewType("BrokerId", int)
PlatformName = NewType("PlatformName", str)
PipelineName = NewType("PipelineName", str)
DatasetName = NewType("DatasetName", str)
FlowName = NewType("FlowName", str)
Subject = NewType("Subject", str)
Version = NewType("Version", int)
"""Of an entry in a `KafkaTable`: the offset of the record that made it."""


def dead_letters_topic(pipeline: PipelineName) -> TopicName:
    """Return the topic for records of a pipeline that could not go on."""
    return TopicName(f"{pipeline}.deadletters")


def nearest(name: str, known: Iterable[str]) -> str | None:
    """Return the known name that `name` was most likely meant to be, or None."""
    matches = get_close_matches(name, list(known), n=1, cutoff=0.6)
    return matches[0] if matches else None
