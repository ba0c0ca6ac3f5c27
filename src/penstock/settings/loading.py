"""Loading: what the file, the environment and the command line say, checked and with its source."""

import os
import tomllib
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any, TypeVar, get_type_hints

from pydantic import TypeAdapter, ValidationError

from penstock.settings.errors import (
    InvalidSettingError,
    InvalidValue,
    MissingSettingError,
    SecretNotFoundError,
    SettingsFileError,
    UnknownProfileError,
    UnknownSettingError,
)
from penstock.settings.model import (
    DEFAULT_PROFILE,
    ENVIRONMENT_PREFIX,
    ClusterSettings,
    JavaSettings,
    PlatformSettings,
    Resolved,
    Setting,
    Settings,
    default_cache_dir,
    default_data_dir,
    environment_variable,
    known_settings,
)

FILE_NAME = "penstock.toml"
MASK = "********"

Table = TypeVar("Table")


@dataclass(frozen=True, slots=True, kw_only=True)
class _Given:
    value: object
    source: str
    folder: Path | None = None
    """Where relative paths start; None: where the command runs."""


def load_settings(
    overrides: Mapping[str, object] | None = None,
    *,
    start: Path | None = None,
    environ: Mapping[str, str] = os.environ,
) -> Settings:
    """Read the file, the environment and `overrides` into one checked result.

    Args:
        overrides: values from the command line by key, such as `bootstrap` or `platform.port`;
            None means not given.
        start: the folder from which `penstock.toml` is searched upwards; default: this one.
        environ: the environment variables.

    Raises:
        UsageError: one of the subclasses in `settings/errors.py`. Problems of one kind are
            reported together.
    """
    path = find_settings_file(start or Path.cwd())
    document = _read_file(path) if path else {}
    nearer = _from_environment(environ) | _from_command_line(overrides or {})
    profile = _chosen_profile(document, path, nearer)
    given = _from_file(document, path, str(profile.value)) | nearer
    given.setdefault("platform.data_dir", _default(default_data_dir(environ)))
    given.setdefault("java.cache_dir", _default(default_cache_dir(environ)))
    values = _checked(given, environ)
    cluster = _built(ClusterSettings, "", values)
    _require_sasl(cluster)
    return Settings(
        file=path,
        profile=str(profile.value),
        cluster=cluster,
        platform=_built(PlatformSettings, "platform.", values),
        java=_built(JavaSettings, "java.", values),
        resolved=tuple(_resolved(given | {"profile": profile}, values)),
    )


def find_settings_file(start: Path) -> Path | None:
    """Return the `penstock.toml` of `start` or of the nearest folder above it."""
    candidates = (folder / FILE_NAME for folder in (start, *start.parents))
    return next((path for path in candidates if path.is_file()), None)


def _read_file(path: Path) -> dict[str, Any]:
    try:
        document = tomllib.loads(path.read_text(encoding="utf-8"))
    except (tomllib.TOMLDecodeError, UnicodeDecodeError, OSError) as err:
        raise SettingsFileError(path, reason=str(err)) from err
    places = {"profile", "profiles", "platform", "java"}
    for name in places - {"profile"}:
        _require_table(document.get(name, {}), name, path)
    for name, table in document.get("profiles", {}).items():
        _require_table(table, f"profiles.{name}", path)
    known = places | {_place(item.key, DEFAULT_PROFILE) for item in known_settings()}
    for name in document.get("profiles", {}):
        known |= {_place(item.key, name) for item in known_settings()}
    unknown = [key for key in _keys(document) if key not in known]
    if unknown:
        raise UnknownSettingError(unknown, known=known, origin=path)
    return document


def _place(key: str, profile: str) -> str:
    """Return where `key` stands in the file."""
    return key if key == "profile" or "." in key else f"profiles.{profile}.{key}"


def _keys(document: Mapping[str, Any]) -> Iterator[str]:
    """Yield the dotted keys of a document whose tables have been checked."""
    for name, value in document.items():
        if name == "profiles":
            yield from (f"{name}.{key}.{item}" for key, table in value.items() for item in table)
        elif name in ("platform", "java"):
            yield from (f"{name}.{item}" for item in value)
        else:
            yield name


def _require_table(value: object, name: str, path: Path) -> None:
    if not isinstance(value, dict):
        raise InvalidSettingError(
            [InvalidValue(key=name, reason="it must be a table", source=str(path))]
        )


def _from_file(document: Mapping[str, Any], path: Path | None, profile: str) -> dict[str, _Given]:
    if path is None:
        return {}
    cluster = document.get("profiles", {}).get(profile, {})
    tables = {"": cluster, "platform.": document.get("platform", {})}
    tables["java."] = document.get("java", {})
    return {
        prefix + name: _Given(value=value, source=str(path), folder=path.parent)
        for prefix, table in tables.items()
        for name, value in table.items()
    }


