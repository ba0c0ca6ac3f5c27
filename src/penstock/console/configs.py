"""Configs of topics and brokers: as a list, and as what is to be changed."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

from pydantic import Field

from penstock.console.errors import InvalidFormError
from penstock.console.frame import Listing, Table, listing
from penstock.console.frame.actions import Form
from penstock.kafka import ConfigAlteration, ConfigSource
from penstock.settings import MASK

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping, Sequence

    from penstock.console.frame import Ask
    from penstock.kafka import ConfigChange, ConfigEntry

_SETTINGS, _REMOVALS = "settings", "removals"


@dataclass(frozen=True, slots=True, kw_only=True)
class ConfigLine:
    """One config with the value in force; secrets are masked."""

    name: str
    value: str | None
    source: ConfigSource
    is_read_only: bool
    can_be_edited: bool
    """Whether an edit may begin with the value that is shown."""


class ConfigForm(Form):
    """Which configs to set and which to remove."""

    settings: str = Field(
        "", title="Set", description="One in a line: name=value.", json_schema_extra={"long": True}
    )
    removals: str = Field(
        "",
        title="Remove",
        description="Names, with spaces between them: the value of a weaker source shows again.",
    )


def config_list(entries: Iterable[ConfigEntry], ask: Ask) -> Listing[ConfigLine]:
    """Return the page of the list of configs; what somebody has set comes first."""
    order = {source: rank for rank, source in enumerate(ConfigSource)}
    found = listing(
        entries,
        ask,
        text=lambda entry: f"{entry.name}\n{entry.shown}\n{entry.source}",
        columns={
            "name": lambda entry: entry.name,
            "source": lambda entry: (order[entry.source], entry.name),
        },
        sort="source",
    )
    return found.shown_as(_line)


def alterations(form: ConfigForm) -> tuple[ConfigAlteration, ...]:
    """Return what was entered.

    Raises:
        InvalidFormError: it says nothing, or two things about the same config.
    """
    found = settings_in(form.settings, field=_SETTINGS)
    found += [ConfigAlteration(name=name, value=None) for name in form.removals.split()]
    if not found:
        raise InvalidFormError(_SETTINGS, reason="there is nothing to set or to remove")
    names = [item.name for item in found]
    for name in names:
        if names.count(name) > 1:
            raise InvalidFormError(_REMOVALS, reason=f"`{name}` is named twice")
    return tuple(found)


def settings_in(text: str, *, field: str) -> list[ConfigAlteration]:
    """Return what the lines of an input say.

    Raises:
        InvalidFormError: one of them is not `name=value`.
    """
    return [_setting(line.strip(), field) for line in text.splitlines() if line.strip()]


def preview(asked: Sequence[ConfigAlteration], current: Mapping[str, ConfigEntry | None]) -> Table:
    """Return what is in force now and what would be."""
    return Table(
        head=("Config", "Now", "Then"),
        rows=tuple((item.name, _now(current[item.name]), _then(item, current)) for item in asked),
    )


def told(changes: Iterable[ConfigChange]) -> str:
    """Return what has changed as words, for the trail; secrets are masked."""
    return ", ".join(str(change) for change in changes)


def command_words(asked: Sequence[ConfigAlteration]) -> list[str]:
    """Return the options of `penstock topics alter` for these alterations."""
    words: list[str] = []
    for item in asked:
        words += (
            ["--unset", item.name] if item.value is None else ["--set", f"{item.name}={item.value}"]
        )
    return words


def _setting(line: str, field: str) -> ConfigAlteration:
    name, equals, value = line.partition("=")
    if not equals or not name.strip():
        raise InvalidFormError(field, reason=f"`{line}` is not like retention.ms=3600000")
    return ConfigAlteration(name=name.strip(), value=value.strip())


def _line(entry: ConfigEntry) -> ConfigLine:
    return ConfigLine(
        name=entry.name,
        value=entry.shown,
        source=entry.source,
        is_read_only=entry.read_only,
        can_be_edited=not entry.read_only and not entry.sensitive,
    )


def _now(entry: ConfigEntry | None) -> str:
    return _value(entry) if entry is None else f"{_value(entry)} ({entry.source})"


def _then(item: ConfigAlteration, current: Mapping[str, ConfigEntry | None]) -> str:
    if item.value is None:
        return "what a weaker source says"
    entry = current[item.name]
    return MASK if entry is not None and entry.sensitive else item.value


def _value(entry: ConfigEntry | None) -> str:
    return "nothing" if entry is None or entry.shown is None else entry.shown
