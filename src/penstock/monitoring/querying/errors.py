"""What can be wrong with a query of metrics."""

from penstock.errors import UsageError


class QueryError(UsageError):
    """A query of metrics that cannot be answered, and why."""

    code = "PEN-643"

    def __init__(self, reason: str) -> None:
        super().__init__(reason, hint="`docs/metrics.md` shows what a query may hold")
