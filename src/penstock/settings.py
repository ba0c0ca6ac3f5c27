"""Settings: where a value comes from, and the typed result the rest of Penstock works with.

Precedence: command line, environment (`PENSTOCK_<KEY>`), the chosen profile in `penstock.toml`,
its `[platform]` and `[java]` tables, defaults. Unknown keys and variables are errors that name
the nearest known one. Secrets may be written as `${env:NAME}` or `${file:PATH}`.
"""

import os
import tomllib
from collections.abc import Mapping
from dataclasses import dataclass, fields
from pathlib import Path
from typing import Literal, TypeVar

from pydantic import BaseModel, ConfigDict, Field, SecretStr, ValidationError

from penstock.errors import Origin, UsageError
from penstock.names import PlatformName, nearest

FILE_NAME = "penstock.toml"
ENVIRONMENT_PREFIX = "PENSTOCK_"
DEFAULT_PROFILE = "local"
MASK = "********"

Entry = TypeVar("Entry", bound=BaseModel)


class SettingsFileError(UsageError):
    """`penstock.toml` cannot be read as TOML."""

    code = "PEN-001"

    def __init__(self, path: Path, *, reason: str) -> None:
        super().__init__(
            f"`{path.name}` cannot be read: {reason}",
            hint="correct the file; `penstock config show` prints what was understood",
            origin=Origin(path),
        )


class UnknownSettingError(UsageError):
    """A key, a table or an environment variable that Penstock does not know."""

    code = "PEN-002"

    def __init__(self, key: str, *, known: list[str], origin: Origin | None) -> None:
        close = nearest(key, known)
        hint = f"did you mean `{close}`?" if close else f"known are: {', '.join(sorted(known))}"
        super().__init__(f"`{key}` is not a setting", hint=hint, origin=origin)
        self.key = key


class InvalidSettingError(UsageError):
    """A setting has a value it cannot have."""

    code = "PEN-003"

    def __init__(self, key: str, *, reason: str, source: str) -> None:
        super().__init__(
            f"`{key}` from {source} is not valid: {reason}",
            hint=f"change `{key}` there; `penstock config show` says where each value came from",
        )
        self.key = key


class UnknownProfileError(UsageError):
    """The chosen profile is not in `penstock.toml`."""

    code = "PEN-004"

    def __init__(self, profile: str, *, known: list[str], path: Path | None) -> None:
        where = f"`{path}` has {', '.join(f'`{name}`' for name in known) or 'no profiles'}"
        searched = where if path else f"no `{FILE_NAME}` in this folder or above"
        close = nearest(profile, known)
        super().__init__(
            f"profile `{profile}` does not exist: {searched}",
            hint=f"did you mean `{close}`?" if close else f"add [profiles.{profile}] there",
            origin=Origin(path) if path else None,
        )


class SecretNotFoundError(UsageError):
    """A `${env:…}` or `${file:…}` reference leads nowhere."""

    code = "PEN-005"

    def __init__(self, key: str, *, reference: str) -> None:
        super().__init__(
            f"`{key}` refers to `{reference}`, which does not exist",
            hint="set the variable or write the file, readable by you alone",
        )


class ClusterEntry(BaseModel):
    """The keys of one `[profiles.NAME]` table: how to reach a Kafka cluster."""

    model_config = ConfigDict(extra="forbid")
    bootstrap: str | None = Field(None, description="host:port list; default: the local platform")
    security_protocol: Literal["PLAINTEXT", "SSL", "SASL_PLAINTEXT", "SASL_SSL"] = "PLAINTEXT"
    sasl_mechanism: Literal["PLAIN", "SCRAM-SHA-256", "SCRAM-SHA-512"] | None = None
    sasl_username: str | None = None
    sasl_password: SecretStr | None = None
    ssl_ca: Path | None = Field(None, description="PEM file with the authorities to trust")
    ssl_certificate: Path | None = Field(None, description="PEM file with the client certificate")
    ssl_key: Path | None = Field(None, description="PEM file with the client's private key")
    ssl_key_password: SecretStr | None = None
    request_timeout_seconds: float = Field(10.0, gt=0, description="how long a request may take")


class PlatformEntry(BaseModel):
    """The keys of the `[platform]` table: Kafka on this machine."""

    model_config = ConfigDict(extra="forbid")
    name: str = Field("local", pattern=r"^[a-z0-9][a-z0-9-]{0,30}$")
    brokers: Literal[1, 3] = 1
    port: int | None = Field(None, ge=0, le=65000, description="of the first broker; 0: any free")
    heap_mb: int = Field(192, ge=128, description="Java heap of each broker")
    data_dir: Path | None = Field(None, description="where platforms keep their data")


