"""Something that can be done: it asks before, is allowed or not, and is put on the trail."""

from __future__ import annotations

from collections.abc import Mapping  # noqa: TC003 - pydantic reads the annotations
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any, Generic, TypeVar

from pydantic import BaseModel, ConfigDict

if TYPE_CHECKING:
    from collections.abc import Callable

    from penstock.console.access.roles import Role
    from penstock.console.frame.asking import Ask

ASKED = "_ask"
"""The field with which inputs ask what would happen, before anything does."""


class Form(BaseModel):
    """What an action is told; its fields become inputs with `title` and `description`."""

    model_config = ConfigDict(extra="forbid", frozen=True)


FormModel = TypeVar("FormModel", bound=Form)


class NoFields(Form):
    """For actions that need to be told nothing."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Table:
    """Rows that show what an action would do."""

    head: tuple[str, ...]
    rows: tuple[tuple[str, ...], ...]


@dataclass(frozen=True, slots=True, kw_only=True)
class Question:
    """What is asked before an action is carried out."""

    sentence: str
    """What will happen, such as "Pause `detect`: it finishes its batch and rests."."""

    button: str | None
    """The verb, such as "Pause"; None: it cannot be done as it is."""

    preview: Table | None = None
    warnings: tuple[str, ...] = field(default=())
    is_dangerous: bool = False
    """Whether something is lost for good."""

    settled: Mapping[str, str] = field(default_factory=dict)
    """Fields of the form that the question has made definite: what is sent when it is answered, so
    that exactly what was shown is done. Their inputs are hidden
    (`json_schema_extra={"hidden": True}`)."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Action(Generic[FormModel]):
    """One address at which something is done.

    GET shows the inputs, if there are any, and then the question with what would happen; nothing
    changes. POST does it. Both run in a thread and raise `PenstockError` to refuse.
    """

    path: str
    name: str
    """Unique, such as `pause_flow`; the trail calls it so."""

    summary: str
    form: type[FormModel]
    question: Callable[[Ask, FormModel], Question]
    perform: Callable[[Ask, FormModel], str]
    """Does it and returns a sentence that says what was done or begun."""

    target: Callable[[Ask], str]
    """What it is done to, for the trail: such as `flow fraud/detect`."""

    back: Callable[[Ask], str]
    """The page to show afterwards."""

    command: Callable[[Ask, FormModel], str] | None
    """What does the same in a terminal."""

    title: str
    role: Role
    menu: str | None = None
    initial: Callable[[Ask], dict[str, str]] | None = None
    """What the inputs hold at first, where the form has no default for it."""


AnyAction = Action[Any]
