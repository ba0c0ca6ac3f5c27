"""A verdict of "compatible" holds: what the old schema accepts, the new one accepts.

Two exceptions are Confluent's on purpose, and `relaxed` takes them out of the comparison: a new
required property passes when it has a default, and `oneOf` is a sum of alternatives, even where
two of them accept the same document.
"""

from random import Random

from hypothesis import given, settings
from hypothesis import strategies as st

from penstock.schemas import InvalidSchemaError
from penstock.schemas.json_schema import problems
from support.json_schema_pairs import Making, relaxed
from support.json_schemas import json_schema


@settings(max_examples=70)
@given(random=st.randoms(use_true_random=True))
def test_what_a_compatible_schema_replaces_has_no_document_that_it_refuses(random: Random) -> None:
    making = Making(random)
    old, new = making.pair()
    try:
        if json_schema(new).can_read(json_schema(old)):
            return
        before = json_schema(relaxed(old, wider=False))
        after = json_schema(relaxed(new, wider=True))
    except InvalidSchemaError:
        return
    documents = [making.document(old) for _ in range(8)]
    valid = [document for document in documents if not problems(before, document)]
    refused = [document for document in valid if problems(after, document)]
    assert not refused, (old, new, refused)
