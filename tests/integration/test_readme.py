"""The program in the README runs as it stands there."""

import re
from pathlib import Path

import pytest

from penstock.local.cluster import KafkaCluster
from penstock.names import TopicName

README = Path(__file__).resolve().parents[2] / "README.md"


def test_the_program_in_the_readme_prints_where_its_record_went(
    kafka: KafkaCluster, topic: TopicName, capsys: pytest.CaptureFixture[str]
) -> None:
    [program] = re.findall(r"```python\n(.*?)```", README.read_text(), re.DOTALL)
    program = program.replace("127.0.0.1:9092", kafka.bootstrap).replace('"orders"', f'"{topic}"')

    exec(program, {})  # noqa: S102 - our own README

    assert re.fullmatch(rf"{topic} [012] 0\n", capsys.readouterr().out)
