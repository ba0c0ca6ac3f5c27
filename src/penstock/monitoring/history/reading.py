"""Which rows of which tier answer a question, and the segments that they stand for."""

import json
import sqlite3
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from itertools import groupby, pairwise
from operator import itemgetter

from penstock.monitoring.history.series import (
    SAMPLE_SECONDS,
    Row,
    Segment,
    segments_of_rows,
    segments_of_values,
)
from penstock.monitoring.history.storage import RAW, TIERS, Tier, oldest_chunk


@dataclass(frozen=True, slots=True, kw_only=True)
class _Session:
    """From when to when somebody wrote without a gap, and when the next one begins."""

    began: int
    until: int
    next_began: float


@dataclass(frozen=True, slots=True, kw_only=True)
class _Piece:
    """A piece of time within a session that one tier answers for."""

    tier: Tier
    session: _Session
    begin: float
    end: float


def tier_for(step: float) -> Tier:
    """Return the coarsest tier that is fine enough for steps of so many seconds."""
    return next((tier for tier in reversed(TIERS) if tier.resolution <= step), RAW)


def segments(
    connection: sqlite3.Connection,
    numbers: Sequence[int],
    *,
    since: float,
    until: float,
    tier: Tier,
) -> dict[int, list[Segment]]:
    """Return what the file says of series from `since` to `until`, by their numbers.

    What `tier` keeps no more comes from coarser ones, and the end of a session, which it has not
    summed up, from finer ones.
    """
    found: dict[int, list[Segment]] = {number: [] for number in numbers}
    kept_since = {tier: _kept_since(connection, tier) for tier in TIERS}
    for session in _sessions(connection, since, until):
        for piece in _pieces(session, since, until, tier, kept_since):
            for number, rows in _rows(connection, numbers, piece):
                found[number].extend(_clipped(_segments_of(piece, rows), piece))
    return found


def _pieces(
    session: _Session, since: float, until: float, tier: Tier, kept_since: dict[Tier, float]
) -> Iterator[_Piece]:
    until = min(until, session.until + SAMPLE_SECONDS, session.next_began)
    begin = max(since, tier.floor(session.began))
    for finer in reversed(TIERS[: TIERS.index(tier) + 1]):
        end = until if finer is RAW else min(until, finer.floor(session.until))
        yield from _kept(finer, session, begin, end, kept_since)
        begin = max(begin, end)


def _kept(
    tier: Tier, session: _Session, begin: float, end: float, kept_since: dict[Tier, float]
) -> Iterator[_Piece]:
    """Yield the piece in `tier`, and before it the one that only a coarser tier still has."""
    if begin >= end:
        return
    edge = max(begin, kept_since[tier])
    coarser = TIERS[TIERS.index(tier) + 1 :]
    if begin < edge and coarser:
        yield from _kept(coarser[0], session, begin, min(end, edge), kept_since)
    if edge < end:
        yield _Piece(tier=tier, session=session, begin=edge, end=end)


def _rows(
    connection: sqlite3.Connection, numbers: Sequence[int], piece: _Piece
) -> Iterator[tuple[int, Iterator[tuple[float, ...]]]]:
    tier, began = piece.tier, piece.tier.floor(piece.session.began)
    # One row more at each end: growth between two rows is known when there are both.
    since = max(piece.begin - SAMPLE_SECONDS, began)
    until = min(piece.end + SAMPLE_SECONDS, piece.session.until + 1)
    columns = (
        "series, at, value" if tier is RAW else "series, at, seconds, mean, low, high, last, growth"
    )
    rows = connection.execute(
        f"SELECT {columns} FROM {tier.table} WHERE chunk BETWEEN ? AND ? "  # noqa: S608 - constants
        "AND series IN (SELECT value FROM json_each(?)) AND at >= ? AND at < ? ORDER BY series, at",
        (
            tier.chunk_of(since),
            tier.chunk_of(until),
            json.dumps(numbers),
            began,
            until,
        ),
    )
    yield from groupby(rows, key=itemgetter(0))


def _segments_of(piece: _Piece, rows: Iterator[tuple[float, ...]]) -> list[Segment]:
    if piece.tier is RAW:
        values = [(int(at), value) for _, at, value in rows]
        return segments_of_values(values, piece.end + SAMPLE_SECONDS)
    sums = [Row(int(row[1]), *row[2:]) for row in rows]
    return segments_of_rows(sums, piece.tier.resolution, piece.end)


def _clipped(found: list[Segment], piece: _Piece) -> Iterator[Segment]:
    for segment in found:
        begin, end = max(segment.begin, piece.begin), min(segment.end, piece.end)
        if begin < end:
            share = (end - begin) / (segment.end - segment.begin)
            yield segment._replace(begin=begin, end=end, growth=segment.growth * share)


def _sessions(connection: sqlite3.Connection, since: float, until: float) -> Iterator[_Session]:
    rows = connection.execute("SELECT began, until FROM session ORDER BY began").fetchall()
    for (began, over), (next_began, _) in pairwise([*rows, (float("inf"), 0)]):
        # A coarse row begins before the session that it sums up.
        if began - TIERS[-1].resolution < until and over + SAMPLE_SECONDS > since:
            yield _Session(began=began, until=over, next_began=next_began)


def _kept_since(connection: sqlite3.Connection, tier: Tier) -> float:
    oldest = oldest_chunk(connection, tier)
    return float("inf") if oldest is None else oldest * tier.chunk
