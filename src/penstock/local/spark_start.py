"""Starting the Spark cluster of a platform: what it is made of, and when it is ready.

These functions run in the command's process; the cluster belongs to the supervisor.
"""

from __future__ import annotations

import json
import os
import time
import urllib.error
import urllib.request
from dataclasses import replace
from typing import TYPE_CHECKING

import psutil

from penstock.engine.driver import MODULE_OPTIONS, spark_home, spark_jars
from penstock.errors import PenstockError
from penstock.events import Emit, StepFinished, StepProgressed, StepStarted
from penstock.java import JarSet, class_archive, ensure_jars, find_java
from penstock.local.control import BrokerState, SparkStatus, Verb, ask
from penstock.local.ports import free_ports, is_free
from penstock.local.processes import find_processes
from penstock.local.spark_cluster import (
    SparkCommand,
    SparkLaunch,
    SparkNode,
    SparkRole,
    SparkShape,
)

if TYPE_CHECKING:
    from pathlib import Path

    from penstock.local.folder import PlatformFolder
    from penstock.settings import JavaSettings

MASTER_PORT, MASTER_UI_PORT = 7077, 8080
"""Where people look for Spark first."""

_READY_SECONDS = 120
_PAUSE_SECONDS = 0.1
_LEAST_MEMORY_MB = 1536
"""An executor as Spark makes it by default: 1 GB of heap and what Python takes beside it."""


class SparkStartError(PenstockError):
    """A process of the Spark cluster ended, or the workers did not find their master."""

    code = "PEN-514"

    def __init__(self, name: str, *, reason: str, log: Path) -> None:
        super().__init__(
            f"`{name}` could not start: {reason}",
            hint=f"its log is `{log}`; `penstock platform status` shows what runs",
        )


def record_spark(
    folder: PlatformFolder, java: JavaSettings, *, workers: int, heap_mb: int, emit: Emit
) -> None:
    """Record the cluster that the supervisor shall run, fetching jars if due; 0 workers: none."""
    if workers == 0:
        folder.forget_spark()
        return
    before = folder.load_spark().shape if folder.has_spark else None
    shape = new_spark_shape(workers=workers, heap_mb=heap_mb, before=before)
    folder.save_spark(SparkCommand(launch=_launch(java, emit), shape=shape, folders=folder.folders))


def start_spark(folder: PlatformFolder, emit: Emit) -> None:
    """Have the supervisor run the recorded cluster; return when every worker has joined.

    Raises:
        SparkStartError: a process ended, or the cluster is not complete in time.
    """
    ask(folder.load_contact(), Verb.FIT_SPARK)
    if not folder.has_spark:
        return
    shape = folder.load_spark().shape
    step = f"starting Spark with {len(shape.workers)} worker(s)"
    emit(StepStarted(step=step))
    started = time.monotonic()
    while (joined := _alive_workers(shape)) < len(shape.workers):
        _check(folder, late=time.monotonic() - started > _READY_SECONDS)
        emit(StepProgressed(step=step, done=joined, total=len(shape.workers)))
        time.sleep(_PAUSE_SECONDS)
    emit(StepFinished(step=step, detail=f"ready in {time.monotonic() - started:.1f} s"))


def spark_orphans(folder: Path, shape: SparkShape | None) -> tuple[SparkStatus, ...]:
    """Return the state of each process of the cluster while nobody supervises it."""
    if shape is None:
        return ()
    commands = {process.pid: process.cmdline() for process in find_processes(folder)}
    states = []
    for node in shape.nodes:
        mark = str(node.ui_port)
        pid = next((pid for pid, command in commands.items() if mark in command), None)
        states.append(
            SparkStatus(
                name=node.name,
                port=node.port,
                ui=node.ui,
                state=BrokerState.ORPHANED if pid else BrokerState.STOPPED,
                pid=pid,
            )
        )
    return tuple(states)


def new_spark_shape(*, workers: int, heap_mb: int, before: SparkShape | None) -> SparkShape:
    """Return a cluster of `workers` workers; what was there before keeps its ports.

    A worker stands for a machine like this one as to cores: slots are not reserved, and two
    pipelines shall find room. Memory is shared out, as it can be used only once.
    """
    total_mb = psutil.virtual_memory().total // 1_000_000
    kept = before.workers[:workers] if before else ()
    fresh = free_ports(2 * (workers - len(kept) + 1))
    ports = [(fresh[2 * index], fresh[2 * index + 1]) for index in range(len(fresh) // 2)]
    added = [
        SparkNode(role=SparkRole.WORKER, number=number, port=port, ui_port=ui_port)
        for number, (port, ui_port) in enumerate(ports[1:], start=len(kept) + 1)
    ]
    return SparkShape(
        master=before.master if before else _master(*ports[0]),
        workers=(*kept, *added),
        cores=os.cpu_count() or 1,
        memory_mb=max(_LEAST_MEMORY_MB, total_mb // 2 // workers),
        heap_mb=heap_mb,
    )


def _master(port: int, ui_port: int) -> SparkNode:
    usual = is_free(MASTER_PORT) and is_free(MASTER_UI_PORT)
    node = SparkNode(role=SparkRole.MASTER, number=0, port=port, ui_port=ui_port)
    return replace(node, port=MASTER_PORT, ui_port=MASTER_UI_PORT) if usual else node


def _launch(settings: JavaSettings, emit: Emit) -> SparkLaunch:
    java = find_java(cache_dir=settings.cache_dir)
    # Executors get these jars with each application; here they make the class path that of
    # drivers, whose archive of classes then serves the cluster too.
    jars = spark_jars(ensure_jars(JarSet.SPARK, settings, emit, java))
    return SparkLaunch(
        java=java.executable,
        java_home=java.home,
        spark_home=spark_home(),
        jars=jars,
        options=MODULE_OPTIONS,
        archive=class_archive(settings.cache_dir, "spark", java, jars).path,
    )


def _check(folder: PlatformFolder, *, late: bool) -> None:
    """Give up waiting as soon as a process has ended: it would end again."""
    for node in ask(folder.load_contact(), Verb.STATUS).spark:
        if node.state is BrokerState.RESTARTING or late:
            reason = node.last_exit or f"not every worker has joined after {_READY_SECONDS} s"
            raise SparkStartError(node.name, reason=reason, log=folder.folders.log(node.name))


def _alive_workers(shape: SparkShape) -> int:
    """Return how many of these workers the master counts on; it has no way to tell us."""
    try:
        with urllib.request.urlopen(f"{shape.master.ui}/json/", timeout=5) as response:  # noqa: S310
            found = json.load(response)
    except (OSError, urllib.error.URLError, ValueError):
        return 0
    ports = {node.port for node in shape.workers}
    return sum(
        worker["state"] == "ALIVE" and worker["port"] in ports for worker in found["workers"]
    )
