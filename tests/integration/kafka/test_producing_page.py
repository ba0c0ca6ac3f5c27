"""The Python of `docs/producing.md` runs as it is printed there."""

from __future__ import annotations

import re
from pathlib import Path
from typing import TYPE_CHECKING

from support.topic_contents import topic_contents

if TYPE_CHECKING:
    import pytest

    from penstock.local.cluster import KafkaCluster
    from penstock.names import TopicName

PAGE = Path(__file__).parents[3] / "docs" / "producing.md"


def test_the_snippets_of_the_page_run(
    kafka: KafkaCluster, topic: TopicName, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    snippets = re.findall(r"^```python\n(.*?)^```", PAGE.read_text(), re.DOTALL | re.MULTILINE)
    for snippet in snippets:
        code = snippet.replace('"orders"', f'"{topic}"')
        exec(code, {"bootstrap": kafka.bootstrap, "folder": tmp_path})  # noqa: S102 - our own page

    waited_at, spooled = capsys.readouterr().out.splitlines()
    assert re.fullmatch(r"\d \d", waited_at)
    assert re.fullmatch(r"[01] records wait on disk", spooled)
    found = {(record.key, record.value) for record in topic_contents(kafka.bootstrap, topic)}
    assert found == {
        (b"customer-7", b'{"id": 1}'),
        (b"customer-7", b'{"id": 2}'),
        (b"customer-7", None),
        (b"customer-7", b'{"id": 3}'),
        (b"Banana", b"a large customer"),
        (b"Apple", b"any other"),
    }
