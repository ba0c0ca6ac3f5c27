"""Levels that go back by themselves, with loggers that only remember what they were told."""

from __future__ import annotations

from dataclasses import dataclass, field

from penstock.control.commands import LogLevel, SetLogLevel
from penstock.control.log_levels import LogLevels
from penstock.engine.log_levels import FormerLevel
from support.waiting import eventually

KAFKA = "org.apache.kafka"


@dataclass
class Noted:
    """Loggers that write warnings, and one that has a level of its own."""

    levels: dict[str, str] = field(default_factory=lambda: {"own": "error"})

    def level_of(self, logger: str) -> FormerLevel:
        own = self.levels.get(logger)
        return FormerLevel(logger=logger, own=own, effective=own or "warn")

    def change(self, logger: str, level: str) -> None:
        self.levels[logger] = level

    def restore(self, former: FormerLevel) -> None:
        del self.levels[former.logger]
        if former.own is not None:
            self.levels[former.logger] = former.own


def level(logger: str, to: LogLevel, seconds: float) -> SetLogLevel:
    return SetLogLevel(logger=logger, level=to, for_seconds=seconds)


def test_a_level_goes_back_by_itself_to_none_or_to_its_own() -> None:
    loggers = Noted()
    with LogLevels(loggers) as levels:
        said = levels.set(level(KAFKA, LogLevel.DEBUG, 1))
        levels.set(level("own", LogLevel.TRACE, 1))
        meanwhile = dict(loggers.levels)
        eventually(lambda: loggers.levels == {"own": "error"}, within_seconds=30)

    assert meanwhile == {KAFKA: "debug", "own": "trace"}
    assert said.startswith(f"logger `{KAFKA}` writes `debug` until ")
    assert said.endswith(" UTC, then `warn` again")


def test_setting_it_again_replaces_the_level_and_its_end_and_it_still_goes_back_to_the_first() -> (
    None
):
    loggers = Noted()
    with LogLevels(loggers) as levels:
        levels.set(level("own", LogLevel.DEBUG, 1))
        said = levels.set(level("own", LogLevel.TRACE, 600))
        other = levels.set(level(KAFKA, LogLevel.DEBUG, 0.3))
        # It was changed after the first and for longer, so the first has had its time.
        eventually(lambda: KAFKA not in loggers.levels, within_seconds=5)
        kept = dict(loggers.levels)
        levels.set(level("own", LogLevel.INFO, 0.1))
        eventually(lambda: loggers.levels == {"own": "error"}, within_seconds=30)

    assert kept == {"own": "trace"}
    assert said.endswith("then `error` again")
    assert other.endswith("then `warn` again")
