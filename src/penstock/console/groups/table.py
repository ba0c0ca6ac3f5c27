"""The positions of a group as a file for spreadsheets."""

from __future__ import annotations

from dataclasses import asdict
from typing import TYPE_CHECKING

from starlette.responses import Response

from penstock.console.access.roles import Role
from penstock.console.frame.endpoints import Endpoint
from penstock.console.frame.spreadsheets import csv_line
from penstock.console.groups.one_page import positions
from penstock.names import GroupId

if TYPE_CHECKING:
    from starlette.requests import Request

    from penstock.console.frame import Ask
    from penstock.console.frame.answering import Answering

COLUMNS = (
    "topic",
    "partition",
    "committed",
    "committed_at",
    "first",
    "end",
    "lag",
    "held",
    "expired",
    "lag_seconds",
    "seconds_to_loss",
    "verdict",
    "owner",
)


async def _answer(answering: Answering, ask: Ask, _request: Request) -> Response:
    group = GroupId(ask.path["group"])
    lines = await answering.in_thread(lambda: positions(ask, group))
    rows = [(group, *(values[column] for column in COLUMNS)) for values in map(asdict, lines)]
    # The name of the file is no place for names of groups: they may hold anything.
    return Response(
        "".join(csv_line(row) for row in (("group", *COLUMNS), *rows)),
        media_type="text/csv",
        headers={"Content-Disposition": 'attachment; filename="partitions.csv"'},
    )


PARTITIONS_TABLE = Endpoint(
    path="/export/group/{group:path}",
    name="list_group_partitions",
    summary="The positions of a group in its partitions, as CSV.",
    role=Role.VIEWER,
    answer=_answer,
)