class JavaEntry(BaseModel):
    """The keys of the `[java]` table: where jars come from and go to."""

    model_config = ConfigDict(extra="forbid")
    cache_dir: Path | None = Field(None, description="where jars are kept")
    ivy_settings: Path | None = Field(None, description="Ivy settings file of a mirror or proxy")


@dataclass(frozen=True, slots=True, kw_only=True)
class ClusterSettings:
    """How to reach a Kafka cluster. `bootstrap` None means the local platform."""

    bootstrap: str | None = None
    security_protocol: str = "PLAINTEXT"
    sasl_mechanism: str | None = None
    sasl_username: str | None = None
    sasl_password: SecretStr | None = None
    ssl_ca: Path | None = None
    ssl_certificate: Path | None = None
    ssl_key: Path | None = None
    ssl_key_password: SecretStr | None = None
    request_timeout_seconds: float = 10.0


@dataclass(frozen=True, slots=True, kw_only=True)
class PlatformSettings:
    """The platform on this machine."""

    name: PlatformName
    brokers: int
    port: int | None
    heap_mb: int
    data_dir: Path


@dataclass(frozen=True, slots=True, kw_only=True)
class JavaSettings:
    """Where jars are kept and how Ivy finds them."""

    cache_dir: Path
    ivy_settings: Path | None


@dataclass(frozen=True, slots=True, kw_only=True)
class Resolved:
    """One setting with its value, ready to show, and where the value came from."""

    key: str
    value: object
    source: str
    secret: bool


@dataclass(frozen=True, slots=True, kw_only=True)
class Settings:
    """Everything that was configured, and the provenance of each value."""

    profile: str
    cluster: ClusterSettings
    platform: PlatformSettings
    java: JavaSettings
    resolved: tuple[Resolved, ...]


def default_data_dir(environ: Mapping[str, str] = os.environ) -> Path:
    """Return the folder for data that must survive, by the XDG convention."""
    return Path(environ.get("XDG_DATA_HOME") or Path.home() / ".local" / "share") / "penstock"


def default_cache_dir(environ: Mapping[str, str] = os.environ) -> Path:
    """Return the folder for what can be fetched again, by the XDG convention."""
    return Path(environ.get("XDG_CACHE_HOME") or Path.home() / ".cache") / "penstock"


