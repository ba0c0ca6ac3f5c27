"""`penstock schemas` against a real registry: what is registered, refused, compared and told."""

from __future__ import annotations

import json
import re
from typing import TYPE_CHECKING, Any
from uuid import uuid4

import pytest

from support.in_process import PenstockInProcess

if TYPE_CHECKING:
    from pathlib import Path

    from penstock.local.cluster import KafkaCluster
    from support.commands import Outcome


class Project:
    """A folder with schemas whose subjects nobody else uses, and `penstock schemas` in it."""

    def __init__(self, folder: Path, registry_url: str, bootstrap: str) -> None:
        self.folder = folder
        self.mark = uuid4().hex[:8]
        self._penstock = PenstockInProcess(
            folder, {"PENSTOCK_BOOTSTRAP": bootstrap, "PENSTOCK_REGISTRY_URL": registry_url}
        )

    def __call__(self, *arguments: str) -> Outcome:
        return self._penstock("schemas", *arguments)

    def subject(self, name: str) -> str:
        return f"{name}-{self.mark}"

    def write(self, name: str, content: object) -> Path:
        """Write a schema; `name` gets this project's mark before its suffix."""
        stem, _, suffix = name.rpartition(".")
        path = self.folder / "schemas" / f"{self.subject(stem)}.{suffix}"
        path.parent.mkdir(parents=True, exist_ok=True)
        text = content if isinstance(content, str) else json.dumps(content)
        path.write_text(text.replace("MARK", self.mark))
        return path

    def plain(self, text: str) -> str:
        """Return `text` without the mark and with any id as N."""
        return re.sub(r"\bid \d+", "id N", text.replace(f"-{self.mark}", ""))


@pytest.fixture
def project(kafka: KafkaCluster, registry_url: str, tmp_path: Path) -> Project:
    return Project(tmp_path, registry_url, kafka.bootstrap)


def record(name: str, *fields: dict[str, Any]) -> dict[str, Any]:
    return {"type": "record", "name": name, "namespace": "shop", "fields": list(fields)}


def field(name: str, kind: object, **more: object) -> dict[str, object]:
    return {"name": name, "type": kind, **more}


CUSTOMER = record("Customer", field("id", "long"), field("name", "string"))


def test_push_registers_files_after_what_they_refer_to_in_all_three_types(
    project: Project,
) -> None:
    project.write("address.avsc", record("Address", field("city", "string")))
    project.write("a-order.avsc", record("Order", field("to", ["null", "Address"])))
    project.write("money.json", {"type": "object", "properties": {"amount": {"type": "number"}}})
    project.write(
        "a-payment.json", {"type": "object", "properties": {"sum": {"$ref": "money-MARK.json"}}}
    )
    project.write("geo.proto", 'syntax = "proto3"; message Point { double lat = 1; }')
    project.write(
        "a-trip.proto",
        'syntax = "proto3"; import "geo-MARK.proto"; message Trip { Point start = 1; }',
    )

    pushed = project("push", "--json")

    assert pushed.status == 0, pushed.stderr
    assert [(item["finding"], item["version"]) for item in pushed.json] == [("new subject", 1)] * 6
    order = [project.plain(item["subject"]) for item in pushed.json]
    assert [(order.index(a) < order.index(b)) for a, b in PAIRS] == [True] * 3
    assert references(project, "a-order") == [("shop.Address", "address", 1)]
    assert references(project, "a-payment") == [("money.json", "money", 1)]
    assert references(project, "a-trip") == [("geo.proto", "geo", 1)]
    again = project("push", "--json").json
    assert [item["finding"] for item in again] == ["unchanged"] * 6


PAIRS = [("address", "a-order"), ("money", "a-payment"), ("geo", "a-trip")]


def references(project: Project, subject: str) -> list[tuple[str, str, int]]:
    shown = project("show", project.subject(subject), "--json").json
    return [
        (project.plain(item["name"]), project.plain(item["subject"]), item["version"])
        for item in shown["references"]
    ]


def test_a_changed_reference_gives_what_refers_to_it_a_new_version(project: Project) -> None:
    project.write("address.avsc", record("Address", field("city", "string")))
    project.write("order.avsc", record("Order", field("to", "Address")))
    project("push")
    zip_code = field("zip", "string", default="")
    project.write("address.avsc", record("Address", field("city", "string"), zip_code))

    planned = project("push", "--dry-run", "--json")
    pushed = project("push", "--json")

    assert [item["finding"] for item in planned.json] == ["new version"] * 2
    assert [item["version"] for item in pushed.json] == [2, 2]
    assert references(project, "order") == [("shop.Address", "address", 2)]


