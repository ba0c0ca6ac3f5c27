"""What can be wrong with settings: the file, a key, a value, a profile, a reference."""

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from pathlib import Path

from penstock.errors import Origin, UsageError
from penstock.names import nearest


@dataclass(frozen=True, slots=True, kw_only=True)
class InvalidValue:
    """A setting whose value cannot be, why not, and where the value came from."""

    key: str
    reason: str
    source: str


class SettingsFileError(UsageError):
    """`penstock.toml` cannot be read as TOML."""

    code = "PEN-001"

    def __init__(self, path: Path, *, reason: str) -> None:
        super().__init__(
            f"`{path.name}` cannot be read: {reason}",
            hint="correct the file; `docs/settings.md` lists what may be in it",
            origin=Origin(path),
        )


class UnknownSettingError(UsageError):
    """Keys, tables or environment variables that Penstock does not know."""

    code = "PEN-002"

    def __init__(self, keys: Sequence[str], *, known: Iterable[str], origin: Path | None) -> None:
        known = sorted(known)
        names = ", ".join(f"`{key}`" for key in keys)
        close = [meant for meant in (_meant(key, known) for key in keys) if meant]
        super().__init__(
            f"{names} is not a setting" if len(keys) == 1 else f"{names} are not settings",
            hint=f"did you mean {', '.join(f'`{name}`' for name in close)}?"
            if close
            else "remove it; `penstock config show` lists the settings",
            origin=Origin(origin) if origin else None,
        )
        self.keys = tuple(keys)


class InvalidSettingError(UsageError):
    """Settings have values that they cannot have."""

    code = "PEN-003"

    def __init__(self, problems: Sequence[InvalidValue]) -> None:
        super().__init__(
            "; ".join(
                f"`{item.key}` from {item.source} is not valid: {item.reason}" for item in problems
            ),
            hint="change it there; `docs/settings.md` lists the settings and their values",
        )
        self.problems = tuple(problems)


class UnknownProfileError(UsageError):
    """The chosen profile is not in `penstock.toml`."""

    code = "PEN-004"

    def __init__(self, profile: str, *, known: Sequence[str], path: Path | None) -> None:
        names = ", ".join(f"`{name}`" for name in known) or "no profiles"
        searched = f"`{path}` has {names}" if path else "no `penstock.toml` here or above"
        close = nearest(profile, known)
        super().__init__(
            f"profile `{profile}` does not exist: {searched}",
            hint=f"did you mean `{close}`?"
            if close
            else f"add a table [profiles.{profile}] to `penstock.toml`",
            origin=Origin(path) if path else None,
        )
        self.profile = profile


class SecretNotFoundError(UsageError):
    """A `${env:…}` or `${file:…}` reference leads nowhere."""

    code = "PEN-005"

    def __init__(self, key: str, *, reference: str, source: str) -> None:
        super().__init__(
            f"`{key}` from {source} refers to `{reference}`, which cannot be read",
            hint="set the variable or write the file; references are `${env:NAME}` and "
            "`${file:PATH}`",
        )
        self.key, self.reference = key, reference


class MissingSettingError(UsageError):
    """Settings that another one makes necessary were given nowhere."""

    code = "PEN-006"

    def __init__(self, keys: Sequence[str], *, variables: Sequence[str], reason: str) -> None:
        names = ", ".join(f"`{key}`" for key in keys)
        super().__init__(
            f"{names} must be set, because {reason}",
            hint=f"add to the profile in `penstock.toml`, or set {', '.join(variables)}",
        )
        self.keys = tuple(keys)


def _meant(key: str, known: Sequence[str]) -> str | None:
    """Return the known key that `key` was meant to be: the same name elsewhere, or the nearest."""
    same_name = (name for name in known if name.rpartition(".")[2] == key)
    return next(same_name, None) or nearest(key, known)
