"""What a flow has written last: a few records of each of its topics, on a page of their own.

The page of the flow is loaded again every second while somebody looks; reading topics that often
would cost more than it tells.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import TYPE_CHECKING

from penstock.console.pipelines.finding import flow_of, pipeline_of
from penstock.console.records.asked import Asked
from penstock.console.records.browsing import opened_topic
from penstock.console.records.rows import Row, row
from penstock.errors import PenstockError
from penstock.kafka.browsing import Found, Limits

if TYPE_CHECKING:
    from penstock.console.frame import Ask
    from penstock.names import TopicName

_LIMITS = Limits(found=5, records=10_000, byte_count=16 * 1024**2, seconds=2.0)
_MOST_TOPICS = 4


@dataclass(frozen=True, slots=True, kw_only=True)
class TopicSample:
    """The last records of a topic."""

    topic: str
    rows: tuple[Row, ...]
    fault: str | None
    """Why it could not be read."""


@dataclass(frozen=True, slots=True, kw_only=True)
class OutputModel:
    """What a flow has written last."""

    pipeline: str
    flow: str
    samples: tuple[TopicSample, ...]
    elsewhere: tuple[str, ...]
    """Tables and sinks, which have no records to show, and topics beyond the first few."""


def load_output(ask: Ask) -> OutputModel:
    """Return a few records of each topic that a flow writes, newest first.

    Raises:
        NotFoundError: there is no such pipeline, or no such flow in it.
    """
    overview = pipeline_of(ask)
    flow = flow_of(ask, overview)
    about = ask.world.operator().about(overview)
    known = dict(about.topics) if about else {}
    topics = [known[name] for name in flow.writes if name in known][:_MOST_TOPICS]
    return OutputModel(
        pipeline=overview.pipeline,
        flow=flow.flow,
        samples=tuple(_sample(ask, topic) for topic in topics),
        elsewhere=tuple(name for name in flow.writes if known.get(name) not in topics),
    )


def _sample(ask: Ask, name: TopicName) -> TopicSample:
    try:
        with opened_topic(replace(ask, path={**ask.path, "topic": name})) as topic:
            scan = topic.scan(Asked(), _LIMITS, lambda seen, _: row(seen))
            rows = tuple(step.kept for step in scan if isinstance(step, Found))
    except PenstockError as error:
        return TopicSample(topic=name, rows=(), fault=error.message)
    return TopicSample(topic=name, rows=rows, fault=None)
