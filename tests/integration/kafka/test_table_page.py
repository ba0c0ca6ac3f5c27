"""The page on tables is true: each of its programs runs, in order, on a real broker."""

import re
from pathlib import Path

import pytest

from penstock.kafka import Connection
from support.tables import unused_topic

PAGE = Path(__file__).parents[3] / "docs" / "kafka-table.md"
PROGRAMS = re.findall(r"```python\n(.*?)```", PAGE.read_text(encoding="utf-8"), re.DOTALL)


def test_the_programs_of_the_page_print_what_they_say(
    connection: Connection, capsys: pytest.CaptureFixture[str]
) -> None:
    topic = unused_topic()
    for program in PROGRAMS:
        here = program.replace("127.0.0.1:9092", connection.bootstrap)
        exec(here.replace('"settings"', f'"{topic}"'), {})  # noqa: S102 - our own page

    printed = capsys.readouterr().out.splitlines()
    assert printed == [
        "b'blue'",
        "the leader is b'still me'",
        "['leader']",
        "color b'green'",
    ]
