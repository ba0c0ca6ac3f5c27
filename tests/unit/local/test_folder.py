import json
from pathlib import Path
from threading import Event, Thread

import pytest

from penstock.local.broker import new_shape, with_metrics_ports
from penstock.local.folder import Contact, Launch, PlatformFileError, PlatformFolder


@pytest.fixture
def folder(tmp_path: Path) -> PlatformFolder:
    return PlatformFolder(tmp_path / "trial")


def test_what_was_saved_is_loaded(folder: PlatformFolder) -> None:
    shape = new_shape(brokers=3, heap_mb=256)
    launch = Launch(
        java=Path("/java"),
        jars=(Path("a.jar"), Path("b.jar")),
        exporter=Path("c.jar"),
        archive=Path("x.jsa"),
    )
    contact = Contact(pid=1, port=2, token="secret")  # noqa: S106 - not a real one

    folder.save_shape(shape)
    folder.save_launch(launch)
    folder.save_contact(contact)

    assert (folder.load_shape(), folder.load_launch(), folder.load_contact()) == (
        shape,
        launch,
        contact,
    )
    folder.forget_contact()
    assert folder.load_contact() is None


def test_the_contact_is_for_this_user_alone(folder: PlatformFolder) -> None:
    folder.save_shape(new_shape(brokers=1, heap_mb=128))
    folder.save_contact(Contact(pid=1, port=2, token="secret"))  # noqa: S106

    assert (folder.root / "supervisor.json").stat().st_mode & 0o077 == 0


@pytest.mark.parametrize("text", ["", "{", "[]", '{"brokers": 3}', '{"brokers": [{"port": 1}]}'])
def test_a_damaged_file_is_named(folder: PlatformFolder, text: str) -> None:
    folder.root.mkdir()
    folder.shape_file.write_text(text)

    with pytest.raises(PlatformFileError) as caught:
        folder.load_shape()

    assert str(folder.shape_file) in caught.value.message


def test_a_platform_of_an_older_version_gets_ports_for_its_metrics(folder: PlatformFolder) -> None:
    shape = new_shape(brokers=3, heap_mb=256)
    folder.save_shape(shape)
    fields = json.loads(folder.shape_file.read_text())
    for broker in fields["brokers"]:
        del broker["metrics_port"]
    folder.shape_file.write_text(json.dumps(fields))

    found = with_metrics_ports(folder.load_shape())

    assert [broker.port for broker in found.brokers] == [broker.port for broker in shape.brokers]
    assert len({broker.metrics_port for broker in found.brokers} - {0}) == 3


def test_supervision_is_held_by_one(folder: PlatformFolder) -> None:
    folder.root.mkdir()
    assert not folder.is_supervised()

    assert folder.hold_supervision() is not None

    assert folder.is_supervised()
    assert folder.hold_supervision() is None


def test_operations_exclude_each_other(folder: PlatformFolder) -> None:
    waiting, order = Event(), []

    def second() -> None:
        with folder.operation(waiting.set):
            order.append("second")

    with folder.operation(lambda: None):
        thread = Thread(target=second)
        thread.start()
        assert waiting.wait(5)
        order.append("first")
    thread.join(5)

    assert order == ["first", "second"]
