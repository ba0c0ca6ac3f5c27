"""The first step of validation: every problem with its code, its words, its line and its hint."""

from pathlib import Path

import pytest

from penstock.pipeline import NotWritableError
from support.declarations import declared, problems_of, told

TOPICS = """
ps.topic("orders", value=ps.json("id string, placed timestamp"))
ps.topic("shipped", value=ps.json("id string"))
"""

FLOW = """
@ps.flow(into="shipped")
def ship(orders): ...
"""

WRONG = {
    "unknown dataset": (
        """
@ps.flow(into="shipp")  # here
def ship(order): ...
""",
        [
            (
                "PEN-104",
                "flow `ship` names the dataset `order`, which is not declared",
                "did you mean `orders`?",
            ),
            (
                "PEN-104",
                "flow `ship` names the dataset `shipp`, which is not declared",
                "did you mean `shipped`?",
            ),
        ],
    ),
    "unknown dataset without a nearest name": (
        """
@ps.view  # here
def xyz(w): ...
"""
        + FLOW,
        [
            (
                "PEN-104",
                "view `xyz` names the dataset `w`, which is not declared",
                "declared are: `orders`, `shipped`, `xyz`",
            )
        ],
    ),
    "unknown source of a lookup": (
        'ps.lookup("prices", "price")  # here\n' + FLOW,
        [
            (
                "PEN-104",
                "lookup `prices` names the dataset `price`, which is not declared",
                "did you mean `prices`?",
            )
        ],
    ),
    "flow declared twice": (
        FLOW
        + """
@ps.flow(into="shipped", name="ship")  # here
def ship_again(orders): ...
""",
        [
            (
                "PEN-105",
                "flow `ship` is declared a second time; the first is at FLOWS:6",
                "give one of them another name",
            )
        ],
    ),
    "one Kafka topic for two datasets": (
        'ps.topic("sent", kafka_name="shipped")  # here\n' + FLOW,
        [
            (
                "PEN-105",
                "the Kafka topic `shipped` is declared a second time; the first is at FLOWS:4",
                "give one of them another name",
            )
        ],
    ),
    "a flow that feeds itself": (
        """
@ps.flow(into="orders")  # here
def again(orders): ...
""",
        [
            (
                "PEN-106",
                "the pipeline goes round in a circle: `orders` → flow `again` → `orders`",
                "let one of them read or write another dataset",
            )
        ],
    ),
    "circle over a view": (
        """
@ps.view
def valid(orders): ...

@ps.flow(into="orders")  # here
def again(valid): ...
""",
        [
            (
                "PEN-106",
                "the pipeline goes round in a circle: `orders` → `valid` → flow `again` → `orders`",
                "let one of them read or write another dataset",
            )
        ],
    ),
    "two owners of a plain table": (
        """
ps.table("archive", format="parquet")

@ps.flow(into="archive")
def keep_orders(orders): ...

@ps.flow(into="archive")  # here
def keep_shipped(shipped): ...
""",
        [
            (
                "PEN-107",
                "table `archive` is written by the flows `keep_orders`, `keep_shipped`, but in a"
                " plain parquet table the rows of all but one would be lost",
                "let one flow write it, or make it a Delta table to which all append",
            )
        ],
    ),
    "two plain tables in one folder": (
        """
ps.table("archive", format="parquet", path="data/all")
ps.table("attic", format="parquet", path="data/all/")

@ps.flow(into="archive")
def keep_orders(orders): ...

@ps.flow(into="attic")  # here
def keep_shipped(shipped): ...
""",
        [
            (
                "PEN-107",
                "table `attic` is written by the flows `keep_orders`, `keep_shipped`, but it has "
                "the folder of table `archive`, where the rows of one would be lost",
                "let one flow write it, or make it a Delta table to which all append",
            )
        ],
    ),
    "two owners, one of which replaces the table": (
        """
ps.table("archive")

@ps.flow(into="archive", output_mode="complete")
def keep_orders(orders): ...

@ps.flow(into="archive")  # here
def keep_shipped(shipped): ...
""",
        [
            (
                "PEN-107",
                "table `archive` is written by the flows `keep_orders`, `keep_shipped`, but one of"
                " them replaces the whole table after each batch",
                "let one flow write it, or make it a Delta table to which all append",
            )
        ],
    ),
    "missing key column of a topic": (
        'ps.topic("t", key="idd", key_format=ps.json("id string"))  # here\n' + FLOW,
        [
            (
                "PEN-108",
                "topic `t` has the key column `idd`, which is not among its columns",
                "did you mean `id`?",
            ),
            (
                "PEN-108",
                "topic `t` has the key column `id`, which is not among its columns",
                "did you mean `idd`?",
            ),
        ],
    ),
    "missing key column of a table": (
        'ps.table("t", schema="id string", key="customer")  # here\n' + FLOW,
        [
            (
                "PEN-108",
                "table `t` has the key column `customer`, which is not among its columns",
                "its columns are: `id`",
            )
        ],
    ),
    "missing event time": (
        'ps.topic("t", value=ps.json("seen timestamp"), event_time="sen")  # here\n' + FLOW,
        [
            (
                "PEN-109",
                "topic `t` names the column `sen` in `event_time`, which its schema does not have",
                "did you mean `seen`?",
            )
        ],
    ),
    "missing partition column": (
        'ps.table("t", schema="id string", partition_by="day")  # here\n' + FLOW,
        [
            (
                "PEN-109",
                "table `t` names the column `day` in `partition_by`, which its schema does not"
                " have",
                "its columns are: `id`",
            )
        ],
    ),
    "lookup as target": (
        """
ps.lookup("rules", ps.csv_file("rules.csv", "id string"))

@ps.flow(into="rules")  # here
def learn(orders): ...
""",
        [
            (
                "PEN-110",
                "flow `learn` writes into `rules`, which is a lookup",
                "write into a topic or a table",
            )
        ],
    ),
}


