"""Loading: what the file, the environment and the command line say, checked and with its source."""

import os
import tomllib
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any, TypeVar, cast, get_type_hints

from pydantic import SecretStr, TypeAdapter, ValidationError

from penstock.settings.alerts import AlertSettings, alert_entries, load_alerts
from penstock.settings.errors import (
    InvalidSettingError,
    InvalidValue,
    MissingSettingError,
    SecretNotFoundError,
    SettingsFileError,
    UnknownProfileError,
    UnknownSettingError,
)
from penstock.settings.masks import MaskSettings, shown_masks
from penstock.settings.model import (
    DEFAULT_PROFILE,
    ENVIRONMENT_PREFIX,
    ClusterSettings,
    ConsoleSettings,
    JavaSettings,
    PipelineSettings,
    PlatformSettings,
    RegistrySettings,
    Resolved,
    Setting,
    Settings,
    SparkSettings,
    data_location,
    default_cache_dir,
    default_data_dir,
    environment_variable,
    known_settings,
)
from penstock.settings.service_levels import ServiceLevel, shown_level
from penstock.settings.spark_conf import is_secret

FILE_NAME = "penstock.toml"
TABLES = ("platform", "java", "spark", "pipeline", "registry", "console")
"""Tables of the file beside the profiles."""

PROFILE_TABLES = ("spark", "registry", "console")
"""Those of them that a profile may have too, and then wins."""

