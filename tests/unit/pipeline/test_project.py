"""Loading projects: many files, files that fail, and one project after the other."""

import builtins
import sys
from pathlib import Path
from types import ModuleType

import pytest

from penstock.names import DatasetName
from penstock.pipeline import InvalidPipelineError, ProjectNotFoundError, UnknownFlowError
from support.declarations import declared, load, problems, write

TOPICS = 'ps.topic("a")\nps.topic("b")\n'
COPY = '@ps.flow(into="b")\ndef copy(a):\n    return a\n'


def places(folder: Path) -> list[tuple[str, str, int | None]]:
    """Return code, file and line of each problem."""
    return [
        (item.code, item.origin.file.relative_to(folder.resolve()).as_posix(), item.origin.line)
        for item in problems(folder)
        if item.origin is not None
    ]


def test_files_of_a_project_import_each_other_and_helpers(tmp_path: Path) -> None:
    write(
        tmp_path,
        {
            "flows/topics.py": TOPICS,
            "flows/deep/copying.py": "from rules import keep\nimport flows.topics\n"
            + COPY
            + "RULE = keep\n",
            "rules.py": "keep = 7\nps.topic('from_a_helper')\n",
        },
    )
    pipeline = load(tmp_path)
    assert [item.name for item in pipeline.datasets] == ["from_a_helper", "a", "b"]
    assert pipeline.modules == ("flows.deep.copying", "flows.topics")
    assert pipeline.flow("copy").function.__globals__["RULE"] == 7
    assert pipeline.folder == tmp_path.resolve()


def test_a_package_is_imported_once(tmp_path: Path) -> None:
    write(tmp_path, {"flows/__init__.py": TOPICS, "flows/copying.py": "import flows\n" + COPY})
    pipeline = load(tmp_path)
    assert [item.name for item in pipeline.datasets] == ["a", "b"]
    assert pipeline.modules == ("flows", "flows.copying")


def test_a_function_may_import_from_its_project_when_it_runs(tmp_path: Path) -> None:
    late = '@ps.flow(into="b")\ndef late(a):\n    from later import VALUE\n    return VALUE\n'
    write(tmp_path, {"flows.py": TOPICS + late, "later.py": "VALUE = 5\n"})
    assert load(tmp_path).flow("late").function(None) == 5


def test_projects_loaded_after_each_other_do_not_meet(tmp_path: Path) -> None:
    files = {"flows.py": "from rules import RULE\n" + TOPICS + COPY}
    first = write(tmp_path / "first", files | {"rules.py": "RULE = 1\n"})
    second = write(tmp_path / "second", files | {"rules.py": "RULE = 2\n"})
    found = [load(folder).flow("copy").function.__globals__["RULE"] for folder in (first, second)]
    assert found == [1, 2]
    assert str(first.resolve()) not in sys.path


def test_a_changed_project_can_be_loaded_again(tmp_path: Path) -> None:
    assert len(declared(tmp_path, TOPICS + COPY).datasets) == 2
    assert len(declared(tmp_path, TOPICS + 'ps.topic("another")\n' + COPY).datasets) == 3


def test_loading_leaves_installed_modules_alone(tmp_path: Path) -> None:
    before = {name: module for name, module in sys.modules.items() if "penstock" in name}
    declared(tmp_path, "import penstock.names\n" + TOPICS + COPY)
    declared(tmp_path, TOPICS + COPY)
    assert {name: sys.modules[name] for name in before} == before


