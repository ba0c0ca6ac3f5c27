"""The part of YAML that specs use, compared with PyYAML."""

from __future__ import annotations

import pytest
import yaml

from penstock.pipeline.yaml_subset import (
    YamlError,
    YamlList,
    YamlMap,
    YamlNode,
    YamlScalar,
    read_yaml,
)


def _plain(node: YamlNode) -> object:
    match node:
        case YamlScalar(value=value):
            return value
        case YamlList(items=items):
            return [_plain(item) for item in items]
        case YamlMap(entries=entries):
            return {entry.key: _plain(entry.value) for entry in entries}


@pytest.mark.parametrize(
    "text",
    [
        "name: shop\nstorage: file:///data/shop\n",
        "# first\n---\nname: my pipeline # why\n\nlibraries:\n  - glob:\n      include: a/**\n",
        "libraries:\n- glob:\n    include: a/**\n- glob:\n    include: b.py\ncatalog: c\n",
        "configuration:\n  spark.sql.shuffle.partitions: \"4\"\n  'a b': 'it''s # here' # not\n",
        'a: "tab\\t quote\\" colon: hash #"\n"b:": c\n',
        "a: 1\nb: -20\nc: yes\nd: False\ne: ~\nf:\ng: NULL\nh: on\n",
        "- x\n-\n  a: 1\n  b:\n    - 2\n- - y\n  - z\n- k: v\n  l: w\n",
        "url: http://host:80/x#y\ntime of day: noon\npath: C:\\x\n",
        "a:\n    deep:\n        deeper: 1\n    next: 2\nb: 3\n",
        "",
        "# nothing\n",
        "plain",
        "a: -x\nb: x-y\n",
    ],
)
def test_documents_mean_what_they_mean_in_yaml(text: str) -> None:
    assert _plain(read_yaml(text)) == yaml.safe_load(text)


@pytest.mark.parametrize(
    ("text", "line", "reason"),
    [
        ("a: [1, 2]", 1, "a list in brackets is not supported: `[1, 2]`"),
        ("a: {}", 1, "a map in braces is not supported: `{}`"),
        ("a: 1\nb: &x 2", 2, "an anchor is not supported: `&x 2`"),
        ("a: *x", 1, "an alias is not supported: `*x`"),
        ("a: !!str 1", 1, "a tag is not supported: `!!str 1`"),
        ("a: |\n  text", 1, "a text over several lines is not supported: `|`"),
        ("a: one\n  two", 2, "`two` fits neither by its form nor by its indentation"),
        ("a:\n  b: 1\n c: 2", 3, "`c: 2` fits neither by its form nor by its indentation"),
        ("- a\nb: 1", 2, "`b: 1` fits neither by its form nor by its indentation"),
        ("a: 1\na: 2", 2, "the key `a` is there twice"),
        ("1: a", 1, "the key `1` is not a text; put it in quotes"),
        ("a:\n\tb: 1", 2, "it is indented with a tab, which YAML does not allow"),
        ("a: 'x", 1, "the quotes of `'x` do not close on this line"),
        ('a: "\\q"', 1, "the escape `\\q` is not supported"),
        ("a: b: c", 1, "`b: c` has to be put in quotes"),
        ("a: 1.5", 1, "`1.5` has to be put in quotes: YAML may not take it for text"),
        ("a: 0x1F", 1, "`0x1F` has to be put in quotes: YAML may not take it for text"),
        ("a: 2001-01-01", 1, "`2001-01-01` has to be put in quotes: YAML may not take it for text"),
        ("a: 1\n---\nb: 2", 2, "several documents in one file are not supported"),
    ],
)
def test_anything_else_is_refused_with_its_line(text: str, line: int, reason: str) -> None:
    with pytest.raises(YamlError) as caught:
        read_yaml(text)

    assert (caught.value.line, caught.value.reason) == (line, reason)