@pytest.mark.parametrize("case", WRONG)
def test_a_problem_has_a_code_a_message_a_hint_and_the_users_line(
    tmp_path: Path, case: str
) -> None:
    text, expected = WRONG[case]
    file = str((tmp_path / "flows.py").resolve())
    found = told(tmp_path, TOPICS + text)
    assert [(code, said.replace(file, "FLOWS"), hint) for code, said, hint in found] == expected


CONTRADICTIONS = {
    "lateness without event time": (
        'ps.topic("t", allowed_lateness="1 minute")  # here',
        "topic `t`: it has an `allowed_lateness` but no `event_time`",
        "name the timestamp column with `event_time=`",
    ),
    "event time that is text": (
        'ps.topic("t", value=ps.json("seen string"), event_time="seen")  # here',
        "topic `t`: its event time `seen` is a `string`",
        "make the column a `timestamp` in the schema",
    ),
    "reserved column": (
        'ps.topic("t", value=ps.json("_route string"))  # here',
        "topic `t`: `_route` is a name that Penstock uses itself",
        "give the column another name",
    ),
    "compacted without key": (
        'ps.topic("t", compacted=True)  # here',
        "topic `t`: it is compacted, which needs a key for every record",
        "name the key column with `key=`",
    ),
    "several key columns as text": (
        'ps.topic("t", key=["a", "b"])  # here',
        "topic `t`: a key of several columns cannot be text or bytes",
        'give `key_format=ps.json("…")` with these columns',
    ),
    "partitions of somebody else's topic": (
        'ps.topic("t", external=True, partitions=3)  # here',
        "topic `t`: it is external, so its `partitions` would never be applied",
        "leave out `partitions=`, or `external=True` if the topic is yours",
    ),
    "retention twice": (
        'ps.topic("t", retention="7d", config={"retention.ms": "1"})  # here',
        "topic `t`: `retention` and the config `retention.ms` say the same thing twice",
        "leave out one of them; `retention=` is enough",
    ),
    "compaction twice": (
        'ps.topic("t", key="id", compacted=True, config={"cleanup.policy": "compact"})  # here',
        "topic `t`: `compacted` and the config `cleanup.policy` say the same thing twice",
        "leave out one of them; `compacted=` is enough",
    ),
    "header in a topic": (
        'ps.topic("t", value=ps.csv("a string", header=True))  # here',
        "topic `t`: its `value` has a header, which only files can have",
        "leave out `header=True`",
    ),
    "key of a plain table": (
        'ps.table("t", key="id", format="orc")  # here',
        "table `t`: rows of a plain orc table cannot be replaced by key",
        'leave out `key=`, or use `format="delta"`',
    ),
    "lookup of a folder": (
        'ps.files("inbox", "in", value=ps.text())\nps.lookup("t", "inbox")  # here',
        "lookup `t`: its source `inbox` is a watched folder",
        "a lookup reads a file, a table or a compacted topic",
    ),
    "lookup of a topic that forgets": (
        'ps.lookup("t", "orders")  # here',
        "lookup `t`: its topic `orders` is not compacted, so old keys would vanish from it",
        "declare `orders` with `compacted=True`",
    ),
    "lookup with nothing behind it": (
        'ps.lookup("t")  # here',
        "lookup `t`: it has neither a source nor a function",
        'name a source such as `ps.csv_file("…", "…")`, or decorate a function with it',
    ),
    "lookup with a source and a function's settings": (
        'ps.lookup("t", ps.csv_file("f", "a string"), key="a")  # here',
        "lookup `t`: `key` is for a lookup by a function, but it has a source",
        "leave out `key`; the source's schema has all columns",
    ),
    "view of nothing": (
        "@ps.view  # here\ndef t(): ...",
        "view `t`: it has no parameters, so it reads nothing",
        "name the datasets it reads as its parameters",
    ),
    "flow of nothing": (
        '@ps.flow(into="shipped")  # here\ndef t(limit=3): ...',
        "flow `t`: its function has no parameters, so it reads nothing",
        "name the datasets it reads as its parameters",
    ),
    "flow of lookups": (
        'ps.lookup("r", ps.csv_file("f", "a string"))\n'
        '@ps.flow(into="shipped")  # here\ndef t(r): ...',
        "flow `t`: it reads lookups only, which never bring a batch about",
        "read a topic, a table or a folder as well",
    ),
    "updates into a plain table": (
        'ps.table("p", format="parquet")\n'
        '@ps.flow(into="p", output_mode="update")  # here\ndef t(orders): ...',
        "flow `t`: its output mode is `update`, but a plain parquet table can only be appended to",
        'use `output_mode="append"`, or a Delta table with `key=`',
    ),
    "updates into a table without key": (
        'ps.table("p")\n@ps.flow(into="p", output_mode="update")  # here\ndef t(orders): ...',
        "flow `t`: its output mode is `update`, but table `p` has no key, so updated rows could"
        " not replace old ones",
        'use `output_mode="append"`, or a Delta table with `key=`',
    ),
    "real time into a table": (
        'ps.table("p", key="id")\n@ps.flow(into="p", trigger="real_time")  # here\n'
        "def t(orders): ...",
        "flow `t`: a `real_time` flow can only write topics",
        "leave out `trigger=`, or write a topic",
    ),
    "real time in append mode": (
        '@ps.flow(into="shipped", trigger="real_time", output_mode="append")  # here\n'
        "def t(orders): ...",
        "flow `t`: its output mode is `append`, real time has only `update`",
        'add `output_mode="update"`',
    ),
    "a stream of a table with a key": (
        'ps.table("latest", key="id")\n@ps.flow(into="shipped")  # here\ndef t(latest): ...',
        "flow `t`: it reads table `latest` as a stream, whose rows are replaced",
        'read it as reference data, with `ps.lookup("…", "latest")`, or read what its writer reads',
    ),
    "a stream of a table that is replaced as a whole": (
        'ps.table("sums")\n@ps.flow(into="sums", output_mode="complete")\ndef s(orders): ...\n'
        "@ps.view  # here\ndef v(sums): ...",
        "view `v`: it reads table `sums` as a stream, whose rows are replaced",
        'read it as reference data, with `ps.lookup("…", "sums")`, or read what its writer reads',
    ),
}