def test_modules_may_be_imported_meanwhile(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Another thread imports Spark while the files of a project are loaded."""

    class Busy(ModuleType):
        def __getattr__(self, _: str) -> str:
            monkeypatch.setitem(sys.modules, f"later{len(sys.modules)}", ModuleType("later"))
            return ""

    busy = Busy("busy")
    write(tmp_path, {"flows.py": f"{TOPICS}{COPY}import sys\nsys.modules['busy'] = STAND_IN\n"})
    monkeypatch.setattr(builtins, "STAND_IN", busy, raising=False)
    try:
        assert load(tmp_path).flow("copy").name == "copy"
    finally:
        sys.modules.pop("busy", None)


def test_a_folder_without_the_files_is_no_project(tmp_path: Path) -> None:
    with pytest.raises(ProjectNotFoundError) as caught:
        load(tmp_path)
    assert caught.value.code == "PEN-101"
    assert caught.value.message == (
        f"`{tmp_path.resolve()}` holds no pipeline: looked for `flows.py`, `flows/**/*.py`"
    )


def test_a_syntax_error_is_a_problem_at_its_line(tmp_path: Path) -> None:
    write(tmp_path, {"flows.py": TOPICS + "def broken(:\n"})
    assert places(tmp_path) == [("PEN-102", "flows.py", 4)]
    [problem] = problems(tmp_path)
    assert problem.message.startswith("`flows.py` cannot be imported: SyntaxError: ")


def test_an_exception_is_a_problem_at_the_last_line_of_the_project(tmp_path: Path) -> None:
    write(
        tmp_path,
        {
            "flows.py": "from rules import limit\n" + TOPICS + "limit('x')\n" + COPY,
            "rules.py": "def limit(text):\n    return int(text)\n",
        },
    )
    [problem] = problems(tmp_path)
    assert places(tmp_path) == [("PEN-102", "rules.py", 3)]
    assert problem.message == (
        "`rules.py` cannot be imported: ValueError: invalid literal for int() with base 10: 'x'"
    )


def test_a_wrong_call_of_ours_is_a_problem_at_the_users_line(tmp_path: Path) -> None:
    write(tmp_path, {"flows.py": TOPICS + 'ps.topic("c", partition=3)\n' + COPY})
    assert places(tmp_path) == [("PEN-102", "flows.py", 4)]


def test_a_module_that_is_not_installed_is_a_problem_at_the_import(tmp_path: Path) -> None:
    write(tmp_path, {"flows.py": TOPICS + "import no_such_module_at_all\n" + COPY})
    assert places(tmp_path) == [("PEN-102", "flows.py", 4)]


def test_a_file_that_fails_is_told_once_however_many_import_it(tmp_path: Path) -> None:
    write(
        tmp_path,
        {
            "flows/a.py": "import flows.topics\n" + COPY,
            "flows/topics.py": TOPICS + "1 / 0\n",
            "flows/z.py": "import flows.topics\n" + COPY.replace("copy", "copy_again"),
        },
    )
    assert places(tmp_path) == [("PEN-102", "flows/topics.py", 4)]


def test_a_file_that_fails_hides_no_problems_of_others(tmp_path: Path) -> None:
    write(
        tmp_path,
        {
            "flows/a.py": "1 / 0\n",
            "flows/b.py": 'ps.topic("b", partitions=0)\n' + COPY,
            "flows/c.py": 'ps.topic("c", compacted=True)\n',
        },
    )
    assert places(tmp_path) == [
        ("PEN-102", "flows/a.py", 2),
        ("PEN-103", "flows/b.py", 2),
        ("PEN-111", "flows/c.py", 2),
    ]


def test_a_file_with_the_name_of_a_loaded_module_is_a_problem(tmp_path: Path) -> None:
    """Python hands out the module that it has, so the file would silently declare nothing."""
    write(tmp_path, {"flows.py": TOPICS + COPY})
    sys.modules["flows"] = sys
    try:
        [problem] = problems(tmp_path)
    finally:
        del sys.modules["flows"]
    assert (problem.code, problem.message) == (
        "PEN-102",
        "`flows.py` cannot be imported: the module name `flows` belongs to `Python itself`",
    )


def test_problems_are_shown_in_the_order_of_the_files(tmp_path: Path) -> None:
    write(
        tmp_path,
        {
            "flows/b.py": 'ps.topic("x", partitions=0)\n',
            "flows/a.py": TOPICS + COPY + 'ps.topic("a")\nps.topic("c", partitions=0)\n',
        },
    )
    assert places(tmp_path) == [
        ("PEN-105", "flows/a.py", 7),
        ("PEN-103", "flows/a.py", 8),
        ("PEN-103", "flows/b.py", 2),
    ]


def test_the_error_counts_and_carries_its_problems(tmp_path: Path) -> None:
    write(tmp_path, {"flows.py": TOPICS + COPY + 'ps.topic("c", partitions=0)\n'})
    with pytest.raises(InvalidPipelineError) as caught:
        load(tmp_path)
    shown = caught.value.as_dict()
    assert (shown["code"], shown["message"]) == ("PEN-100", "pipeline `shop` has 1 problem")
    assert shown["problems"] == [item.as_dict() for item in caught.value.problems]


def test_a_pipeline_answers_questions_about_what_is_connected(tmp_path: Path) -> None:
    pipeline = declared(
        tmp_path,
        """
ps.topic("orders")
ps.topic("prices", key="id", compacted=True)
ps.topic("shipped")
ps.topic("unused")
ps.lookup("price", "prices")

@ps.view
def valid(orders, price): ...

@ps.flow(into="shipped")
def ship(valid): ...

@ps.flow(into={"x": "unused"})
def other(shipped): ...
""",
    )
    ship = pipeline.flow("ship")
    assert [item.name for item in pipeline.sources(ship)] == ["orders", "price"]
    assert [item.name for item in pipeline.topics([ship])] == ["orders", "prices", "shipped"]
    assert pipeline.writers(DatasetName("shipped")) == (ship,)
    assert pipeline.only([]) == pipeline.flows
    assert pipeline.only(["ship"]) == (ship,)
    assert pipeline.dead_letters == "shop.deadletters"
    with pytest.raises(UnknownFlowError) as caught:
        pipeline.only(["shipp"])
    assert (caught.value.code, caught.value.hint) == ("PEN-113", "did you mean `ship`?")
