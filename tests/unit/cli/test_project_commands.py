"""`penstock init`, `validate --fast` and `graph`: all of them without Spark and Kafka."""

import ast
import json
import subprocess
import sys
import tomllib
from pathlib import Path
from xml.etree import ElementTree as ET

import pytest

from penstock.cli.projects import name_after
from support.declarations import write
from support.in_process import PenstockInProcess

FLOWS = """
ps.topic("a")
ps.topic("b")
ps.table("c")

@ps.flow(into={"x": "b", "y": "c"}, delivery="exactly_once")
def split(a): ...
"""
STARTER = [
    ".gitignore",
    "conftest.py",
    "flows.py",
    "penstock.toml",
    "rooms.csv",
    "tests/test_flows.py",
]


@pytest.fixture
def penstock(tmp_path: Path) -> PenstockInProcess:
    return PenstockInProcess(tmp_path, {})


def test_init_writes_a_project_that_validates(penstock: PenstockInProcess) -> None:
    done = penstock("init", "Thermometers 2")
    folder = penstock.folder / "Thermometers 2"
    written = sorted(str(path.relative_to(folder)) for path in folder.rglob("*") if path.is_file())
    assert (done.status, done.stdout, written) == (0, "", STARTER)
    assert done.stderr.splitlines()[-3:] == [
        "  cd Thermometers 2",
        "  penstock up",
        "  penstock run",
    ]
    checked = penstock("validate", "--fast", "Thermometers 2")
    assert (checked.status, checked.stdout) == (
        0,
        "pipeline `thermometers-2` is valid\n"
        "  declarations: 1 rate source, 2 topics, 1 lookup, 2 flows\n"
        "  flows: not analyzed (--fast)\n",
    )


def test_what_init_writes_is_python_and_toml(penstock: PenstockInProcess) -> None:
    penstock("init")
    for name in ("conftest.py", "flows.py", "tests/test_flows.py"):
        ast.parse((penstock.folder / name).read_text("utf-8"))
    settings = tomllib.loads((penstock.folder / "penstock.toml").read_text("utf-8"))
    assert settings == {"pipeline": {"name": name_after(penstock.folder)}}


def test_what_init_writes_pleases_a_linter(penstock: PenstockInProcess) -> None:
    penstock("init")
    ruff = str(Path(sys.executable).with_name("ruff"))
    for arguments in (["check", "--select", "F,E,I,UP"], ["format", "--check"]):
        subprocess.run(
            [ruff, *arguments, "--isolated", "--no-cache", "."], cwd=penstock.folder, check=True
        )


def test_init_overwrites_nothing_and_names_what_is_there(penstock: PenstockInProcess) -> None:
    (penstock.folder / "flows.py").write_text("mine", encoding="utf-8")
    (penstock.folder / ".gitignore").write_text("mine", encoding="utf-8")
    done = penstock("init")
    assert (done.status, done.stderr) == (
        2,
        "error[PEN-960]: `.gitignore`, `flows.py` are already there, and nothing is overwritten\n"
        "\nhint: name another folder: `penstock init FOLDER`\n",
    )
    assert sorted(path.name for path in penstock.folder.iterdir()) == [".gitignore", "flows.py"]
    assert (penstock.folder / "flows.py").read_text("utf-8") == "mine"


def test_init_says_that_a_folder_cannot_be_written(penstock: PenstockInProcess) -> None:
    (penstock.folder / "taken").write_text("a file", encoding="utf-8")
    done = penstock("init", "taken/project")
    assert done.status == 2
    assert done.stderr.startswith("error[PEN-962]: no project can be written to `taken/project`: ")


def test_init_tells_programs_what_it_wrote(penstock: PenstockInProcess) -> None:
    done = penstock("init", "a", "--json")
    assert done.json == {"folder": str(penstock.folder / "a"), "files": STARTER}


def test_validate_shows_every_problem_and_then_how_many(penstock: PenstockInProcess) -> None:
    text = 'ps.topic("a", partitions=0)\nps.topic("b")\n@ps.flow(into="bb")\ndef f(a): ...\n'
    write(penstock.folder / "shop", {"flows.py": text})
    done = penstock("validate", "shop")
    assert (done.status, done.stdout, done.stderr) == (
        2,
        "",
        "error[PEN-103]: topic `a`: `partitions`:"
        " it should be greater than or equal to 1, not `0`\n"
        "  at shop/flows.py:2\n"
        "\nhint: change `partitions` in this declaration\n"
        "\n"
        "error[PEN-104]: flow `f` names the dataset `bb`, which is not declared\n"
        "  at shop/flows.py:4\n"
        "\nhint: did you mean `b`?\n"
        "\n"
        "error[PEN-100]: pipeline `shop` has 2 problems\n"
        "\nhint: `penstock validate` shows them again; nothing was started or changed\n",
    )


def test_validate_tells_programs_every_problem(penstock: PenstockInProcess) -> None:
    write(penstock.folder, {"flows.py": 'ps.topic("a", partitions=0)\n'})
    done = penstock("validate", "--json")
    found = [(item["code"], item["origin"]) for item in done.json["error"]["problems"]]
    file = (penstock.folder / "flows.py").resolve()
    assert (done.status, found) == (2, [("PEN-112", str(file)), ("PEN-103", f"{file}:2")])