@pytest.mark.parametrize("case", CONTRADICTIONS)
def test_choices_that_exclude_each_other_are_told_with_the_way_out(
    tmp_path: Path, case: str
) -> None:
    text, message, hint = CONTRADICTIONS[case]
    assert told(tmp_path, TOPICS + FLOW + text) == [("PEN-111", message, hint)]


def test_all_circles_are_told(tmp_path: Path) -> None:
    found = problems_of(
        tmp_path,
        TOPICS
        + """
@ps.flow(into="orders")
def one(orders): ...

@ps.flow(into="shipped")
def two(shipped): ...
""",
    )
    assert [(item.code, item.origin and item.origin.line) for item in found] == [
        ("PEN-106", 6),
        ("PEN-106", 9),
    ]


@pytest.mark.parametrize(
    "target",
    [
        'ps.files("x", "in", value=ps.text())',
        'ps.socket("x", port=9999)',
        'ps.rate("x")',
        "@ps.view\ndef x(orders): ...",
    ],
)
def test_what_can_only_be_read_cannot_be_written(tmp_path: Path, target: str) -> None:
    text = f'{TOPICS}{target}\n@ps.flow(into={{"a": "x", "b": "shipped"}})\ndef f(orders): ...'
    [problem] = problems_of(tmp_path, text)
    assert isinstance(problem, NotWritableError)


