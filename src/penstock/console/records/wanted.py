"""Which records somebody looks for: by key, header, text, and a condition on the value."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

from penstock.kafka.json_pointer import MISSING

if TYPE_CHECKING:
    from penstock.console.records.masking import Masking
    from penstock.console.records.seeing import Seen, SeenRecord
    from penstock.kafka import JsonCondition


@dataclass(frozen=True, slots=True, kw_only=True)
class Wanted:
    """What a record must fulfill; what is None does not matter."""

    key: str | None = None
    """All of the key, as it is shown: text, or the JSON that it stands for."""

    text: str | None = None
    """Somewhere in the value."""

    header: tuple[str, str | None] | None = None
    """The name of a header, and its value, or that there is one."""

    condition: JsonCondition | None = None

    @property
    def is_everything(self) -> bool:
        """Whether every record fulfills it."""
        return self == Wanted()

    def require_visible(self, masking: Masking) -> None:
        """Refuse to look for what is hidden.

        Raises:
            HiddenFieldError: something of it is hidden.
        """
        if self.key is not None:
            masking.require_visible_key()
        if self.header is not None:
            masking.require_visible_header(self.header[0])
        if self.condition is not None:
            masking.require_visible(self.condition)

    def matches(self, record: SeenRecord) -> bool:
        """Say whether a record fulfills it, by what may be seen of it."""
        return (
            (self.key is None or record.key_is(self.key))
            and (self.header is None or self._has_header(record, *self.header))
            and (self.text is None or record.value_contains(self.text))
            and (self.condition is None or self._holds(record.value, self.condition))
        )

    @staticmethod
    def _holds(value: Seen, condition: JsonCondition) -> bool:
        return value.document is not MISSING and condition.holds_in(value.document)

    @staticmethod
    def _has_header(record: SeenRecord, name: str, value: str | None) -> bool:
        return any(
            found == name and (value is None or seen.text == value)
            for found, seen in record.headers
            if not seen.is_masked
        )
