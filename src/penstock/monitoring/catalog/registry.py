"""What is measured of the schema registry; `registry/figures.py` serves it, from a lower layer."""

from penstock.monitoring.catalog.metric import Metric, Unit, counter, gauge

REGISTRY: tuple[Metric, ...] = (
    gauge("penstock_registry_subjects", Unit.COUNT, "Subjects that are not deleted."),
    gauge("penstock_registry_versions", Unit.COUNT, "Versions of schemas that are not deleted."),
    gauge("penstock_registry_leads", Unit.BOOLEAN, "Whether this instance does the writes."),
    counter(
        "penstock_registry_requests_total",
        Unit.COUNT,
        "Requests that were answered, by what they ask and the status.",
        "asked",
        "status",
    ),
)