def test_a_dry_run_registers_nothing(project: Project) -> None:
    project.write("customer.avsc", CUSTOMER)

    done = project("push", "--dry-run")

    assert project.plain(done.stdout) == "schemas/customer.avsc: new subject (BACKWARD)\n"
    assert project("list", f"*{project.mark}", "--json").json == []


def test_check_lists_each_problem_with_path_kind_and_reason_and_fails(project: Project) -> None:
    project.write("customer.avsc", CUSTOMER)
    project.write("other.avsc", record("Other", field("a", "int")))
    project("push")
    project.write("customer.avsc", record("Customer", field("id", "string"), field("age", "int")))
    project.write("broken.avsc", record("Broken", field("a", "strin")))

    done = project("check")

    assert done.status == 1
    assert project.plain(done.stdout) == (
        "schemas/broken.avsc: invalid\n"
        "  /fields/0/type  `strin` is not the name of a type that is defined before its use; "
        "did you mean `string`?\n"
        "schemas/customer.avsc: incompatible (BACKWARD)\n"
        "  /fields/0/type  TYPE_MISMATCH\n"
        "    the new schema cannot read old data: `string` cannot read data of type `long`\n"
        "  /fields/1  READER_FIELD_MISSING_DEFAULT_VALUE\n"
        "    the new schema cannot read old data: the field `age` is not in the data and has "
        "no default\n"
        "schemas/other.avsc: unchanged, version 1\n"
    )
    assert project.plain(done.stderr).startswith(
        "error[PEN-747]: 2 of 3 schemas cannot be registered: `broken`, `customer`\n"
    )


def test_check_gives_programs_one_document_and_a_status(project: Project) -> None:
    project.write("customer.avsc", CUSTOMER)
    project("push")
    path = project.write("customer.avsc", record("Customer", field("id", "string")))

    done = project("check", str(path), "--json")

    assert done.status == 1
    (found,) = done.json
    assert (found["finding"], found["level"]) == ("incompatible", "BACKWARD")
    assert [item["kind"] for item in found["incompatibilities"]] == ["TYPE_MISMATCH"]


def test_a_push_with_one_schema_that_does_not_fit_registers_none(project: Project) -> None:
    project.write("customer.avsc", CUSTOMER)
    project("push")
    project.write("customer.avsc", record("Customer", field("id", "string")))
    project.write("another.avsc", record("Another", field("a", "int")))

    done = project("push")

    assert done.status == 1
    subjects = [item["subject"] for item in project("list", f"*{project.mark}", "--json").json]
    assert subjects == [project.subject("customer")]


def test_the_level_of_the_subject_counts(project: Project) -> None:
    """A plain string in place of a record is not compatible, and NONE allows it."""
    project.write("customer.avsc", CUSTOMER)
    project("push")
    project.write("customer.avsc", '"string"')
    subject = project.subject("customer")

    refused = project("check")
    project("config", subject, "--set", "NONE")
    allowed = project("check")

    assert (refused.status, allowed.status) == (1, 0)
    assert project("config", subject).stdout == "NONE\n"
    assert project("config", subject, "--unset").stdout == "BACKWARD\n"


def test_transitive_levels_compare_with_all_versions(project: Project) -> None:
    old, new = field("old", "int", default=0), field("new", "string", default="")
    project.write("c.avsc", record("C", field("id", "long"), field("x", "string", default="")))
    project("push")
    project.write("c.avsc", record("C", field("id", "long"), old))
    project("push")
    project.write("c.avsc", record("C", field("id", "long"), field("x", "int", default=0), new))

    last_only = project("check")
    project("config", project.subject("c"), "--set", "BACKWARD_TRANSITIVE")
    all_versions = project("check", "--json")

    assert (last_only.status, all_versions.status) == (0, 1)
    assert [item["path"] for item in all_versions.json[0]["incompatibilities"]] == [
        "/fields/1/type"
    ]


