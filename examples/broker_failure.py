"""A broker dies while records are written, and none is lost: what `make demo` shows.

Runs the `penstock` commands that a user would type, and prints each before it runs. The platform is
one of its own, in a temporary folder and on free ports, so that it disturbs nothing; it is gone at
the end, also after Ctrl-C. Ends with status 1 when a record is missing or came twice.
"""

import json
import os
import shlex
import signal
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable
from pathlib import Path
from types import FrameType
from typing import Any, NoReturn

PENSTOCK = str(Path(sys.executable).with_name("penstock"))
TOPIC = "orders"
DEAD_BROKER = "2"
PARTITIONS = 3
BEFORE, DURING = 10_000, 20_000
# Slow enough that the cluster notices the broker's death, after 6 s, while the second lot is sent.
RECORDS_PER_SECOND = 1_500
NOTICE_SECONDS = 30


def main() -> int:
    """Run the demonstration in a folder of its own."""
    on_interruption(signal.default_int_handler)
    started = time.monotonic()
    complete, verdict = False, "FAILED"
    with tempfile.TemporaryDirectory(prefix="penstock-demo-") as folder:
        demo = Demo(Path(folder))
        try:
            complete = demo.run()
        except subprocess.CalledProcessError as err:
            verdict = f"FAILED: a command ended with status {err.returncode}"
        except KeyboardInterrupt:
            verdict = "stopped before the end"
        finally:
            # A second Ctrl-C must not leave brokers behind.
            on_interruption(signal.SIG_IGN)
            demo.stop()
    if complete:
        verdict = "every record arrived once"
    say(f"{verdict}, after {time.monotonic() - started:.0f} s")
    return 0 if complete else 1


class Demo:
    """The steps, on a platform named `demo` whose data is below `folder`."""

    def __init__(self, folder: Path) -> None:
        # Not the folder that one stands in: it may have a `penstock.toml` for other clusters.
        self.folder = folder
        self.producers: list[subprocess.Popen[bytes]] = []
        # Nor the cluster that one works with: all settings but those of Java are this script's.
        self.environment = {
            **{name: os.environ[name] for name in os.environ if not is_ours_to_set(name)},
            "PENSTOCK_PLATFORM_NAME": "demo",
            "PENSTOCK_PLATFORM_DATA_DIR": str(folder),
            "PENSTOCK_PLATFORM_PORT": "0",
        }

    def run(self) -> bool:
        """Return whether every record that was sent is in the topic, once."""
        say("A real Kafka with three brokers, without Docker:")
        self.command("up", "--brokers", "3")
        self.command("topics", "create", TOPIC, "--partitions", str(PARTITIONS))
        say(f"Write {BEFORE:,} records, and look at three of them:")
        finish(self.produce(range(BEFORE)))
        self.command("consume", TOPIC, "--from", "beginning", "--limit", "3")
        self.lose_a_broker()
        return self.check_records()

    def lose_a_broker(self) -> None:
        """Kill a broker in the middle of writing, and start it again when all is written."""
        say(f"Write {DURING:,} more, and kill broker {DEAD_BROKER} meanwhile:")
        lot = range(BEFORE, BEFORE + DURING)
        producer = self.produce(lot, "--rate", str(RECORDS_PER_SECOND))
        self.command("platform", "broker", "kill", DEAD_BROKER)
        self.await_under_replicated(PARTITIONS)
        self.command("topics", "list")
        say("Every partition lacks a replica, and the writing goes on:")
        finish(producer)
        say("Start the broker again; it catches up by itself:")
        self.command("platform", "broker", "start", DEAD_BROKER)
        self.await_under_replicated(0)
        self.command("topics", "list")

    def stop(self) -> None:
        """End whatever still runs; the data goes with the folder."""
        for producer in self.producers:
            producer.kill()
            producer.wait()
        say("Stop everything, and remove the data of this demonstration:")
        self.command("down", "--delete-data", "--yes")

    def check_records(self) -> bool:
        """Read the whole topic and compare it with what was sent."""
        sent = {str(number) for number in range(BEFORE + DURING)}
        say("Read everything back:")
        records = self.read()
        missing, twice = len(sent - set(records)), len(records) - len(set(records))
        print(f"{len(records):,} records read, {missing} missing, {twice} twice", flush=True)
        return missing == 0 and twice == 0

    def command(self, *arguments: str) -> None:
        """Print a command, then run it."""
        show(arguments)
        subprocess.run([PENSTOCK, *arguments], cwd=self.folder, env=self.environment, check=True)

    def produce(self, numbers: range, *options: str) -> subprocess.Popen[bytes]:
        """Start a producer that sends `numbers` as lines of a file."""
        arguments = ("produce", TOPIC, *options)
        show(arguments, source=f"seq {numbers.start} {numbers.stop - 1}")
        with tempfile.TemporaryFile("w+") as lines:
            lines.writelines(f"{number}\n" for number in numbers)
            lines.seek(0)
            producer = subprocess.Popen(
                [PENSTOCK, *arguments], cwd=self.folder, env=self.environment, stdin=lines
            )
        self.producers.append(producer)
        return producer

    def read(self) -> list[str]:
        """Return the values of all records that the topic has."""
        arguments = ("consume", TOPIC)
        show(arguments, sink="sort | uniq | wc -l")
        return self.output(*arguments).splitlines()

    def await_under_replicated(self, count: int) -> None:
        """Return when `count` partitions lack a replica."""
        deadline = time.monotonic() + NOTICE_SECONDS
        while json.loads(self.output("topics", "list", "--json"))[0]["under_replicated"] != count:
            if time.monotonic() > deadline:
                fail(f"{count} under-replicated partitions were expected by now")

    def output(self, *arguments: str) -> str:
        """Run a command without showing it, and return what it prints."""
        done = subprocess.run(
            [PENSTOCK, *arguments],
            cwd=self.folder,
            env=self.environment,
            stdout=subprocess.PIPE,
            check=True,
        )
        return done.stdout.decode()


def is_ours_to_set(variable: str) -> bool:
    """Say whether an environment variable would lead the commands somewhere else."""
    return variable.startswith("PENSTOCK_") and not variable.startswith("PENSTOCK_JAVA_")


def on_interruption(reaction: Callable[[int, FrameType | None], Any] | signal.Handlers) -> None:
    """Treat a closed terminal and a polite kill like Ctrl-C."""
    for interruption in (signal.SIGINT, signal.SIGTERM, signal.SIGHUP):
        signal.signal(interruption, reaction)


def finish(producer: subprocess.Popen[bytes]) -> None:
    """Wait for a producer, whose exit status says whether every record was acknowledged."""
    if producer.wait() != 0:
        fail("not every record was acknowledged")


def fail(reason: str) -> NoReturn:
    """End the demonstration; `main` still cleans up."""
    say(f"FAILED: {reason}")
    sys.exit(1)


def show(arguments: tuple[str, ...], *, source: str = "", sink: str = "") -> None:
    """Print a command as one would type it."""
    stages = (source, shlex.join(["penstock", *arguments]), sink)
    print(styled(f"$ {' | '.join(stage for stage in stages if stage)}", code=36), flush=True)


def say(line: str) -> None:
    """Print a sentence of the story."""
    print(f"\n{styled(line, code=1)}", flush=True)


def styled(text: str, *, code: int) -> str:
    """Return `text` in a terminal's style; plain when piped or when the user wants no color."""
    if not sys.stdout.isatty() or "NO_COLOR" in os.environ:
        return text
    return f"\033[{code}m{text}\033[0m"


if __name__ == "__main__":
    sys.exit(main())