MASKS = "console.masks"
SERVICE_LEVELS = "pipeline.service_levels"
ALERTS = "alerts"
"""The table of alerts, in the file and in profiles; `settings/alerts.py` knows what is in it."""

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
    for key, name in (("spark.checkpoint_root", "checkpoints"), ("spark.warehouse", "tables")):
        values.setdefault(key, data_location(cast("Path", values["platform.data_dir"]), name))
    cluster = _built(ClusterSettings, "", values)
    _require_sasl(cluster)
    alerts = _alerts(document, path, str(profile.value), environ)
    return Settings(
        file=path,
        profile=str(profile.value),
        cluster=cluster,
        platform=_built(PlatformSettings, "platform.", values),
        java=_built(JavaSettings, "java.", values),
        spark=_built(SparkSettings, "spark.", values),
        pipeline=_built(PipelineSettings, "pipeline.", values),
        registry=_built(RegistrySettings, "registry.", values),
        console=_built(ConsoleSettings, "console.", values),
        alerts=alerts,
        resolved=(
            *_resolved(given | {"profile": profile}, values),
            *_resolved_alerts(alerts, str(path)),
        ),
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
    for name in ("profiles", ALERTS, *TABLES):
        _require_table(document.get(name, {}), name, path)
    for name, table in document.get("profiles", {}).items():
        _require_table(table, f"profiles.{name}", path)
        for nested in (ALERTS, *PROFILE_TABLES):
            _require_table(table.get(nested, {}), f"profiles.{name}.{nested}", path)
    known = _known_places(document)
    unknown = [key for key in _keys(document) if key not in known]
    if unknown:
        raise UnknownSettingError(unknown, known=known, origin=path)
    return document


def _known_places(document: Mapping[str, Any]) -> set[str]:
    """Return the dotted names of all that may stand in the file."""
    profiles = {DEFAULT_PROFILE, *document.get("profiles", {})}
    places = {"profile", "profiles", ALERTS, *TABLES}
    nested_tables = (ALERTS, *PROFILE_TABLES)
    places |= {f"profiles.{name}.{nested}" for name in profiles for nested in nested_tables}
    for item in known_settings():
        places |= {place for name in profiles for place in _places(item.key, name)}
    return places


def _places(key: str, profile: str) -> Iterator[str]:
    """Yield where `key` may stand in the file."""
    if key == "profile" or "." in key:
        yield key
    if "." not in key or key.partition(".")[0] in PROFILE_TABLES:
        yield f"profiles.{profile}.{key}"


def _keys(document: Mapping[str, Any]) -> Iterator[str]:
    """Yield the dotted keys of a document whose tables have been checked."""
    for name, value in document.items():
        if name == "profiles":
            for profile, table in value.items():
                for key, item in table.items():
                    nested = [f".{inner}" for inner in item] if key in PROFILE_TABLES else [""]
                    yield from (f"{name}.{profile}.{key}{inner}" for inner in nested)
        elif name in TABLES:
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
    chosen = document.get("profiles", {}).get(profile, {})
    tables = {f"{name}.": document.get(name, {}) for name in TABLES}
    nested_tables = (ALERTS, *PROFILE_TABLES)
    tables[""] = {name: value for name, value in chosen.items() if name not in nested_tables}
    for name in PROFILE_TABLES:
        tables[f"{name}."] = _merged(tables[f"{name}."], chosen.get(name, {}))
    return {
        prefix + name: _Given(value=value, source=str(path), folder=path.parent)
        for prefix, table in tables.items()
        for name, value in table.items()
    }


def _merged(table: Mapping[str, Any], nearer: Mapping[str, Any]) -> dict[str, Any]:
    """Return `table` with the values of `nearer`, entry by entry where both are tables."""
    return dict(table) | {
        name: _merged(table[name], value)
        if isinstance(value, dict) and isinstance(table.get(name), dict)
        else value
        for name, value in nearer.items()
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
        value = _absolute(value, given)
    if setting.is_location and isinstance(value, str) and "://" not in value:
        return adapter.validate_strings(str(_absolute(value, given)) if value else value)
    # Numbers are numbers in the file; elsewhere, and behind a reference, everything is text.
    if isinstance(value, str) and (given.folder is None or value != given.value):
        return adapter.validate_strings(value)
    return adapter.validate_python(value, strict=True)


def _absolute(path: str, given: _Given) -> Path:
    return (given.folder or Path.cwd()) / Path(path).expanduser()


def _dereferenced(key: str, given: _Given, environ: Mapping[str, str]) -> object:
    """Follow `${env:NAME}` and `${file:PATH}`; anything else is returned as it is."""
    value = given.value
    if isinstance(value, dict):
        return {
            name: _dereferenced(f"{key}.{name}", replace(given, value=item), environ)
            for name, item in value.items()
        }
    if not isinstance(value, str) or not value.startswith("${") or not value.endswith("}"):
        return value
    kind, _, target = value[2:-1].partition(":")
    if kind == "env" and target in environ:
        return environ[target]
    if kind == "file":
        try:
            return _absolute(target, given).read_text(encoding="utf-8").strip()
        except (OSError, UnicodeDecodeError) as err:
            raise SecretNotFoundError(key, reference=value, source=given.source) from err
    raise SecretNotFoundError(key, reference=value, source=given.source)


def _alerts(
    document: Mapping[str, Any], path: Path | None, profile: str, environ: Mapping[str, str]
) -> AlertSettings:
    if path is None:
        return AlertSettings()
    folder = path.parent

    def dereferenced(key: str, value: object) -> object:
        given = _Given(value=value, source=str(path), folder=folder)
        return _dereferenced(key, given, environ)

    nearer = document.get("profiles", {}).get(profile, {}).get(ALERTS, {})
    return load_alerts(document.get(ALERTS, {}), nearer, path=path, dereferenced=dereferenced)


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
            value=_shown(setting, value),
            source=item.source,
            secret=setting.secret,
        )


def _resolved_alerts(alerts: AlertSettings, source: str) -> Iterator[Resolved]:
    for key, value in alert_entries(alerts):
        secret = isinstance(value, SecretStr)
        yield Resolved(key=key, value=MASK if secret else value, source=source, secret=secret)


def _shown(setting: Setting, value: object) -> object:
    if setting.is_conf and value:
        return shown_conf(cast("Mapping[str, str]", value))
    if setting.key == MASKS:
        return shown_masks(cast("tuple[MaskSettings, ...]", value or ()))
    if setting.key == SERVICE_LEVELS:
        return tuple(map(shown_level, cast("tuple[ServiceLevel, ...]", value or ())))
    return MASK if setting.secret and value is not None else value


def shown_conf(conf: Mapping[str, str]) -> dict[str, str]:
    """Return Spark's settings for people to see: without the values of secrets."""
    return {key: MASK if is_secret(key) else value for key, value in conf.items()}
