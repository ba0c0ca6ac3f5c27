"""Birth certificates: what a checkpoint depends on and does not keep, or keeps too late.

Spark freezes some settings in a checkpoint and ignores what is set later; of others, such as the
number of shuffle partitions before the first restart, it keeps nothing and goes wrong silently
when they change. Nor does it know that a topic was deleted and created again, or that a source
name had another past. All that stands in `<flow>.birth.json` beside the checkpoint, is written
before the query starts, and is applied at every start.

A certificate without a planned batch is a start that died early: nothing is frozen yet, and it is
written anew. A checkpoint with batches and no certificate is refused rather than guessed at: a
wrong number of shuffle partitions gives wrong sums without an error.
"""

from __future__ import annotations

import json
from dataclasses import dataclass, replace
from datetime import datetime
from typing import TYPE_CHECKING

from penstock.engine.checkpoints import DamagedCheckpointError
from penstock.engine.spark_settings import FROZEN, SHUFFLE_PARTITIONS
from penstock.errors import PenstockError
from penstock.names import DatasetName, FlowName, PipelineName, TopicName

if TYPE_CHECKING:
    from collections.abc import Mapping

    from pyspark.sql import SparkSession

    from penstock.engine.checkpoints import CheckpointFolder
    from penstock.engine.storage import Storage
    from penstock.errors import Origin


class MissingCertificateError(PenstockError):
    """A checkpoint has batches, and nothing says with which settings it was born."""

    code = "PEN-343"

    def __init__(self, path: str, checkpoint: str) -> None:
        super().__init__(
            f"`{path}` is missing: nothing says with which settings and topics the checkpoint "
            f"`{checkpoint}` was begun",
            hint="put the file back; or move the checkpoint away: the flow then begins anew",
        )
        self.path = path


class FrozenSettingError(PenstockError):
    """A setting was changed that the checkpoint has frozen."""

    code = "PEN-344"

    def __init__(
        self, flow: FlowName, key: str, *, wanted: str, frozen: str, origin: Origin | None
    ) -> None:
        super().__init__(
            f"`{key}` is set to `{wanted}`, but the checkpoint of flow `{flow}` was begun with "
            f"`{frozen}`: {_reason(key)}",
            hint=f"set `{key}` back to `{frozen}` or remove it; or move the checkpoint away: the "
            "flow then begins anew",
            origin=origin,
        )
        self.flow, self.key, self.wanted, self.frozen = flow, key, wanted, frozen


class SourceNameReusedError(PenstockError):
    """A flow reads a dataset again that it had stopped reading."""

    code = "PEN-345"

    def __init__(self, flow: FlowName, source: DatasetName, *, origin: Origin) -> None:
        super().__init__(
            f"flow `{flow}` has read `{source}` before and then did without it: Spark would begin "
            "where it first began, and read again what is read already",
            hint=f"declare the topic under another name, with `kafka_name=` and `start=`, and read "
            f"that in `{flow}`",
            origin=origin,
        )
        self.flow, self.source = flow, source


@dataclass(frozen=True, slots=True, kw_only=True)
class BirthCertificate:
    """What must be the same at every start of a flow on its checkpoint."""

    pipeline: PipelineName
    flow: FlowName
    created: datetime
    spark_version: str
    conf: Mapping[str, str]
    """The values of the settings in `FROZEN`."""

    sources: frozenset[DatasetName] = frozenset()
    """Every source that was in the plan of a batch when the flow was started."""

    topic_ids: Mapping[TopicName, str]
    """Kafka's ids of the topics that are read: a topic created again has another."""

    def to_json(self) -> str:
        """Return the content of the file."""
        content = {
            "pipeline": self.pipeline,
            "flow": self.flow,
            "created": self.created.isoformat(),
            "spark_version": self.spark_version,
            "conf": dict(sorted(self.conf.items())),
            "sources": sorted(self.sources),
            "topic_ids": dict(sorted(self.topic_ids.items())),
        }
        return json.dumps(content, indent=2) + "\n"

    @classmethod
    def from_json(cls, text: str) -> BirthCertificate:
        """Return what `to_json` wrote; raise ValueError, KeyError or TypeError for another text."""
        content = json.loads(text)
        return cls(
            pipeline=PipelineName(content["pipeline"]),
            flow=FlowName(content["flow"]),
            created=datetime.fromisoformat(content["created"]),
            spark_version=str(content["spark_version"]),
            conf={str(key): str(value) for key, value in content["conf"].items()},
            sources=frozenset(DatasetName(name) for name in content["sources"]),
            topic_ids={TopicName(name): str(value) for name, value in content["topic_ids"].items()},
        )

    def with_conf(self, conf: Mapping[str, str]) -> BirthCertificate:
        """Return a copy in which the settings of `conf` have those values."""
        return replace(self, conf={**self.conf, **conf})

    def with_sources(self, names: frozenset[DatasetName]) -> BirthCertificate:
        """Return a copy that knows these sources too."""
        return replace(self, sources=self.sources | names)

    def with_topic_ids(self, topic_ids: Mapping[TopicName, str]) -> BirthCertificate:
        """Return a copy with the ids of more, or of recreated, topics."""
        return replace(self, topic_ids={**self.topic_ids, **topic_ids})


