"""protoc runs in one child for all threads, and a child that is gone is replaced."""

from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor

import psutil
import pytest

from penstock.schemas.protobuf.compiler import Compiler, Source


@pytest.fixture
def compiler() -> Iterator[Compiler]:
    compiler = Compiler()
    yield compiler
    compiler.close()


def test_threads_share_one_child(compiler: Compiler) -> None:
    before = set(psutil.Process().children())
    with ThreadPoolExecutor(8) as threads:
        compiled = list(threads.map(lambda i: names_of(compiler, f"M{i}"), range(40)))
    assert compiled == [[f"M{i}"] for i in range(40)]
    assert len(set(psutil.Process().children()) - before) == 1


def test_a_child_that_was_killed_is_replaced(compiler: Compiler) -> None:
    before = set(psutil.Process().children())
    assert names_of(compiler, "A") == ["A"]
    [child] = set(psutil.Process().children()) - before
    child.kill()
    child.wait()
    assert names_of(compiler, "B") == ["B"]


def test_no_child_is_left_behind(compiler: Compiler) -> None:
    before = set(psutil.Process().children())
    names_of(compiler, "A")
    compiler.close()
    assert set(psutil.Process().children()) <= before


def names_of(compiler: Compiler, message: str) -> list[str]:
    source = Source(name="default", content=f"message {message} {{}}")
    [file] = compiler.compile(source, [])
    return [one.name for one in file.message_type]
