"""The names of Avro's types and fields: which are allowed, and what they are in full."""

import re
from collections.abc import Collection

from penstock.names import nearest
from penstock.schemas.avro.types import FullName, Kind
from penstock.schemas.errors import InvalidSchemaError

PRIMITIVES = frozenset(kind.value for kind in Kind)
"""Names that no definition may take, in any namespace."""

COMPLEX = frozenset({"record", "error", "enum", "array", "map", "fixed"})

_NAME = re.compile(r"[A-Za-z_][A-Za-z0-9_]*")
_STORED_NAME = re.compile(r"[^\W\d]\w*")
"""What Avro's Java library took for a name when a stored schema was registered there."""

# More candidates than this are not searched for a likely spelling: that would take too long.
_MAX_CANDIDATES = 100


class Names:
    """The rules for names: the specification's, or for stored schemas those of the Java library."""

    def __init__(self, *, stored: bool) -> None:
        self._stored = stored
        self._pattern = _STORED_NAME if stored else _NAME

    def check(self, name: str, path: str) -> str:
        """Return the name of a field or symbol if it is one.

        Raises:
            InvalidSchemaError: it has other characters than letters, digits and underscores.
        """
        if self._pattern.fullmatch(name) is None:
            raise InvalidSchemaError(
                reason=f"`{name[:100]}` is not a name: it must consist of letters, digits and "
                "underscores, and not begin with a digit",
                path=path,
            )
        return name

    def full(self, name: str, namespace: str, path: str) -> FullName:
        """Return the full name of a definition in `namespace`.

        Raises:
            InvalidSchemaError: the name or its namespace is not allowed.
        """
        space, _, simple = name.rpartition(".") if "." in name else (namespace, "", name)
        self.check(simple, path)
        if simple in PRIMITIVES:
            raise InvalidSchemaError(
                reason=f"`{simple}` is the name of a primitive type, no other type may have it",
                path=path,
            )
        # The Java library looks at no namespace: stored ones contain dashes and more.
        if (space or "." in name) and not self._stored:
            for part in space.split("."):
                self.check(part, path)
        return FullName(f"{space}.{simple}" if space else simple)


def full_alias(alias: str, namespace: str) -> FullName:
    """Return the full name that an alias of a type in `namespace` stands for.

    It may be any string: an alias is how schemas get rid of names that are not allowed.
    """
    space, _, simple = alias.rpartition(".") if "." in alias else (namespace, "", alias)
    return FullName(f"{space}.{simple}" if space else simple)


def unknown_type(name: str, known: Collection[str], path: str) -> InvalidSchemaError:
    """Return the error for a use of `name`, which is neither primitive nor defined before it."""
    if name in COMPLEX:
        reason = f'`{name}` needs a schema of its own: {{"type": "{name}", …}}'
        return InvalidSchemaError(reason=reason, path=path)
    reason = f"`{name[:100]}` is not the name of a type that is defined before its use"
    candidates = {*PRIMITIVES, *(known if len(known) <= _MAX_CANDIDATES else ())}
    likely = nearest(name[:100], candidates - {name})
    return InvalidSchemaError(
        reason=f"{reason}; did you mean `{likely}`?" if likely else reason, path=path
    )