def test_pull_fetches_with_references_and_asks_before_it_overwrites(
    project: Project,
) -> None:
    address = project.write("address.avsc", record("Address", field("city", "string")))
    order = project.write("order.avsc", record("Order", field("to", "Address")))
    project("push")
    address.unlink()
    order.write_text(json.dumps(json.loads(order.read_text()), indent=8))
    written = order.read_text()

    first = project("pull", project.subject("order"), "--json")
    order.write_text("mine")
    refused = project("pull", project.subject("order"))
    forced = project("pull", project.subject("order"), "--yes", "--json")

    states = [item["state"] for item in first.json]
    assert states == ["new", "same"]
    assert json.loads(address.read_text())["name"] == "Address"
    assert refused.status == 2
    assert "error[PEN-901]" in refused.stderr
    assert [item["state"] for item in forced.json] == ["same", "changed"]
    assert json.loads(order.read_text()) == json.loads(written)
    assert project("check").status == 0


def test_one_file_is_registered_shown_and_deleted_under_a_subject_of_choice(
    project: Project, tmp_path: Path
) -> None:
    subject = project.subject("customers-value")
    (tmp_path / "customer.avsc").write_text(json.dumps(CUSTOMER))

    registered = project("register", subject, "customer.avsc")
    shown = project("show", subject)
    by_id = project("show", "--id", str(project("show", subject, "--json").json["id"]))
    refused = project("delete", subject)
    deleted = project("delete", subject, "1", "--yes")

    assert project.plain(registered.stdout) == "customers-value: version 1, id N\n"
    assert json.loads(shown.stdout) == json.loads(by_id.stdout) == CUSTOMER
    assert project.plain(shown.stderr) == "customers-value version 1, id N, AVRO\n"
    assert (refused.status, deleted.status) == (2, 0)
    assert project("show", subject).status == 1
    listed = project("list", subject, "--deleted", "--json").json
    assert [(item["subject"], item["deleted"]) for item in listed] == [(subject, True)]


def test_a_permanent_delete_takes_what_is_there_and_what_was_deleted_before(
    project: Project,
) -> None:
    project.write("a.avsc", CUSTOMER)
    project.write("b.avsc", CUSTOMER)
    project("push")
    project("delete", project.subject("a"), "--yes")

    for name in ("a", "b"):
        assert project("delete", project.subject(name), "--permanent", "--yes").status == 0

    assert project("list", f"*{project.mark}", "--deleted", "--json").json == []
    assert project("delete", project.subject("a"), "--permanent", "--yes").status == 1


def test_a_read_only_subject_stops_a_push_which_says_what_is_registered(project: Project) -> None:
    project.write("a.avsc", CUSTOMER)
    project.write("b.avsc", record("B", field("x", "int")))
    subject = project.subject("b")
    project("mode", subject, "--set", "READONLY")

    stopped = project("push")
    project("mode", subject, "--unset")

    assert stopped.status == 1
    assert "error[PEN-748]" in stopped.stderr
    assert f"before it, `{project.subject('a')}` was registered" in stopped.stderr
    assert project("push").status == 0


def test_diff_compares_versions_files_and_the_projects_file(
    project: Project, tmp_path: Path
) -> None:
    subject = project.subject("customer")
    project.write("customer.avsc", CUSTOMER)
    project("push")
    age = field("age", "int", default=0)
    project.write("customer.avsc", record("Customer", field("id", "long"), age))
    (tmp_path / "mine.avsc").write_text(json.dumps(CUSTOMER))

    with_file = project("diff", subject, "--json").json
    same = project("diff", subject, "mine.avsc")
    project("push")
    versions = project("diff", subject, "1", "2", "--json").json
    since = project("diff", subject, "1", "--json").json

    assert [(item["kind"], item["path"]) for item in with_file["changes"]] == [
        ("removed", "Customer.name"),
        ("added", "Customer.age"),
    ]
    assert versions["changes"] == since["changes"] == with_file["changes"]
    assert (same.status, same.stdout) == (0, "")


@pytest.mark.parametrize(
    ("arguments", "code"),
    [
        (("show",), "PEN-753"),
        (("show", "x", "--id", "1"), "PEN-753"),
        (("mode", "--unset"), "PEN-753"),
        (("check",), "PEN-745"),
        (("show", "no-such-subject"), "PEN-740"),
        (("register", "x", "penstock.txt"), "PEN-745"),
    ],
    ids=" ".join,
)
def test_wrong_use_is_told_in_one_sentence(
    project: Project, tmp_path: Path, arguments: tuple[str, ...], code: str
) -> None:
    (tmp_path / "penstock.txt").write_text("{}")

    done = project(*arguments)

    assert done.status != 0
    assert done.stderr.startswith(f"error[{code}]: ")
    assert "Traceback" not in done.stderr