def find_settings_file(start: Path) -> Path | None:
    """Return the `penstock.toml` of `start` or of the nearest folder above it."""
    candidates = (folder / FILE_NAME for folder in (start, *start.parents))
    return next((path for path in candidates if path.is_file()), None)


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
        UsageError: one of its subclasses above, for the first thing that is wrong.
    """
    path = find_settings_file(start or Path.cwd())
    document = _read_file(path) if path else {}
    layers = _Layers(path=path, document=document)
    layers.add_environment(environ)
    layers.add_command_line(overrides or {})
    profile = layers.choose_profile()
    cluster = layers.build("", ClusterEntry, _profile_table(document, profile, path))
    platform = layers.build("platform", PlatformEntry, _table(document, "platform", path))
    java = layers.build("java", JavaEntry, _table(document, "java", path))
    return Settings(
        profile=profile,
        cluster=ClusterSettings(
            **{f.name: getattr(cluster, f.name) for f in fields(ClusterSettings)}
        ),
        platform=PlatformSettings(
            name=PlatformName(platform.name),
            brokers=platform.brokers,
            port=platform.port,
            heap_mb=platform.heap_mb,
            data_dir=platform.data_dir or default_data_dir(environ),
        ),
        java=JavaSettings(
            cache_dir=java.cache_dir or default_cache_dir(environ), ivy_settings=java.ivy_settings
        ),
        resolved=tuple(layers.resolved),
    )


def environment_variable(key: str) -> str:
    """Return the variable that sets `key`: `platform.port` is `PENSTOCK_PLATFORM_PORT`."""
    return ENVIRONMENT_PREFIX + key.replace(".", "_").upper()


def known_keys() -> list[str]:
    """Return every key that a file, the environment or the command line may set."""
    return [
        "profile",
        *ClusterEntry.model_fields,
        *(f"platform.{name}" for name in PlatformEntry.model_fields),
        *(f"java.{name}" for name in JavaEntry.model_fields),
    ]


class _Layers:
    """The values given so far by key, each with its source; later layers win."""

    def __init__(self, *, path: Path | None, document: Mapping[str, object]) -> None:
        self.path = path
        self.document = document
        self.given: dict[str, tuple[object, str]] = {}
        self.resolved: list[Resolved] = []

    def add_environment(self, environ: Mapping[str, str]) -> None:
        keys = {environment_variable(key): key for key in known_keys()}
        for variable, value in environ.items():
            if not variable.startswith(ENVIRONMENT_PREFIX):
                continue
            if variable not in keys:
                raise UnknownSettingError(variable, known=list(keys), origin=None)
            self.given[keys[variable]] = (value, f"environment {variable}")

    def add_command_line(self, overrides: Mapping[str, object]) -> None:
        for key, value in overrides.items():
            if value is not None:
                self.given[key] = (value, "command line")

    def choose_profile(self) -> str:
        if "profile" in self.given:
            value, source = self.given["profile"]
        elif "profile" in self.document:
            value, source = self.document["profile"], str(self.path)
        else:
            value, source = DEFAULT_PROFILE, "default"
        profile = str(value)
        known = list(_table(self.document, "profiles", self.path))
        if profile not in known and profile != DEFAULT_PROFILE:
            raise UnknownProfileError(profile, known=known, path=self.path)
        self.resolved.append(Resolved(key="profile", value=profile, source=source, secret=False))
        return profile

    def build(self, prefix: str, model: type[Entry], table: Mapping[str, object]) -> Entry:
        values: dict[str, object] = {}
        sources: dict[str, str] = {}
        for name in model.model_fields:
            key = f"{prefix}.{name}" if prefix else name
            if key in self.given:
                values[name], sources[name] = self.given[key]
            elif name in table:
                values[name], sources[name] = table[name], str(self.path)
        values = {name: _dereferenced(name, value) for name, value in values.items()}
        entry = _validated(model, values, sources, prefix)
        for name in model.model_fields:
            value = getattr(entry, name)
            secret = isinstance(value, SecretStr)
            self.resolved.append(
                Resolved(
                    key=f"{prefix}.{name}" if prefix else name,
                    value=MASK if secret else value,
                    source=sources.get(name, "default"),
                    secret=secret,
                )
            )
        return entry


def _validated(
    model: type[Entry], values: Mapping[str, object], sources: Mapping[str, str], prefix: str
) -> Entry:
    try:
        return model.model_validate(values)
    except ValidationError as err:
        first = err.errors(include_input=False, include_url=False)[0]
        name = str(first["loc"][0])
        raise InvalidSettingError(
            f"{prefix}.{name}" if prefix else name,
            reason=first["msg"][0].lower() + first["msg"][1:],
            source=sources.get(name, "default"),
        ) from None


def _dereferenced(key: str, value: object) -> object:
    """Follow `${env:NAME}` and `${file:PATH}`; anything else is returned as it is."""
    if not isinstance(value, str) or not value.startswith("${") or not value.endswith("}"):
        return value
    kind, _, target = value[2:-1].partition(":")
    if kind == "env" and target in os.environ:
        return os.environ[target]
    if kind == "file" and Path(target).expanduser().is_file():
        return Path(target).expanduser().read_text(encoding="utf-8").strip()
    raise SecretNotFoundError(key, reference=value)


def _read_file(path: Path) -> dict[str, object]:
    try:
        document = tomllib.loads(path.read_text(encoding="utf-8"))
    except (tomllib.TOMLDecodeError, UnicodeDecodeError, OSError) as err:
        raise SettingsFileError(path, reason=str(err)) from err
    allowed: dict[str, type[BaseModel]] = {
        "platform": PlatformEntry,
        "java": JavaEntry,
    }
    for key in document:
        if key not in ("profile", "profiles", *allowed):
            raise UnknownSettingError(
                key, known=["profile", "profiles", *allowed], origin=Origin(path)
            )
    for name, model in allowed.items():
        _reject_unknown(_table(document, name, path), model, f"{name}.", path)
    for profile in _table(document, "profiles", path):
        _reject_unknown(
            _profile_table(document, profile, path), ClusterEntry, f"profiles.{profile}.", path
        )
    return document


def _reject_unknown(
    table: Mapping[str, object], model: type[BaseModel], prefix: str, path: Path
) -> None:
    for key in table:
        if key not in model.model_fields:
            raise UnknownSettingError(
                prefix + key,
                known=[prefix + name for name in model.model_fields],
                origin=Origin(path),
            )


def _table(document: Mapping[str, object], name: str, path: Path | None) -> Mapping[str, object]:
    table = document.get(name, {})
    if not isinstance(table, dict):
        raise InvalidSettingError(name, reason="must be a table", source=str(path))
    return table


def _profile_table(
    document: Mapping[str, object], profile: str, path: Path | None
) -> Mapping[str, object]:
    return _table(_table(document, "profiles", path), profile, path)
