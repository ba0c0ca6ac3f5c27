"""A schema with all it refers to: every subschema has a place, and every reference a target.

Nothing is ever fetched. A reference leads to the same document, to one handed over with the
schema, or to a meta-schema of the specification; any other one is an error.
"""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from typing import cast
from urllib.parse import unquote, urldefrag, urljoin

from penstock.schemas.errors import InvalidSchemaError
from penstock.schemas.json_schema.drafts import Draft, Keywords, children, draft_of
from penstock.schemas.json_schema.keywords import KeywordError, check_keywords, is_address
from penstock.schemas.json_schema.meta_schemas import meta_schema
from penstock.schemas.json_text import load_json
from penstock.schemas.schema import Resolved, in_order

MAX_SUBSCHEMAS = 10_000
"""Of a schema with all it refers to: as many are looked at in half a second."""

REFERENCE_KEYWORDS = ("$ref", "$dynamicRef", "$recursiveRef")


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class Document:
    """One JSON text: the schema itself, a reference, or a meta-schema."""

    name: str
    """As errors call it: empty for the schema itself."""

    contents: object
    draft: Draft


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class Node:
    """A schema or subschema and where it stands; there is one of them for each place."""

    schema: bool | Keywords
    document: Document
    base: str
    """The address that references in it start from."""

    way: tuple[str, ...]
    """From the document's root to here."""

    @property
    def draft(self) -> Draft:
        """The draft that says what its keywords mean."""
        return self.document.draft

    @property
    def place(self) -> str:
        """Where it stands, for a reader: a JSON pointer."""
        return f"{self.document.name}{pointer(self.way)}"


def pointer(way: Sequence[str]) -> str:
    """Return a JSON pointer as Confluent's registry writes it: `#/` is the root."""
    return "#/" + "/".join(part.replace("~", "~0").replace("/", "~1") for part in way)


@dataclass(slots=True)
class Documents:
    """The nodes of a schema and its references."""

    root: Node = field(init=False)
    reference_names: tuple[str, ...] = ()
    reference_texts: tuple[str, ...] = ()
    stored: bool = False
    """Whether keywords that the meta-schema forbids are left out, and references to what is not
    there accept anything. Other registries have let them in."""

    _nodes: dict[tuple[Document, tuple[str, ...]], Node] = field(default_factory=dict)
    _resources: dict[str, Node] = field(default_factory=dict)
    _anchors: dict[tuple[str, str], Node] = field(default_factory=dict)
    _dynamic_anchors: list[str] = field(default_factory=list)
    _targets: dict[tuple[str, str], Node] = field(default_factory=dict)

    @property
    def nodes(self) -> list[Node]:
        """All nodes known so far."""
        return list(self._nodes.values())

    @property
    def documents(self) -> set[Document]:
        """The schema itself, its references, and the meta-schemas it refers to."""
        return {document for document, _ in self._nodes}

    @property
    def dynamic(self) -> bool:
        """Whether what a `$dynamicRef` means may depend on who refers to the schema around it."""
        return len(set(self._dynamic_anchors)) < len(self._dynamic_anchors)

    @property
    def resources(self) -> dict[str, Node]:
        """The schemas that have an address of their own."""
        return dict(self._resources)

    def child(self, node: Node, *way: str) -> Node:
        """Return the subschema that `way` leads to from `node`."""
        return self._nodes[node.document, node.way + way]

    def children(self, node: Node) -> Iterator[Node]:
        """Yield the subschemas directly below `node`."""
        if isinstance(node.schema, dict):
            for way, _ in children(node.schema, node.draft):
                yield self.child(node, *way)

    def target(self, node: Node, keyword: str) -> Node:
        """Return the schema that `$ref` (or a `keyword` like it) of `node` stands for.

        Raises:
            InvalidSchemaError: there is no such schema, or it would have to be fetched.
        """
        reference = str(cast("Keywords", node.schema)[keyword])
        found = self._targets.get((node.base, reference))
        if found is None:
            found = self._targets[node.base, reference] = self._look_up(node, keyword, reference)
        return found

    def add(self, document: Document, base: str) -> Node:
        """Take in a document under the address `base`; the first one there stays."""
        root = self._index(document, document.contents, base, ())
        self._resources.setdefault(base, root)
        return root

    def _look_up(self, node: Node, keyword: str, reference: str) -> Node:
        address, fragment = _split(node.base, reference)
        resource = self._resources.get(address) or self._meta_schema(address)
        found = self._within(resource, address, fragment) if resource else None
        if found is None and self.stored:
            way = (*node.way, keyword)
            return Node(schema=True, document=node.document, base=node.base, way=way)
        if resource is None:
            given = ", ".join(f"`{name}`" for name in self.reference_names[:5]) or "it has none"
            raise InvalidSchemaError(
                reason=f"`{keyword}` leads to `{reference[:200]}`, which is neither in this schema "
                f"nor among its references ({given}); nothing is fetched",
                path=node.place,
            )
        if found is None:
            raise InvalidSchemaError(
                reason=f"`{keyword}` leads to `{reference[:200]}`, and there is no schema",
                path=node.place,
            )
        return found

    def _within(self, resource: Node, address: str, fragment: str) -> Node | None:
        if not fragment:
            return resource
        if not fragment.startswith("/"):
            return self._anchors.get((address, fragment))
        steps = [step.replace("~1", "/").replace("~0", "~") for step in fragment[1:].split("/")]
        way = (*resource.way, *steps)
        return self._nodes.get((resource.document, way)) or self._index_at(resource, steps)

    def _index_at(self, resource: Node, steps: Sequence[str]) -> Node | None:
        """Take in a schema below a keyword that the specification does not know."""
        value: object = resource.schema
        for step in steps:
            if isinstance(value, dict) and step in value:
                value = value[step]
            elif isinstance(value, list) and step.isdecimal() and int(step) < len(value):
                value = value[int(step)]
            else:
                return None
        if not isinstance(value, dict | bool):
            return None
        return self._index(resource.document, value, resource.base, (*resource.way, *steps))

    def _meta_schema(self, address: str) -> Node | None:
        contents = meta_schema(address)
        if contents is None:
            return None
        document = Document(name=address, contents=contents, draft=draft_of(contents))
        return self.add(document, address)

    def _index(self, document: Document, value: object, base: str, way: tuple[str, ...]) -> Node:
        waiting = [(value, base, way)]
        while waiting:
            schema, its_base, its_way = waiting.pop()
            if (document, its_way) in self._nodes:
                continue
            node = self._take_in(document, schema, its_base, its_way)
            if isinstance(node.schema, dict):
                waiting += [
                    (child, node.base, its_way + step)
                    for step, child in children(node.schema, document.draft)
                ]
        return self._nodes[document, way]

    def _take_in(self, document: Document, schema: object, base: str, way: tuple[str, ...]) -> Node:
        if len(self._nodes) >= MAX_SUBSCHEMAS:
            raise InvalidSchemaError(
                reason=f"the schema and its references have more than {MAX_SUBSCHEMAS:,} subschemas"
            )
        checked = self._checked(document, schema, way)
        own_base = _own_base(checked, document.draft, base)
        node = Node(schema=checked, document=document, base=own_base, way=way)
        self._nodes[document, way] = node
        if isinstance(checked, dict):
            if own_base != base:
                self._resources.setdefault(own_base, node)
            self._name(node, checked)
        return node

    def _checked(self, document: Document, schema: object, way: tuple[str, ...]) -> bool | Keywords:
        while True:
            try:
                return check_keywords(schema, document.draft)
            except KeywordError as error:
                if not self.stored:
                    path = f"{document.name}{pointer(way + error.way)}"
                    raise InvalidSchemaError(reason=str(error), path=path) from error
                schema = _without(schema, error.way)

    def _name(self, node: Node, schema: Keywords) -> None:
        for keyword in ("$anchor", "$dynamicAnchor"):
            if isinstance(anchor := schema.get(keyword), str):
                self._anchors.setdefault((node.base, anchor), node)
        if isinstance(anchor := schema.get("$dynamicAnchor"), str):
            self._dynamic_anchors.append(anchor)
        if schema.get("$recursiveAnchor") is True:
            self._dynamic_anchors.append("$recursiveAnchor")
        address = schema.get(node.draft.id_keyword)
        if node.draft <= Draft.DRAFT_07 and isinstance(address, str) and "#" in address:
            self._anchors.setdefault((node.base, urldefrag(address).fragment), node)


