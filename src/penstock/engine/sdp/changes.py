"""The verb `create_auto_cdc_flow` with Spark's signature, which keeps columns as texts."""

from __future__ import annotations

import sys
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING, Any

from pyspark import pipelines
from pyspark.pipelines import api
from pyspark.sql import Column

from penstock.engine.sdp.definitions import Definitions, QueryDefinition
from penstock.engine.sdp.errors import UnsupportedFeatureError
from penstock.engine.sdp.statements import stream_of
from penstock.errors import Origin
from penstock.pipeline import Changes, InvalidDeclarationError

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator


@contextmanager
def our_verb(definitions: Definitions) -> Iterator[None]:
    """Let `create_auto_cdc_flow` be ours: Spark's makes columns that only Spark Connect knows."""
    theirs = api.create_auto_cdc_flow
    modules: tuple[Any, ...] = (api, pipelines)
    for module in modules:
        module.create_auto_cdc_flow = create_auto_cdc_flow(definitions.queries.append)
    try:
        yield
    finally:
        for module in modules:
            module.create_auto_cdc_flow = theirs


def create_auto_cdc_flow(keep: Callable[[QueryDefinition], None]) -> Callable[..., None]:
    """Return the verb; what is declared with it goes to `keep`."""

    def verb(
        target: str,
        source: str,
        keys: list[str],
        sequence_by: str,
        apply_as_deletes: str | None = None,
        column_list: list[str] | None = None,
        except_column_list: list[str] | None = None,
        stored_as_scd_type: int | str | None = None,
        name: str | None = None,
    ) -> None:
        frame = sys._getframe(1)  # noqa: SLF001 - the line of the call
        origin = Origin(Path(frame.f_code.co_filename), frame.f_lineno)
        check = _Arguments(name or target, origin)
        changes = Changes(
            keys=check.names("keys", keys),
            sequence_by=check.text("sequence_by", sequence_by),
            deletes=None
            if apply_as_deletes is None
            else check.text("apply_as_deletes", apply_as_deletes),
            columns=None if column_list is None else check.names("column_list", column_list),
            except_columns=()
            if except_column_list is None
            else check.names("except_column_list", except_column_list),
        )
        check.together(changes, stored_as_scd_type)
        flow = check.text("name", name or target)
        keep(
            QueryDefinition(
                name=flow,
                target=check.text("target", target),
                function=stream_of(check.text("source", source), flow=flow, origin=origin),
                origin=origin,
                changes=changes,
            )
        )

    return verb


class _Arguments:
    """Checks arguments as Spark does, and refuses columns, which need Spark Connect."""

    def __init__(self, flow: str, origin: Origin) -> None:
        self._flow, self._origin = flow, origin

    def text(self, argument: str, value: Any) -> str:  # noqa: ANN401 - the user's
        if isinstance(value, Column):
            raise UnsupportedFeatureError(
                feature=f"a Column as `{argument}` of `create_auto_cdc_flow`",
                instead="write it as a text: a column name or a SQL expression",
                origin=self._origin,
            )
        if not isinstance(value, str) or not value:
            raise self._wrong(argument, f"it is `{value!r}`, expected a text")
        return value

    def names(self, argument: str, value: Any) -> tuple[str, ...]:  # noqa: ANN401 - the user's
        if not isinstance(value, list) or not value:
            raise self._wrong(argument, f"it is `{value!r}`, expected a list of column names")
        return tuple(self.text(argument, item) for item in value)

    def together(self, changes: Changes, scd_type: object) -> None:
        if changes.columns is not None and changes.except_columns:
            raise self._wrong(argument="column_list", reason="it excludes `except_column_list`")
        if scd_type is not None and str(scd_type) != "1":
            raise UnsupportedFeatureError(
                feature=f"`stored_as_scd_type={scd_type!r}` of `create_auto_cdc_flow`",
                instead="leave it out: the table holds the newest row of each key (type 1)",
                origin=self._origin,
            )

    def _wrong(self, argument: str, reason: str) -> InvalidDeclarationError:
        return InvalidDeclarationError(
            what=f"auto CDC flow `{self._flow}`",
            argument=argument,
            reason=reason,
            origin=self._origin,
        )
