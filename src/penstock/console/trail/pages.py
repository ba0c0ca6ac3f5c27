"""The page of the trail: the newest entries first, found by who, what, and to what."""

from __future__ import annotations

from dataclasses import dataclass, replace
from functools import partial
from typing import TYPE_CHECKING
from urllib.parse import urlencode

from penstock.console.access.roles import Role
from penstock.console.errors import InvalidFormError
from penstock.console.frame import Page, Parameter
from penstock.control.trail import TRAIL_TOPIC, TrailEntry

if TYPE_CHECKING:
    from penstock.console.frame import Ask

_SIZE = 50
_MOST = 500
OUTCOMES = ("", "done", "refused")
_UNTOLD = "(somebody)"


@dataclass(frozen=True, slots=True, kw_only=True)
class Looked:
    """What somebody looks for; what is empty does not matter."""

    who: str
    action: str
    target: str
    outcome: str

    def wants(self, entry: TrailEntry) -> bool:
        """Say whether an entry is looked for."""
        texts = ((self.who, entry.who), (self.action, entry.action), (self.target, entry.target))
        is_done = entry.refused is None
        return all(text.lower() in found.lower() for text, found in texts) and (
            not self.outcome or is_done == (self.outcome == "done")
        )


@dataclass(frozen=True, slots=True, kw_only=True)
class TrailModel:
    """Some entries of the trail."""

    entries: tuple[TrailEntry, ...]
    looked: Looked
    looked_at: int
    """How many entries were read."""

    same: str
    """The address of these entries, whatever is added."""

    older: str | None
    """The address of the entries before these; None: there are none."""


def load(ask: Ask) -> TrailModel:
    """Return some entries, read within seconds.

    Raises:
        InvalidFormError: there is no such outcome, or nothing begins there.
    """
    names = ("who", "action", "target", "outcome")
    looked = Looked(**{name: ask.query.get(name, "").strip() for name in names})
    if looked.outcome not in OUTCOMES:
        raise InvalidFormError(field="outcome", reason="it is neither `done` nor `refused`")
    size = ask.number("size", _SIZE, least=1, most=_MOST)
    seen = partial(_as_seen_by, ask.user.role)
    page = ask.world.trail.page(
        size, begin=_begin(ask), wanted=lambda entry: looked.wants(seen(entry))
    )
    known = {name: ask.query[name] for name in (*names, "size") if ask.query.get(name)}
    return TrailModel(
        entries=tuple(seen(entry) for entry in page.entries),
        looked=looked,
        looked_at=page.looked_at,
        same=f"/trail?{urlencode({**known, 'begin': page.begin})}",
        older=None if page.older is None else f"/trail?{urlencode({**known, 'begin': page.older})}",
    )


def _as_seen_by(role: Role, entry: TrailEntry) -> TrailEntry:
    """Return an entry as a role sees it: a name that failed may be a password."""
    is_failed_login = entry.action == "log_in" and entry.refused is not None
    return replace(entry, who=_UNTOLD) if is_failed_login and role < Role.OPERATOR else entry


def _begin(ask: Ask) -> int | None:
    text = ask.query.get("begin")
    if not text:
        return None
    if not text.isdecimal():
        raise InvalidFormError(field="begin", reason="it is not a number")
    return int(text)


TRAIL = Page(
    path="/trail",
    name="show_trail",
    summary="Who did what, when, from where, and what came of it; the newest first.",
    template="trail/trail.html",
    model=TrailModel,
    load=load,
    title=lambda _: "Trail",
    command=lambda _ask, _model: f"penstock consume {TRAIL_TOPIC} --last {_SIZE}",
    parameters=(
        Parameter(name="who", meaning="only what those did whose name contains this"),
        Parameter(name="action", meaning="only what is called so, such as `pause_flow`"),
        Parameter(name="target", meaning="only what was done to what contains this"),
        Parameter(name="outcome", meaning="done or refused"),
        Parameter(name="begin", meaning="where to go on, as in the links", kind=int),
        Parameter(name="size", meaning="how many entries, at most 500", kind=int),
    ),
    live=("entries",),
    menu="Trail",
)
