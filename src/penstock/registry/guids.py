"""Guids: a name for a schema that is the same in every registry, made from its content alone.

It is Confluent's: the MD5 of text, references, metadata and rules, written as a UUID.
"""

import hashlib
from collections.abc import Iterator
from uuid import UUID

from penstock.registry.entries import Content
from penstock.registry.rules import Metadata, Rule, RuleSet

_PRESENT = b"\x01"


def guid_of(content: Content) -> str:
    """Return the guid of a schema."""
    digest = hashlib.md5(content.text.encode(), usedforsecurity=False)
    for reference in content.references:
        digest.update(reference.name.encode())
        digest.update(reference.subject.encode())
        digest.update(reference.version.to_bytes(4, signed=True))
    for part in _extra_parts(content):
        digest.update(part)
    return str(UUID(bytes=digest.digest()))


def _extra_parts(content: Content) -> Iterator[bytes]:
    if content.metadata is not None:
        yield _PRESENT
        yield from _metadata_parts(Metadata.model_validate_json(content.metadata))
    if content.rule_set is not None:
        yield _PRESENT
        rules = RuleSet.model_validate_json(content.rule_set)
        for group in (rules.migration_rules, rules.domain_rules, rules.encoding_rules):
            for rule in group or []:
                yield from _rule_parts(rule)


def _metadata_parts(metadata: Metadata) -> Iterator[bytes]:
    for path, tags in (metadata.tags or {}).items():
        yield path.encode()
        yield from (tag.encode() for tag in tags)
    for name, value in (metadata.properties or {}).items():
        yield name.encode()
        yield value.encode()
    yield from (name.encode() for name in metadata.sensitive or [])


def _rule_parts(rule: Rule) -> Iterator[bytes]:
    for text in (rule.name, rule.doc, rule.kind, rule.mode, rule.type, *(rule.tags or [])):
        yield (text or "").encode()
    for name, value in (rule.params or {}).items():
        yield name.encode()
        yield value.encode()
    for text in (rule.expr, rule.on_success, rule.on_failure):
        yield (text or "").encode()
    if rule.disabled:
        yield _PRESENT