def test_validate_tells_programs_what_was_checked(penstock: PenstockInProcess) -> None:
    write(penstock.folder / "shop", {"flows.py": FLOWS})
    done = penstock("validate", "--fast", "--json", "shop")
    assert done.json == {
        "pipeline": "shop",
        "folder": str((penstock.folder / "shop").resolve()),
        "checked": ["declarations"],
        "datasets": [
            {"name": "a", "kind": "topic"},
            {"name": "b", "kind": "topic"},
            {"name": "c", "kind": "table"},
        ],
        "flows": ["split"],
        "problems": [],
    }


def test_the_fast_step_loads_neither_spark_nor_kafkas_client(penstock: PenstockInProcess) -> None:
    penstock("init")
    program = (
        "import sys\n"
        "from penstock.cli.main import main\n"
        "sys.argv = ['penstock', 'validate', '--fast']\n"
        "try:\n"
        "    main()\n"
        "finally:\n"
        "    heavy = {'confluent_kafka', 'pyspark', 'pandas', 'rich', 'psutil'}\n"
        "    print(sorted(heavy & set(sys.modules)), file=sys.stderr)\n"
    )
    done = subprocess.run(
        [sys.executable, "-c", program],
        cwd=penstock.folder,
        capture_output=True,
        text=True,
        check=True,
    )
    assert done.stderr == "[]\n"


def test_the_project_is_where_the_settings_file_is(penstock: PenstockInProcess) -> None:
    write(penstock.folder, {"streams/main.py": FLOWS})
    settings = '[pipeline]\nname = "shop"\nfiles = ["streams/*.py"]\n'
    (penstock.folder / "penstock.toml").write_text(settings, encoding="utf-8")
    below = PenstockInProcess(penstock.folder / "streams", {})
    assert below("validate", "--fast", "--json").json["pipeline"] == "shop"


def test_a_folder_that_is_named_is_the_project_with_the_settings_above_it(
    penstock: PenstockInProcess,
) -> None:
    write(penstock.folder / "shop", {"streams.py": FLOWS})
    (penstock.folder / "penstock.toml").write_text(
        '[pipeline]\nfiles = ["streams.py"]\n', encoding="utf-8"
    )
    done = penstock("validate", "--fast", "--json", "shop")
    assert (done.json["pipeline"], done.json["folder"]) == (
        "shop",
        str((penstock.folder / "shop").resolve()),
    )


def test_a_folder_without_a_pipeline_is_told_with_what_was_looked_for(
    penstock: PenstockInProcess,
) -> None:
    done = penstock("graph")
    assert (done.status, done.stderr.splitlines()[0]) == (
        2,
        f"error[PEN-101]: `{penstock.folder.resolve()}` holds no pipeline:"
        " looked for `flows.py`, `flows/**/*.py`",
    )


@pytest.mark.parametrize(
    ("folder", "name"),
    [
        ("shop", "shop"),
        ("My Shop (new)", "my-shop-new"),
        ("2026-orders", "orders"),
        ("fraud_ip", "fraud_ip"),
        ("東京", "pipeline"),
        ("x" * 120, "x" * 100),
    ],
)
def test_a_pipeline_without_a_name_is_called_after_its_folder(folder: str, name: str) -> None:
    assert name_after(Path("/projects") / folder) == name


def test_graph_draws_on_the_terminal(penstock: PenstockInProcess) -> None:
    write(penstock.folder, {"flows.py": FLOWS})
    done = penstock("graph")
    assert (done.status, done.stderr, done.stdout) == (
        0,
        "",
        "a (topic)\n└─▶ split()\n"
        "    ├─ x ─▶ b (topic), exactly once\n    └─ y ─▶ c (table), exactly once\n",
    )


def test_graph_writes_a_drawing(penstock: PenstockInProcess) -> None:
    write(penstock.folder, {"flows.py": FLOWS})
    done = penstock("graph", "--svg", "shop.svg")
    root = ET.parse(penstock.folder / "shop.svg").getroot()  # noqa: S314 - our own file
    assert (done.status, done.stdout, done.stderr) == (0, "", "shop.svg: 4 nodes, 3 edges\n")
    assert root.tag == "{http://www.w3.org/2000/svg}svg"


def test_graph_says_that_a_drawing_cannot_be_written(penstock: PenstockInProcess) -> None:
    write(penstock.folder, {"flows.py": FLOWS})
    done = penstock("graph", "--svg", "nowhere/shop.svg")
    assert (done.status, done.stderr) == (
        2,
        "error[PEN-961]: `nowhere/shop.svg` cannot be written: No such file or directory\n"
        "\nhint: name another file with `--svg`, in a folder that exists\n",
    )


def test_graph_tells_programs_nodes_and_edges(penstock: PenstockInProcess) -> None:
    write(penstock.folder, {"flows.py": FLOWS})
    found = json.loads(penstock("graph", "--json").stdout)
    assert [node["id"] for node in found["nodes"]] == [
        "dataset:a",
        "dataset:b",
        "dataset:c",
        "flow:split",
    ]
    assert found["edges"] == [
        {"source": "dataset:a", "target": "flow:split", "label": "", "guarantee": None},
        {
            "source": "flow:split",
            "target": "dataset:b",
            "label": "x",
            "guarantee": "exactly once",
        },
        {
            "source": "flow:split",
            "target": "dataset:c",
            "label": "y",
            "guarantee": "exactly once",
        },
    ]
