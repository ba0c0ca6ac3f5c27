"""Service levels beside the flows that they are about."""

from collections.abc import Iterable, Sequence

from penstock.errors import UsageError
from penstock.pipeline.flows import Flow, RealTime
from penstock.settings import Measure, ServiceLevel


class ServiceLevelFlowError(UsageError):
    """A service level is about a flow that the pipeline does not have."""

    code = "PEN-644"

    def __init__(self, level: str, *, flow: str, known: Iterable[str]) -> None:
        names = ", ".join(f"`{name}`" for name in sorted(known))
        super().__init__(
            f"the service level `{level}` is about the flow `{flow}`; the flows are {names}",
            hint="change `flow` in `[[pipeline.service_levels]]` of `penstock.toml`, or leave it "
            "out: then it is about the whole pipeline",
        )


class UnmeasurableServiceLevelError(UsageError):
    """A service level is about the latency of flows of which no latency is known."""

    code = "PEN-645"

    def __init__(self, level: str, *, flows: Iterable[str]) -> None:
        names = ", ".join(f"`{name}`" for name in sorted(flows))
        super().__init__(
            f"the service level `{level}` is about the latency of {names}: it is not measured of "
            'flows with `trigger="real_time"`, whose records go on long before their batch ends',
            hint="promise `lag_seconds` or `availability` instead, or give the flow another "
            "`trigger`",
        )


def check_levels(levels: Iterable[ServiceLevel], flows: Sequence[Flow]) -> None:
    """Make sure that service levels are about what there is, and can be measured.

    Raises:
        ServiceLevelFlowError: one is about a flow that there is not.
        UnmeasurableServiceLevelError: one is about the latency of real-time flows alone.
    """
    known = {str(flow.name): flow for flow in flows}
    for level in levels:
        if level.flow is not None and level.flow not in known:
            raise ServiceLevelFlowError(level.name, flow=level.flow, known=known)
        meant = flows if level.flow is None else [known[level.flow]]
        is_unknown = all(isinstance(flow.trigger, RealTime) for flow in meant)
        if level.measure is Measure.LATENCY and meant and is_unknown:
            raise UnmeasurableServiceLevelError(level.name, flows=[flow.name for flow in meant])