def test_a_declaration_that_failed_causes_no_further_problems(tmp_path: Path) -> None:
    found = problems_of(
        tmp_path,
        """
ps.topic("orders", partitions=0)
ps.topic("shipped", compacted="yes")
ps.lookup("rules")

@ps.flow(into="shipped")
def ship(orders, rules): ...
""",
    )
    assert [(item.code, item.origin and item.origin.line) for item in found] == [
        ("PEN-103", 3),
        ("PEN-103", 4),
        ("PEN-111", 5),
    ]


def test_a_project_whose_only_flow_failed_is_not_told_to_have_none(tmp_path: Path) -> None:
    text = TOPICS + '@ps.flow(into="shipped", trigger="soon")\ndef ship(orders): ...'
    assert [item.code for item in problems_of(tmp_path, text)] == ["PEN-103"]


def test_a_project_without_flows_does_nothing_and_is_told_so(tmp_path: Path) -> None:
    [problem] = problems_of(tmp_path, TOPICS)
    assert (problem.code, problem.message) == ("PEN-112", "the project declares no flow")
    assert problem.origin is not None
    assert problem.origin.file == (tmp_path / "flows.py").resolve()


def test_other_problems_do_not_hide_that_there_is_no_flow(tmp_path: Path) -> None:
    found = problems_of(tmp_path, 'ps.topic("orders", partitions=0)')
    assert {item.code for item in found} == {"PEN-103", "PEN-112"}


def test_several_flows_may_write_one_topic_and_append_to_one_delta_table(tmp_path: Path) -> None:
    pipeline = declared(
        tmp_path,
        TOPICS
        + """
ps.table("history")

@ps.flow(into={"ok": "shipped", "old": "history"})
def one(orders): ...

@ps.flow(into={"ok": "shipped", "old": "history"})
def two(orders): ...
""",
    )
    assert [flow.name for flow in pipeline.flows] == ["one", "two"]
