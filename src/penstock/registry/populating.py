"""What a schema gets beside what was given: from the version before it, its config, its number.

A schema that comes without metadata or rules has those of the version before it. A config can add
some to all schemas, or put others in their place. A schema that is registered as a certain version
bears its number in its metadata, so that it is another one than the same text before it.
"""

from collections.abc import Sequence
from dataclasses import replace

from penstock.registry.entries import Config, Content, JsonText, SchemaVersion
from penstock.registry.rules import Metadata, Rule, RuleSet, kept_text, properties_of

VERSION_PROPERTY = "confluent:version"


def populates(config: Config) -> bool:
    """Whether a config adds to schemas, or replaces what they bring."""
    added = (config.default_metadata, config.default_rule_set)
    return any((*added, config.override_metadata, config.override_rule_set))


def populated(content: Content, earlier: SchemaVersion | None, config: Config) -> Content:
    """Return `content` with the metadata and rules that it is stored with."""
    metadata, rule_set = content.metadata, content.rule_set
    if earlier is not None:
        metadata = earlier.content.metadata if metadata is None else metadata
        rule_set = earlier.content.rule_set if rule_set is None else rule_set
    metadata = _merged_metadata(config.default_metadata, metadata)
    rule_set = _merged_rules(config.default_rule_set, rule_set)
    return replace(
        content,
        metadata=_merged_metadata(metadata, config.override_metadata),
        rule_set=_merged_rules(rule_set, config.override_rule_set),
    )


def _merged_metadata(old: JsonText | None, new: JsonText | None) -> JsonText | None:
    """Return both; what has the same name is as in `new`."""
    if old is None or new is None:
        return new if old is None else old
    one, other = Metadata.model_validate_json(old), Metadata.model_validate_json(new)
    return kept_text(
        Metadata(
            tags={**(one.tags or {}), **(other.tags or {})},
            properties={**(one.properties or {}), **(other.properties or {})},
            sensitive=[*(one.sensitive or []), *(other.sensitive or [])],
        )
    )


def _merged_rules(old: JsonText | None, new: JsonText | None) -> JsonText | None:
    """Return both; a rule with the same name is as in `new`."""
    if old is None or new is None:
        return new if old is None else old
    one, other = RuleSet.model_validate_json(old), RuleSet.model_validate_json(new)
    return kept_text(
        RuleSet(
            migrationRules=_merged(one.migration_rules or [], other.migration_rules or []),
            domainRules=_merged(one.domain_rules or [], other.domain_rules or []),
            encodingRules=_merged(one.encoding_rules or [], other.encoding_rules or []),
            enableAt=other.enable_at or one.enable_at,
        )
    )


def _merged(old: Sequence[Rule], new: Sequence[Rule]) -> list[Rule]:
    names = {rule.name for rule in new}
    return [*(rule for rule in old if rule.name not in names), *new]


def numbered(content: Content, number: int, *, wanted: bool) -> Content:
    """Return `content` as it is stored as version `number`.

    Args:
        content: The schema.
        number: Its version.
        wanted: Whether a certain version was asked for. If not, only a number that the metadata
            has already, from the version before it, is brought up to date.
    """
    properties = properties_of(content.metadata)
    if not wanted and VERSION_PROPERTY not in properties:
        return content
    metadata = Metadata.model_validate_json(content.metadata or "{}")
    metadata.properties = {**properties, VERSION_PROPERTY: str(number)}
    return replace(content, metadata=kept_text(metadata))


def matching(content: Content, versions: Sequence[SchemaVersion]) -> SchemaVersion | None:
    """Return the last of `versions` that is `content`, if need be but for its number."""
    newest_first = versions[::-1]
    exact = (version for version in newest_first if version.content == content)
    alike = (version for version in newest_first if _is_same_but_for_its_number(content, version))
    return next(exact, None) or next(alike, None)


def _is_same_but_for_its_number(content: Content, version: SchemaVersion) -> bool:
    given = properties_of(content.metadata).get(VERSION_PROPERTY)
    stored = properties_of(version.content.metadata).get(VERSION_PROPERTY)
    if (given is None) == (stored is None) or given not in (None, str(version.version)):
        return False
    return _without_number(content) == _without_number(version.content)


def _without_number(content: Content) -> Content:
    if content.metadata is None:
        return content
    metadata = Metadata.model_validate_json(content.metadata)
    metadata.properties = {
        name: value
        for name, value in (metadata.properties or {}).items()
        if name != VERSION_PROPERTY
    }
    kept = kept_text(metadata)
    return replace(content, metadata=None if kept == "{}" else kept)
