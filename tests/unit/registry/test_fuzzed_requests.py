"""Random requests: whatever comes, the answer is JSON and the fault is never the server's."""

import asyncio
import json
from urllib.parse import quote

from hypothesis import given, settings
from hypothesis import strategies as st

from penstock.registry.api import create_app
from penstock.registry.service import Registry
from penstock.registry.state import RegistryState
from support.folded_registry import Api, FoldingLog, record_schema

texts = st.text(st.characters(exclude_categories=["Cs"]), max_size=8)
subjects = st.one_of(st.sampled_from(["a", "b", ":.eu:a", ":.eu:", ":*:a", ":.", "a/b"]), texts)
versions = st.one_of(st.sampled_from(["1", "2", "latest", "-1", "0"]), texts)
encoded_subjects = subjects.map(lambda text: quote(text, safe=""))
encoded_versions = versions.map(lambda text: quote(text, safe=""))
flags = st.sampled_from(
    ["", "?deleted=true", "?permanent=true", "?force=true", "?normalize=true", "?verbose=true"]
)
paths = st.one_of(
    st.builds("/subjects/{}".format, encoded_subjects),
    st.builds("/subjects/{}/versions".format, encoded_subjects),
    st.builds(
        "/subjects/{}/versions/{}".format,
        encoded_subjects,
        encoded_versions,
    ),
    st.builds(
        "/compatibility/subjects/{}/versions".format,
        encoded_subjects,
    ),
    st.builds("/config/{}".format, encoded_subjects),
    st.builds("/mode/{}".format, encoded_subjects),
    st.builds("/contexts/{}/subjects".format, encoded_subjects),
    st.builds("/contexts/{}".format, encoded_subjects),
    st.builds("/schemas/ids/{}/versions".format, encoded_versions),
    st.sampled_from(["/subjects", "/schemas", "/config", "/mode", "/contexts", "/schemas/types"]),
)
references = st.lists(
    st.fixed_dictionaries(
        {
            "name": texts,
            "subject": st.sampled_from(["a", "b", ":.eu:a", ""]),
            "version": st.integers(-1, 2),
        }
    ),
    max_size=2,
)
values = st.recursive(
    st.none() | st.booleans() | st.integers() | texts,
    lambda inner: st.lists(inner, max_size=2) | st.dictionaries(texts, inner, max_size=2),
    max_leaves=4,
)
schemas = st.one_of(
    st.sampled_from(['"int"', '"string"', record_schema("a"), record_schema("a", "b")]),
    values.map(json.dumps),
    texts,
)
bodies = st.one_of(
    st.fixed_dictionaries(
        {"schema": schemas},
        optional={
            "schemaType": st.sampled_from(["AVRO", "JSON", "XML"]),
            "references": references,
            "id": st.integers(-1, 5),
            "version": st.integers(-1, 5),
            "metadata": st.fixed_dictionaries(
                {"properties": st.dictionaries(texts, texts, max_size=2)}
            ),
            "ruleSet": values,
        },
    ),
    st.fixed_dictionaries({"compatibility": st.sampled_from(["NONE", "full", "x"])}),
    st.fixed_dictionaries({"alias": subjects, "normalize": st.booleans()}),
    st.fixed_dictionaries({"mode": st.sampled_from(["IMPORT", "readonly", "READWRITE", "x"])}),
    values,
)
requests = st.tuples(
    st.sampled_from(["GET", "POST", "POST", "PUT", "DELETE"]), paths, flags, bodies
)


@settings(max_examples=8)
@given(requests=st.lists(requests, max_size=12))
def test_no_request_is_answered_with_a_fault_of_the_server(
    runner: asyncio.Runner, requests: list[tuple[str, str, str, object]]
) -> None:
    state = RegistryState()
    log = FoldingLog(state)
    api = Api(create_app(Registry(state, log)), runner, log)
    for method, path, flag, body in requests:
        answer = api.ask(method, path + flag, body)

        assert answer.status in {200, 204, 400, 404, 405, 409, 413, 422}, answer
        if answer.status not in {200, 204}:
            assert answer.error_code
