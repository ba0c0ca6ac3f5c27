"""References that lead back to where they start without looking at a smaller part of a document.

`{"properties": {"next": {"$ref": "#"}}}` is a list; `{"$ref": "#"}` never ends.
"""

from collections.abc import Iterator

from penstock.schemas.errors import InvalidSchemaError
from penstock.schemas.json_schema.documents import REFERENCE_KEYWORDS, Documents, Node

_IN_PLACE = frozenset(
    {"allOf", "anyOf", "oneOf", "not", "if", "then", "else", "dependentSchemas", "dependencies"}
)


def check_cycles(documents: Documents) -> None:
    """Refuse a schema that no document can be checked against in finite time.

    Raises:
        InvalidSchemaError: a schema applies itself to the value it is applied to.
    """
    finished: set[Node] = set()
    for start in documents.nodes:
        if start in finished:
            continue
        way = [(start, _applied(documents, start))]
        entered = {start}
        while way:
            node, following = way[-1]
            target = next((one for one in following if one not in finished), None)
            if target is None:
                finished.add(node)
                entered.discard(node)
                way.pop()
            elif target in entered:
                raise InvalidSchemaError(
                    reason=f"the schema leads back to `{target.place}` for the same value, "
                    "without an end",
                    path=node.place,
                )
            else:
                entered.add(target)
                way.append((target, _applied(documents, target)))


def _applied(documents: Documents, node: Node) -> Iterator[Node]:
    """Yield the schemas that `node` applies to the very value it is applied to."""
    if isinstance(node.schema, bool):
        return
    replaced = node.draft.ref_replaces_siblings and "$ref" in node.schema
    for keyword in REFERENCE_KEYWORDS:
        if keyword in node.schema and (keyword == "$ref" or not node.draft.ref_replaces_siblings):
            yield documents.target(node, keyword)
    if replaced:
        return
    for child in documents.children(node):
        if child.way[len(node.way)] in _IN_PLACE:
            yield child
