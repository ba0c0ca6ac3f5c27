"""The fold of the log: any log gives the same answers again, compacted or not."""

import threading
from collections.abc import Callable

from hypothesis import given, settings
from hypothesis import strategies as st

from penstock.names import Subject
from penstock.registry.contexts import EVERY_CONTEXT, qualified
from penstock.registry.entries import Config, Content, Mode, SchemaVersion
from penstock.registry.errors import RegistryError
from penstock.registry.log import Record
from penstock.registry.records import SubjectsCleared, encode
from penstock.registry.registering import Registration
from penstock.registry.service import Registry
from penstock.registry.state import RegistryState, Which
from penstock.schemas import Level
from support.folded_registry import FoldingLog

SUBJECTS = [Subject(name) for name in ("a", "b", ":.eu:a")]
TEXTS = ['"string"', '"int"', '"long"']

Act = Callable[[Registry], object]


def registering(subject: Subject, text: str, schema_id: int | None) -> Act:
    content = Content(text=text)
    version = None if schema_id is None else schema_id % 4
    return lambda registry: registry.registering.register(
        Registration(subject=subject, content=content, id=schema_id, version=version)
    )


def deleting(subject: Subject, version: int | None, *, permanent: bool) -> Act:
    if version is None:
        return lambda registry: registry.deleting.delete_subject(subject, permanent=permanent)
    return lambda registry: registry.deleting.delete_version(subject, version, permanent=permanent)


def setting_mode(subject: Subject, mode: Mode, *, force: bool) -> Act:
    return lambda registry: registry.configuring.set_mode(subject, mode, force=force)


def setting_level(subject: Subject, level: Level) -> Act:
    config = Config(compatibility_level=level)
    return lambda registry: registry.configuring.set_config(subject, lambda _: config)


subjects = st.sampled_from(SUBJECTS)
acts = st.one_of(
    st.builds(registering, subjects, st.sampled_from(TEXTS), st.sampled_from([None, None, 5, 9])),
    st.builds(deleting, subjects, st.sampled_from([None, 1, 2]), permanent=st.booleans()),
    st.builds(
        setting_mode,
        subjects,
        st.sampled_from([Mode.READWRITE, Mode.IMPORT]),
        force=st.booleans(),
    ),
    st.builds(setting_level, subjects, st.sampled_from([Level.NONE, Level.FULL])),
)


def folded(records: list[Record]) -> RegistryState:
    state = RegistryState()
    for offset, record in enumerate(records):
        state.apply(record, offset)
    return state


def compacted(records: list[Record]) -> list[Record]:
    last = {record.key: offset for offset, record in enumerate(records)}
    return [
        record
        for offset, record in enumerate(records)
        if last[record.key] == offset and record.value is not None
    ]


def answers(state: RegistryState) -> list[object]:
    contexts = state.contexts()
    return [
        [state.versions(subject, Which.ALL) for subject in SUBJECTS],
        [state.config(subject) for subject in SUBJECTS],
        [state.mode(subject) for subject in SUBJECTS],
        state.subjects(qualified(EVERY_CONTEXT), Which.LIVE),
        contexts,
        [state.max_id(context) for context in contexts],
        [{one.version for one in state.holders(context, 5)} for context in contexts],
        [
            state.id_of(context, Content(text=text)) is None
            for context in contexts
            for text in TEXTS
        ],
    ]


@settings(max_examples=15)
@given(st.lists(acts, max_size=25))
def test_a_log_read_again_gives_the_same_answers_compacted_or_not(acts: list[Act]) -> None:
    state = RegistryState()
    log = FoldingLog(state)
    registry = Registry(state, log)
    for act in acts:
        try:
            act(registry)
        except RegistryError:
            continue

    expected = answers(state)
    assert answers(folded(log.records)) == expected
    assert answers(folded(compacted(log.records))) == expected


@settings(max_examples=15)
@given(st.lists(acts, max_size=25))
def test_an_id_stands_for_one_schema_for_ever(acts: list[Act]) -> None:
    state = RegistryState()
    log = FoldingLog(state)
    registry = Registry(state, log)
    seen: dict[tuple[str, int], Content] = {}
    for act in acts:
        try:
            done = act(registry)
        except RegistryError:
            continue
        if isinstance(done, SchemaVersion) and not _is_imported(state, done):
            key = (qualified(done.subject).context, done.id)
            assert seen.setdefault(key, done.content) == done.content


def _is_imported(state: RegistryState, version: SchemaVersion) -> bool:
    return state.mode(version.subject) is Mode.IMPORT or version.id in (5, 9)


def test_an_unreadable_record_is_passed_over() -> None:
    state = folded(
        [
            Record(key=b"nonsense", value=None),
            encode(version_of("a", 1)),
            Record(key=b'{"keytype":"SCHEMA","subject":"a","version":2}', value=b"{}"),
        ]
    )

    assert state.offset == 2
    assert [one.version for one in state.versions(Subject("a"), Which.ALL)] == [1]


def version_of(subject: str, number: int, *, deleted: bool = False) -> SchemaVersion:
    return SchemaVersion(
        subject=Subject(subject),
        version=number,
        id=number,
        content=Content(text=f'"{number}"'),
        deleted=deleted,
    )


def test_clearing_a_context_forgets_what_was_deleted_there() -> None:
    versions = [
        version_of("a", 1, deleted=True),
        version_of(":.eu:a", 1, deleted=True),
        version_of(":.eu:b", 2),
    ]

    state = folded([*map(encode, versions), encode(SubjectsCleared(subject=Subject(":.eu:")))])

    assert state.matching(None, Which.ALL) == [versions[0], versions[2]]


def test_clearing_everything_spares_what_is_not_deleted() -> None:
    versions = [version_of("a", 1, deleted=True), version_of("b", 2)]

    state = folded([*map(encode, versions), encode(SubjectsCleared(subject=None))])

    assert state.matching(None, Which.ALL) == [versions[1]]


def test_the_state_is_read_while_it_is_folded() -> None:
    state = RegistryState()
    records = [encode(version_of(f"s{number}", number)) for number in range(1, 400)]
    done = threading.Event()
    faults: list[BaseException] = []

    def read() -> None:
        while not done.is_set():
            try:
                state.subjects(qualified(EVERY_CONTEXT), Which.ALL)
                state.matching(None, Which.LIVE)
                state.contexts()
            except RuntimeError as error:
                faults.append(error)

    reader = threading.Thread(target=read)
    reader.start()
    for offset, record in enumerate(records):
        state.apply(record, offset)
    done.set()
    reader.join()

    assert faults == []
    assert len(state.matching(None, Which.ALL)) == 399
