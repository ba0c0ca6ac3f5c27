"""Who asks whether a lock is held neither holds it nor keeps others from it."""

from pathlib import Path
from threading import Barrier, Event, Thread

from penstock.local.locks import hold, is_held


def test_those_who_ask_at_once_do_not_take_each_other_for_a_holder(tmp_path: Path) -> None:
    path, barrier = tmp_path / "lock", Barrier(8)
    answers: list[bool] = []

    def ask() -> None:
        barrier.wait()
        answers.extend(is_held(path) for _ in range(200))

    askers = [Thread(target=ask) for _ in range(8)]
    for asker in askers:
        asker.start()
    for asker in askers:
        asker.join()

    assert set(answers) == {False}


def test_it_is_taken_while_others_ask(tmp_path: Path) -> None:
    path, done = tmp_path / "lock", Event()

    def ask() -> None:
        while not done.wait(0.001):
            is_held(path)

    askers = [Thread(target=ask) for _ in range(2)]
    for asker in askers:
        asker.start()
    lock = hold(path)
    done.set()
    for asker in askers:
        asker.join()

    assert lock is not None
    assert is_held(path)
