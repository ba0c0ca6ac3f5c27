"""Metrics for programs: Prometheus' text, and the query API."""

from __future__ import annotations

from datetime import UTC, datetime
from typing import TYPE_CHECKING

from starlette.responses import JSONResponse, Response

from penstock.console.access.roles import Role
from penstock.console.frame.endpoints import Endpoint
from penstock.console.frame.pages import Parameter
from penstock.monitoring.exposition import CONTENT_TYPE, exposition
from penstock.monitoring.querying import QueryBody, QueryError, answer, parsed_question

if TYPE_CHECKING:
    from starlette.requests import Request

    from penstock.console.frame.answering import Answering
    from penstock.console.frame.asking import Ask
    from penstock.console.world import World

_LARGEST_QUERY = 64 * 1024


def cluster_id(world: World) -> str:
    """Return the id of the cluster; empty while it has not been asked."""
    return world.cluster.cluster_id if world.cluster else ""


async def _exposition(answering: Answering, ask: Ask, _request: Request) -> Response:
    text = await answering.in_thread(lambda: exposition(ask.world.samples()))
    return Response(text, media_type=CONTENT_TYPE)


async def _query(answering: Answering, ask: Ask, request: Request) -> Response:
    body = b""
    async for part in request.stream():
        body += part
        if len(body) > _LARGEST_QUERY:
            reason = f"the query is longer than {_LARGEST_QUERY} bytes"
            raise QueryError(reason)

    def found() -> dict[str, object]:
        question = parsed_question(body, now=datetime.now(UTC))
        world = ask.world
        return answer(
            question,
            world.history,
            cluster_id=cluster_id(world),
            page_token=ask.query.get("page_token"),
        ).as_dict()

    return JSONResponse(await answering.in_thread(found))


EXPOSITION = Endpoint(
    path="/metrics",
    name="scrape_metrics",
    summary="Everything that is measured, in Prometheus' text format.",
    role=Role.VIEWER,
    answer=_exposition,
)

QUERY = Endpoint(
    path="/metrics/query",
    name="query_metrics",
    summary="The answer to a query of metrics, in the dialect of Confluent Cloud's Metrics API.",
    role=Role.VIEWER,
    answer=_query,
    parameters=(
        Parameter(name="page_token", meaning="goes on where an answer said that there is more"),
    ),
    body=QueryBody,
    method="POST",
)