class CertificateFile:
    """The file `<flow>.birth.json` beside a checkpoint."""

    def __init__(self, storage: Storage, name: str) -> None:
        self._storage, self._name = storage, name

    @property
    def path(self) -> str:
        """The full name of the file."""
        return self._storage.path(self._name)

    def load(self) -> BirthCertificate | None:
        """Return the certificate, None when there is none.

        Raises:
            DamagedCheckpointError: the file does not hold one.
        """
        text = self._storage.read_text(self._name)
        if text is None:
            return None
        try:
            return BirthCertificate.from_json(text)
        except (ValueError, KeyError, TypeError, AttributeError) as err:
            raise DamagedCheckpointError(
                self.path,
                found="it cannot be read",
                expected="the JSON that Penstock writes",
                remedy="put back a copy; or move the checkpoint and this file away: the flow then "
                "begins anew",
            ) from err

    def save(self, certificate: BirthCertificate) -> None:
        """Replace the certificate."""
        self._storage.write_text(self._name, certificate.to_json())


def frozen_conf(session: SparkSession) -> dict[str, str]:
    """Return the values that a checkpoint begun in `session` would freeze."""
    return {key: str(session.conf.get(key)) for key in sorted(FROZEN)}


def apply_conf(certificate: BirthCertificate, session: SparkSession) -> None:
    """Give `session` the settings that the checkpoint was born with."""
    for key, value in certificate.conf.items():
        session.conf.set(key, value)


def ensure_not_overridden(
    certificate: BirthCertificate,
    wanted: Mapping[str, str],
    *,
    stateful: bool,
    origin: Origin | None,
) -> BirthCertificate:
    """Compare what the user sets with what is frozen; return the certificate to go on with.

    Without state the number of shuffle partitions is free, so a new value replaces the old.

    Raises:
        FrozenSettingError: a setting in `wanted` differs from the frozen value.
    """
    changed = {
        key: value
        for key, value in wanted.items()
        if key in FROZEN and certificate.conf.get(key, value) != value
    }
    free = {key: value for key, value in changed.items() if _is_free(key, stateful=stateful)}
    for key, value in changed.items():
        if key not in free:
            frozen = certificate.conf[key]
            raise FrozenSettingError(
                certificate.flow, key, wanted=value, frozen=frozen, origin=origin
            )
    return certificate.with_conf(free)


def ensure_names_are_new(
    certificate: BirthCertificate,
    checkpoint: CheckpointFolder,
    reads: Mapping[DatasetName, Origin],
) -> BirthCertificate:
    """Refuse sources that come back; return the certificate with all that were ever planned.

    Only plans count: a source that was declared and never planned has no past. A source that the
    last plan still has goes on, even if a start without it was tried and failed.

    Raises:
        SourceNameReusedError: a source in `reads` was read before, but not by the last batch.
    """
    last = checkpoint.last_planned()
    planned = frozenset() if last is None else frozenset(checkpoint.plan(last).sources)
    for name, origin in reads.items():
        if name in certificate.sources - planned:
            raise SourceNameReusedError(certificate.flow, name, origin=origin)
    return certificate.with_sources(planned)


def _is_free(key: str, *, stateful: bool) -> bool:
    return key == SHUFFLE_PARTITIONS and not stateful


def _reason(key: str) -> str:
    if key == SHUFFLE_PARTITIONS:
        return "its state is divided into so many parts"
    if key.endswith(("offsetLog.formatVersion", "enableSourceEvolution")):
        return "its sources are written down in that form"
    return "its state is kept in that form"