def _from_environment(environ: Mapping[str, str]) -> dict[str, _Given]:
    keys = {environment_variable(item.key): item.key for item in known_settings()}
    ours = {name: value for name, value in environ.items() if name.startswith(ENVIRONMENT_PREFIX)}
    unknown = [name for name in ours if name not in keys]
    if unknown:
        raise UnknownSettingError(unknown, known=keys, origin=None)
    return {
        keys[name]: _Given(value=value, source=f"environment {name}")
        for name, value in ours.items()
        if value  # an empty variable counts as unset, as shells treat it
    }


def _from_command_line(overrides: Mapping[str, object]) -> dict[str, _Given]:
    return {
        key: _Given(value=value, source="command line")
        for key, value in overrides.items()
        if value is not None
    }


def _default(value: object) -> _Given:
    return _Given(value=value, source="default")


def _chosen_profile(
    document: Mapping[str, Any], path: Path | None, nearer: Mapping[str, _Given]
) -> _Given:
    chosen = nearer.get("profile")
    if chosen is None and "profile" in document:
        chosen = _Given(value=document["profile"], source=str(path))
    chosen = chosen or _default(DEFAULT_PROFILE)
    if not isinstance(chosen.value, str):
        reason = "it must be the name of a profile"
        raise InvalidSettingError(
            [InvalidValue(key="profile", reason=reason, source=chosen.source)]
        )
    known = list(document.get("profiles", {}))
    if chosen.value not in (*known, DEFAULT_PROFILE):
        raise UnknownProfileError(chosen.value, known=known, path=path)
    return chosen


def _checked(given: Mapping[str, _Given], environ: Mapping[str, str]) -> dict[str, object]:
    """Return the given values by key, each of its setting's type."""
    values: dict[str, object] = {}
    problems: list[InvalidValue] = []
    for setting in known_settings():
        item = given.get(setting.key)
        if item is None:
            continue
        try:
            values[setting.key] = _value(setting, item, environ)
        except ValidationError as err:
            text = err.errors(include_input=False, include_url=False)[0]["msg"]
            text = text.removeprefix("Value error, ").replace("Input", "it", 1)
            problems.append(InvalidValue(key=setting.key, reason=text, source=item.source))
    if problems:
        raise InvalidSettingError(problems)
    return values


def _value(setting: Setting, given: _Given, environ: Mapping[str, str]) -> object:
    adapter: TypeAdapter[object] = TypeAdapter(setting.annotation)
    value = _dereferenced(setting.key, given, environ)
    if setting.is_path and isinstance(value, str):
        value = (given.folder or Path.cwd()) / Path(value).expanduser()
    # Numbers are numbers in the file; elsewhere, and behind a reference, everything is text.
    if isinstance(value, str) and (given.folder is None or value != given.value):
        return adapter.validate_strings(value)
    return adapter.validate_python(value, strict=True)


def _dereferenced(key: str, given: _Given, environ: Mapping[str, str]) -> object:
    """Follow `${env:NAME}` and `${file:PATH}`; anything else is returned as it is."""
    value = given.value
    if not isinstance(value, str) or not value.startswith("${") or not value.endswith("}"):
        return value
    kind, _, target = value[2:-1].partition(":")
    if kind == "env" and target in environ:
        return environ[target]
    if kind == "file":
        path = (given.folder or Path.cwd()) / Path(target).expanduser()
        try:
            return path.read_text(encoding="utf-8").strip()
        except (OSError, UnicodeDecodeError) as err:
            raise SecretNotFoundError(key, reference=value, source=given.source) from err
    raise SecretNotFoundError(key, reference=value, source=given.source)


def _built(table: type[Table], prefix: str, values: Mapping[str, object]) -> Table:
    """Return the settings of one table; what was not given takes its default."""
    names = get_type_hints(table)
    return table(**{name: values[prefix + name] for name in names if prefix + name in values})


def _require_sasl(cluster: ClusterSettings) -> None:
    if not cluster.security_protocol.startswith("SASL"):
        return
    needed = ("sasl_mechanism", "sasl_username", "sasl_password")
    missing = [key for key in needed if getattr(cluster, key) is None]
    if missing:
        raise MissingSettingError(
            missing,
            variables=[environment_variable(key) for key in missing],
            reason=f"`security_protocol` is `{cluster.security_protocol}`",
        )


def _resolved(given: Mapping[str, _Given], values: Mapping[str, object]) -> Iterator[Resolved]:
    for setting in known_settings():
        item = given.get(setting.key) or _default(setting.default)
        value = values.get(setting.key, item.value)
        yield Resolved(
            key=setting.key,
            value=MASK if setting.secret and value is not None else value,
            source=item.source,
            secret=setting.secret,
        )
