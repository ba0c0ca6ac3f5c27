"""Projects for tests of declarations: files with text, loaded without Spark."""

from collections.abc import Mapping
from pathlib import Path

import pytest

from penstock.errors import PenstockError
from penstock.names import PipelineName
from penstock.pipeline import InvalidPipelineError, Pipeline, load_pipeline

FILES = ("flows.py", "flows/**/*.py")
HEAD = "import penstock as ps\n"


def write(folder: Path, files: Mapping[str, str]) -> Path:
    """Write the files of a project; each begins with the import of Penstock."""
    for name, text in files.items():
        path = folder / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(HEAD + text, encoding="utf-8")
    return folder


def load(folder: Path) -> Pipeline:
    """Return the pipeline of the project in `folder`."""
    return load_pipeline(folder, name=PipelineName("shop"), files=FILES)


def declared(folder: Path, text: str) -> Pipeline:
    """Return the pipeline of a project with one file."""
    return load(write(folder, {"flows.py": text}))


def problems(folder: Path) -> tuple[PenstockError, ...]:
    """Return the problems of the project in `folder`; one without any fails the test."""
    with pytest.raises(InvalidPipelineError) as caught:
        load(folder)
    return caught.value.problems


def problems_of(folder: Path, text: str) -> tuple[PenstockError, ...]:
    """Return the problems of a project with one file."""
    return problems(write(folder, {"flows.py": text}))


def told(folder: Path, text: str) -> list[tuple[str, str, str]]:
    """Return code, message and hint of each problem; each must be at a line marked `# here`."""
    found = problems_of(folder, text)
    lines = (folder / "flows.py").read_text(encoding="utf-8").splitlines()
    marked = {number for number, line in enumerate(lines, start=1) if line.endswith("# here")}
    places = [(item.origin.file, item.origin.line) for item in found if item.origin]
    assert {file for file, _ in places} == {(folder / "flows.py").resolve()}
    assert {line for _, line in places} == marked
    return [(item.code, item.message, item.hint) for item in found]
