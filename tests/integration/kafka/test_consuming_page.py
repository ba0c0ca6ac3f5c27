"""The page on consumers is true: each of its programs runs, in order, on a real broker."""

import re
from pathlib import Path
from uuid import uuid4

import pytest

from penstock.kafka import Connection, Producer
from penstock.local.cluster import KafkaCluster
from support.numbers import write_partitions

PAGE = Path(__file__).parents[3] / "docs" / "consuming.md"
PROGRAMS = re.findall(r"```python\n(.*?)```", PAGE.read_text(encoding="utf-8"), re.DOTALL)


def test_the_programs_of_the_page_print_what_was_written(
    kafka: KafkaCluster, connection: Connection, capsys: pytest.CaptureFixture[str]
) -> None:
    topic = kafka.create_topic(f"orders-{uuid4().hex}", partition_count=2)
    write_partitions(connection, topic, {0: [1, 2], 1: [3]})
    with Producer(connection) as producer:
        producer.send(topic, "last", partition=0)

    printed = []
    for program in PROGRAMS:
        here = program.replace("127.0.0.1:9092", connection.bootstrap)
        here = here.replace('"orders"', f'"{topic}"').replace('group="', f'group="{topic}-')
        exec(here, {})  # noqa: S102 - our own page
        printed.append(sorted(capsys.readouterr().out.splitlines()))

    by_value = ["b'1'", "b'2'", "b'3'", "b'last'"]
    assert printed[0] == ["0 0 b'1'", "0 1 b'2'", "0 2 b'last'", "1 0 b'3'"]
    assert printed[1] == by_value
    assert set(printed[2]) <= set(by_value)
    assert "b'last'" in printed[2]
    assert printed[3:] == [["4 3"]]