def read_documents(text: str, references: Sequence[Resolved], *, stored: bool) -> Documents:
    """Return the schema in `text` and all that `references` stand for.

    Raises:
        InvalidSchemaError: one of them is not a schema, or one of their references leads nowhere.
    """
    contents = load_json(text)
    ordered = list(in_order(references))
    documents = Documents(
        reference_names=tuple(one.name for one in ordered),
        reference_texts=tuple(one.text for one in ordered),
        stored=stored,
    )
    main = Document(name="", contents=contents, draft=draft_of(contents))
    documents.root = documents.add(main, "")
    for reference in ordered:
        _add_reference(documents, reference)
    _follow_all(documents)
    return documents


def _add_reference(documents: Documents, reference: Resolved) -> None:
    if not is_address(reference.name):
        raise InvalidSchemaError(
            reason=f"the reference's name `{reference.name[:200]}` is not an address"
        )
    contents = load_json(reference.text)
    document = Document(name=reference.name, contents=contents, draft=draft_of(contents))
    # A relative name is found from wherever the main schema stands, as well as by itself.
    address = urldefrag(urljoin(documents.root.base, reference.name)).url
    documents.add(document, address)
    documents.add(document, urldefrag(reference.name).url)


def _follow_all(documents: Documents) -> None:
    """Resolve every reference; what is found on the way is followed too."""
    followed: set[Node] = set()
    while waiting := [node for node in documents.nodes if node not in followed]:
        for node in waiting:
            followed.add(node)
            for keyword in REFERENCE_KEYWORDS:
                if isinstance(node.schema, dict) and keyword in node.schema:
                    documents.target(node, keyword)


def _without(schema: object, way: Sequence[str]) -> object:
    """Return the schema without the keyword that is wrong; what is no schema accepts anything."""
    if not isinstance(schema, dict) or not way:
        return True
    return {name: value for name, value in schema.items() if name != way[0]}


def _own_base(schema: object, draft: Draft, base: str) -> str:
    if not isinstance(schema, dict) or (draft.ref_replaces_siblings and "$ref" in schema):
        return base
    address = schema.get(draft.id_keyword)
    if not isinstance(address, str) or address.startswith("#"):
        return base
    return urldefrag(urljoin(base, address)).url


def _split(base: str, reference: str) -> tuple[str, str]:
    # `urljoin` knows nothing of addresses such as `urn:…`, which have no relative ones.
    if reference.startswith("#"):
        return base, unquote(reference[1:])
    address, fragment = urldefrag(urljoin(base, reference))
    return address, unquote(fragment)
