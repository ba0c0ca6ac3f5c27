"""The inputs of an action, from its form; and a form, from what was entered."""

from __future__ import annotations

from dataclasses import dataclass
from enum import Enum
from types import NoneType
from typing import TYPE_CHECKING, Literal, TypeVar, get_args, get_origin

from pydantic import ValidationError

from penstock.console.errors import InvalidFormError

if TYPE_CHECKING:
    from collections.abc import Mapping

    from penstock.console.frame.actions import Form

AnyForm = TypeVar("AnyForm", bound="Form")


@dataclass(frozen=True, slots=True, kw_only=True)
class Input:
    """One input as a page shows it."""

    name: str
    label: str
    help: str | None
    kind: Literal["text", "number", "checkbox", "choice", "long", "hidden"]
    value: str
    choices: tuple[str, ...] = ()
    is_required: bool = False


def inputs_of(form: type[Form], entered: Mapping[str, str]) -> tuple[Input, ...]:
    """Return the inputs of `form`, holding what was entered before, or the defaults.

    A field with `json_schema_extra={"long": True}` is given room for many lines; one with
    `{"hidden": True}` is for a question to settle.
    """
    inputs = []
    for name, field in form.model_fields.items():
        extra = field.json_schema_extra if isinstance(field.json_schema_extra, dict) else {}
        kind, choices = _kind(field.annotation)
        default = "" if field.is_required() or field.default is None else _text(field.default)
        inputs.append(
            Input(
                name=name,
                label=field.title or name.replace("_", " ").capitalize(),
                help=field.description,
                kind="hidden" if extra.get("hidden") else "long" if extra.get("long") else kind,
                value=entered.get(name, default),
                choices=choices,
                is_required=field.is_required(),
            )
        )
    return tuple(inputs)


def parsed(form: type[AnyForm], entered: Mapping[str, object]) -> AnyForm:
    """Return the form with what was entered; an empty input counts as not filled in.

    Raises:
        InvalidFormError: something is missing, or wrong.
    """
    filled = {name: value for name, value in entered.items() if value != ""}
    try:
        return form.model_validate(filled)
    except ValidationError as err:
        fault = err.errors()[0]
        place = ".".join(str(part) for part in fault["loc"]) or "form"
        raise InvalidFormError(place, reason=_reason(fault["msg"])) from err


def _reason(message: str) -> str:
    text = message.removeprefix("Value error, ")
    return text[:1].lower() + text[1:]


def _text(value: object) -> str:
    if isinstance(value, Enum):
        return str(value.value)
    return "true" if value is True else "" if value is False else str(value)


def _kind(
    annotation: object,
) -> tuple[Literal["text", "number", "checkbox", "choice"], tuple[str, ...]]:
    options = [item for item in get_args(annotation) if item is not NoneType]
    if get_origin(annotation) is Literal:
        return "choice", tuple(str(item) for item in options)
    if get_origin(annotation) is not None and len(options) == 1:
        return _kind(options[0])
    if isinstance(annotation, type) and issubclass(annotation, Enum):
        return "choice", tuple(str(item.value) for item in annotation)
    if annotation is bool:
        return "checkbox", ()
    return ("number", ()) if annotation in (int, float) else ("text", ())
