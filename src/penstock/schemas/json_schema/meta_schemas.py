"""The meta-schemas of the specification and their vocabularies: all that is known by address."""

from typing import cast

from jsonschema_specifications import REGISTRY  # type: ignore[import-untyped]
from referencing.exceptions import NoSuchResource

from penstock.schemas.json_schema.drafts import Keywords


def meta_schema(address: str) -> Keywords | None:
    """Return the meta-schema at `address`, with or without a `#` at its end; None for others."""
    for spelling in (address, f"{address}#"):
        try:
            return cast("Keywords", REGISTRY.contents(spelling))
        except NoSuchResource:
            continue
    return None
