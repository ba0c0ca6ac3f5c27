"""Faults one after the other, done to a pipeline on three brokers of its own."""

from __future__ import annotations

import os
import signal
import time
from contextlib import ExitStack, contextmanager
from random import Random
from threading import Event
from typing import TYPE_CHECKING, assert_never

import psutil

from support.crash_harness.brokers import TRANSACTION_SECONDS, CutCluster
from support.crash_harness.disk import Disk
from support.crash_harness.drivers import Failpoints, await_end, send
from support.crash_harness.faults import Fault, Kind
from support.crash_harness.pipeline import PipelineUnderTest
from support.crash_harness.scene import Scene
from support.crash_harness.sender import Sender
from support.waiting import eventually

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence
    from pathlib import Path

RATE = 60.0
_POINT_SECONDS = 240.0
_LEASE_SECONDS = 12.0


def seed() -> int:
    """Return what `SOAK_SEED` says; 7 without it."""
    return int(os.environ.get("SOAK_SEED", "7"))


class Strikes:
    """Does faults."""

    def __init__(self, scene: Scene, cluster: CutCluster, disk: Disk) -> None:
        self._scene, self._cluster, self._disk = scene, cluster, disk
        self._dice = Random(seed())  # noqa: S311 - moments, not secrets
        self.missed = 0
        """Faults that were not done: nobody got to their step in time, or a zombie was none."""

    def strike(self, faults: Sequence[Fault]) -> None:
        """Do faults one after the other, also while the pipeline recovers from the one before."""
        self._scene.recover()
        for number, fault in enumerate(faults, 1):
            self._scene.ensure_driver()
            Event().wait(self._dice.uniform(0, 2))  # the moment is part of the fault
            self._scene.tell(f"{number:3} {fault}")
            self._do(fault)
        self._scene.recover()

    def _do(self, fault: Fault) -> None:
        match fault.kind:
            case Kind.WORKER_KILLED:
                self._kill_worker()
            case Kind.WORKER_KILLED_AT:
                self._reach(fault, "kill")
            case Kind.WORKER_FROZEN_AT:
                self._freeze_worker(fault)
            case Kind.ZOMBIE_WORKER:
                self._wake_worker_beside_successor(fault)
            case Kind.DRIVER_KILLED:
                self._scene.driver.kill(jvm=self._dice.random() < 0.5)
            case Kind.DRIVER_KILLED_EARLY:
                self._scene.driver.kill(jvm=False)
                self._scene.start(waits=False)
                Event().wait(self._dice.uniform(1, 9))
                self._scene.driver.kill(jvm=False)
            case Kind.DRIVER_KILLED_AT:
                driver = self._scene.driver
                if self._reach(fault, "kill driver"):
                    driver.process.wait(timeout=60)
            case Kind.ZOMBIE_DRIVER:
                self._wake_driver_beside_successor()
            case Kind.BROKER_KILLED:
                self._kill_broker()
            case Kind.NETWORK_CUT:
                self._cluster.proxy.cut()
                Event().wait(self._dice.uniform(2, 6))
                self._cluster.proxy.mend()
            case Kind.DISK_FULL:
                with self._disk.full(self._scene.driver.jvms):
                    Event().wait(4)
            case Kind.PLATFORM_KILLED:
                self._kill_platform()
            case _:
                assert_never(fault.kind)

    def _kill_worker(self) -> None:
        found: list[psutil.Process] = []

        def has_some() -> bool:
            self._scene.ensure_driver()
            found.extend(self._scene.driver.workers)
            return bool(found)

        eventually(has_some, within_seconds=_POINT_SECONDS)
        send(self._dice.choice(found), signal.SIGKILL)

    def _reach(self, fault: Fault, action: str) -> bool:
        """Arm the point of a fault and return when a process has got there; say so if none does."""
        self._scene.failpoints.arm(fault.point, action, flow=fault.flow)
        deadline = time.monotonic() + _POINT_SECONDS
        while self._scene.failpoints.pid_at(fault.point) is None:
            if time.monotonic() > deadline:
                self._scene.failpoints.disarm(fault.point)
                self.missed += 1
                self._scene.note(f"nobody got to `{fault.point}` of {fault.flow or 'any flow'}")
                self._scene.recover()
                return False
            self._scene.ensure_driver()
            time.sleep(0.05)
        return True

    def _freeze_worker(self, fault: Fault) -> None:
        if self._reach(fault, "freeze"):
            Event().wait(TRANSACTION_SECONDS + 3)
            send(self._process_at(fault), signal.SIGCONT)

    def _wake_worker_beside_successor(self, fault: Fault) -> None:
        if not self._reach(fault, "freeze"):
            return
        frozen = self._process_at(fault)
        self._scene.driver.seen.append(frozen)
        self._scene.driver.kill(jvm=True)
        self._scene.start()
        self._scene.recover()
        if not frozen.is_running() or frozen.status() != psutil.STATUS_STOPPED:
            self.missed += 1
            self._scene.note("the frozen worker did not stay frozen")
        send(frozen, signal.SIGCONT)
        await_end([frozen], within_seconds=60)

    def _wake_driver_beside_successor(self) -> None:
        frozen, zombie = self._scene.driver.freeze(), self._scene.driver
        Event().wait(max(TRANSACTION_SECONDS, _LEASE_SECONDS))
        self._scene.start()
        self._scene.recover()
        for process in frozen:
            send(process, signal.SIGCONT)
        status = zombie.process.wait(timeout=120)
        if status != 1:
            self.missed += 1
            self._scene.note(f"a driver that had slept ended with status {status}")
        await_end(frozen[1:], within_seconds=60)

    def _kill_broker(self) -> None:
        broker = self._dice.choice(self._cluster.broker_ids)
        self._cluster.kill(broker)
        Event().wait(self._dice.uniform(0, 4))
        self._cluster.start_broker(broker)
        self._cluster.await_all()

    def _kill_platform(self) -> None:
        for broker in self._cluster.broker_ids:
            self._cluster.kill(broker)
        self._scene.driver.kill(jvm=True)
        self._cluster.start_all()

    def _process_at(self, fault: Fault) -> psutil.Process:
        pid = self._scene.failpoints.pid_at(fault.point)
        assert pid is not None
        return psutil.Process(pid)


@contextmanager
def under_fire(
    folder: Path, *, delivery: str = "exactly_once", without: str = ""
) -> Iterator[tuple[Scene, Sender, Strikes]]:
    """Run a pipeline and a sender on brokers of their own; they are gone at the end.

    Args:
        folder: for everything that they write.
        delivery: of all flows.
        without: what is taken out of the product (`failpoints/sitecustomize.py`).
    """
    with ExitStack() as stack:
        cluster = stack.enter_context(CutCluster.start_behind_proxy(folder / "kafka"))
        disk = stack.enter_context(Disk.mounted(folder / "disk"))
        tested = PipelineUnderTest.declare(
            folder / "project", delivery=delivery, data=disk.folder / "data"
        )
        for name in ("numbers", "answers"):
            cluster.create_topic(tested.topic(name), partition_count=3)
        failpoints = Failpoints(folder / "points")
        found = Scene(cluster.bootstrap, tested, failpoints, without=without)
        stack.callback(found.close)
        sender = stack.enter_context(Sender(cluster.bootstrap, tested, rate=RATE))
        found.start()
        assert found.driver.is_alive, found.driver.err.read_text()
        yield found, sender, Strikes(found, cluster, disk)
