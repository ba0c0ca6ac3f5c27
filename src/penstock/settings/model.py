"""The settings there are: their types, defaults and meaning, said once for all who need them.

Loading, the error messages and the page `docs/settings.md` follow from these classes.
"""

import os
import re
from collections.abc import Iterator, Mapping
from dataclasses import MISSING, dataclass, field, fields
from functools import cache
from ipaddress import ip_network
from pathlib import Path
from typing import Annotated, Any, Literal, NewType, get_args, get_origin, get_type_hints

from pydantic import AfterValidator, BeforeValidator, Field, SecretStr

from penstock.names import PipelineName, PlatformName, TopicName
from penstock.settings.alerts import AlertSettings
from penstock.settings.masks import Masks
from penstock.settings.service_levels import ServiceLevels
from penstock.settings.spark_conf import SparkConf

ENVIRONMENT_PREFIX = "PENSTOCK_"
DEFAULT_PROFILE = "local"
DEFAULT_PLATFORM = PlatformName("local")
DEFAULT_SCHEMAS_TOPIC = TopicName("_schemas")


def default_data_dir(environ: Mapping[str, str] = os.environ) -> Path:
    """Return the folder for data that must survive, by the XDG convention."""
    return Path(environ.get("XDG_DATA_HOME") or Path.home() / ".local" / "share") / "penstock"


def default_cache_dir(environ: Mapping[str, str] = os.environ) -> Path:
    """Return the folder for what can be fetched again, by the XDG convention."""
    return Path(environ.get("XDG_CACHE_HOME") or Path.home() / ".cache") / "penstock"


def data_location(data_dir: Path, name: str) -> "Location":
    """Return where `name` is kept in the data folder."""
    return Location(str(data_dir.absolute() / name))


def _existing(path: Path) -> Path:
    if not path.is_file():
        reason = f"there is no file `{path}`"
        raise ValueError(reason)
    return path


def _one_or_three(count: int) -> int:
    if count not in (1, 3):
        reason = f"{count} is neither 1 nor 3"
        raise ValueError(reason)
    return count


def _known_master(master: str | None) -> str | None:
    known = r"local(\[(\*|[1-9]\d*)(, *[1-9]\d*)?\])?|(spark|k8s)://.+|yarn"
    if master is not None and not re.fullmatch(known, master):
        reason = f"`{master}` is neither `local[CORES]`, `spark://…`, `yarn` nor `k8s://…`"
        raise ValueError(reason)
    return master


def _web_address(url: str | None) -> str | None:
    if url is not None and not re.fullmatch(r"https?://[^/?#\s@]+(/[^?#\s]*)?", url):
        reason = f"`{url}` is not an address such as `http://127.0.0.1:8081`"
        raise ValueError(reason)
    return url.rstrip("/") if url else url


def _brokers_addresses(entries: tuple[str, ...]) -> tuple[str, ...]:
    for entry in entries:
        if not re.fullmatch(r"\d+=https?://[^\s@]+", entry):
            reason = f"`{entry}` is not like `1=http://kafka-1:7071/metrics`"
            raise ValueError(reason)
    return entries


def _networks(entries: tuple[str, ...]) -> tuple[str, ...]:
    for entry in entries:
        ip_network(entry)
    return entries


def _listed(value: object) -> object:
    """Let a list be written as text with commas, as in an environment variable."""
    if isinstance(value, str):
        return tuple(item.strip() for item in value.split(","))
    return tuple(value) if isinstance(value, list) else value


Location = NewType("Location", str)
"""A folder, absolute, or the URI of one, such as `s3a://bucket/checkpoints`."""

ExistingFile = Annotated[Path, AfterValidator(_existing)]


@dataclass(frozen=True, slots=True, kw_only=True)
class ClusterSettings:
    """How to reach a Kafka cluster: the keys of a `[profiles.NAME]` table."""

    bootstrap: Annotated[
        str | None, Field(min_length=1, description="`host:port` list; unset: the local platform")
    ] = None
    security_protocol: Annotated[
        Literal["PLAINTEXT", "SSL", "SASL_PLAINTEXT", "SASL_SSL"],
        Field(description="whether the connection is encrypted and who asks is proved"),
    ] = "PLAINTEXT"
    sasl_mechanism: Annotated[
        Literal["PLAIN", "SCRAM-SHA-256", "SCRAM-SHA-512"] | None,
        Field(description="how a SASL protocol proves who asks"),
    ] = None
    sasl_username: Annotated[str | None, Field(description="the user of a SASL protocol")] = None
    sasl_password: Annotated[SecretStr | None, Field(description="the user's password")] = None
    ssl_ca: Annotated[
        ExistingFile | None, Field(description="PEM file with the authorities to trust")
    ] = None
    ssl_certificate: Annotated[
        ExistingFile | None, Field(description="PEM file with the client certificate")
    ] = None
    ssl_key: Annotated[
        ExistingFile | None, Field(description="PEM file with the client's private key")
    ] = None
    ssl_key_password: Annotated[
        SecretStr | None, Field(description="the password of the private key")
    ] = None
    request_timeout_seconds: Annotated[
        float, Field(gt=0, le=3600, description="how long one request may take")
    ] = 10.0
    broker_metrics: Annotated[
        tuple[str, ...] | None,
        BeforeValidator(_listed),
        AfterValidator(_brokers_addresses),
        Field(
            description="`1=http://kafka-1:7071/metrics`, …: the JMX exporter of each broker; "
            "unset: those of the local platform"
        ),
    ] = None


@dataclass(frozen=True, slots=True, kw_only=True)
class PlatformSettings:
    """The platform on this machine: the keys of the `[platform]` table."""

    name: Annotated[
        PlatformName,
        Field(
            pattern=r"^[a-z0-9][a-z0-9-]{0,30}$",
            description="tells platforms that run side by side apart",
        ),
    ] = DEFAULT_PLATFORM
    brokers: Annotated[
        int, AfterValidator(_one_or_three), Field(description="how many brokers: 1 or 3")
    ] = 1
    port: Annotated[
        int | None, Field(ge=0, le=65000, description="of the first broker; 0: any free one")
    ] = None
    heap_mb: Annotated[int, Field(ge=128, description="Java heap of each broker")] = 192
    data_dir: Annotated[Path, Field(description="where platforms keep their data")] = field(
        default_factory=default_data_dir
    )


@dataclass(frozen=True, slots=True, kw_only=True)
class JavaSettings:
    """Where jars come from and go to: the keys of the `[java]` table."""

    cache_dir: Annotated[Path, Field(description="where jars are kept")] = field(
        default_factory=default_cache_dir
    )
    ivy_settings: Annotated[
        ExistingFile | None, Field(description="Ivy settings file of a mirror or proxy")
    ] = None


@dataclass(frozen=True, slots=True, kw_only=True)
class SparkSettings:
    """Where and how Spark runs: the keys of `[spark]`; those of `[profiles.NAME.spark]` win."""

    master: Annotated[
        str | None,
        AfterValidator(_known_master),
        Field(
            description="`local[4,4]`, `spark://…`, `yarn`, `k8s://…`; unset: all cores of this "
            "machine",
        ),
    ] = None
    driver_memory_mb: Annotated[int, Field(ge=512, description="Java heap of the driver")] = 2048
    checkpoint_root: Annotated[
        Location, Field(min_length=1, description="folder or URI of checkpoints")
    ] = field(default_factory=lambda: data_location(default_data_dir(), "checkpoints"))
    warehouse: Annotated[Location, Field(min_length=1, description="folder or URI of tables")] = (
        field(default_factory=lambda: data_location(default_data_dir(), "tables"))
    )
    conf: Annotated[
        SparkConf,
        Field(description="Spark's own settings: see `penstock config show --spark`"),
    ] = field(default_factory=dict)


@dataclass(frozen=True, slots=True, kw_only=True)
class PipelineSettings:
    """What a project's pipeline is called and made of: the keys of the `[pipeline]` table."""

    name: Annotated[
        PipelineName | None,
        Field(
            pattern=r"^[a-z][a-z0-9_-]*$",
            max_length=100,
            description="of topics, groups and checkpoints; unset: that of the project's folder",
        ),
    ] = None
    files: Annotated[
        tuple[str, ...],
        BeforeValidator(_listed),
        Field(min_length=1, description="patterns of the files with declarations"),
    ] = ("flows.py", "flows/**/*.py")
    restart_limit: Annotated[
        int, Field(ge=0, description="failures after which a flow is not started again")
    ] = 5
    restart_window_seconds: Annotated[
        float, Field(gt=0, description="the time in which failures are counted")
    ] = 600.0
    driver_restart_limit: Annotated[
        int, Field(ge=0, description="ends after which a detached driver is not started again")
    ] = 5
    driver_restart_window_seconds: Annotated[
        float, Field(gt=0, description="the time in which ends of a detached driver are counted")
    ] = 600.0
    health_port: Annotated[
        int | None,
        Field(
            ge=0, le=65535, description="serves `/health`, `/ready` and `/metrics`; 0: any free one"
        ),
    ] = None
    health_host: Annotated[
        str,
        Field(min_length=1, description="the address to serve them on; a container: `0.0.0.0`"),
    ] = "127.0.0.1"
    service_levels: Annotated[
        ServiceLevels,
        Field(description="what the pipeline promises: tables `[[pipeline.service_levels]]`"),
    ] = ()


@dataclass(frozen=True, slots=True, kw_only=True)
class RegistrySettings:
    """The schema registry, as its clients and as its server know it: the keys of `[registry]`.

    Those of `[profiles.NAME.registry]` win.
    """

    url: Annotated[
        str | None,
        AfterValidator(_web_address),
        Field(description="where clients find it; unset: that of the local platform"),
    ] = None
    username: Annotated[str | None, Field(min_length=1, description="the user of clients")] = None
    password: Annotated[SecretStr | None, Field(description="that user's password")] = None
    ca: Annotated[
        ExistingFile | None,
        Field(description="PEM file with the authorities to trust; unset: those of the system"),
    ] = None
    register: Annotated[
        bool | None,
        Field(
            description="whether flows register schemas that they write with; "
            "unset: only with the local platform"
        ),
    ] = None
    port: Annotated[
        int | None,
        Field(ge=0, le=65535, description="to serve on; 0: any free one; unset: 8081 if free"),
    ] = None
    host: Annotated[
        str, Field(min_length=1, description="the address to serve on; a container: `0.0.0.0`")
    ] = "127.0.0.1"
    advertised_url: Annotated[
        str | None,
        AfterValidator(_web_address),
        Field(description="where other instances find this one; unset: host and port"),
    ] = None
    topic: Annotated[
        TopicName, Field(min_length=1, description="where schemas are kept, in Confluent's format")
    ] = DEFAULT_SCHEMAS_TOPIC
    users: Annotated[
        ExistingFile | None,
        Field(description="who may ask: lines from `penstock registry user`; unset: everybody"),
    ] = None
    certificate: Annotated[
        ExistingFile | None, Field(description="PEM file to serve HTTPS with; unset: HTTP")
    ] = None
    key: Annotated[
        ExistingFile | None, Field(description="PEM file with the private key of the certificate")
    ] = None


@dataclass(frozen=True, slots=True, kw_only=True)
class ConsoleSettings:
    """The web console: the keys of `[console]`; those of `[profiles.NAME.console]` win."""

    port: Annotated[
        int | None,
        Field(ge=0, le=65535, description="to serve on; 0: any free one; unset: 8090 if free"),
    ] = None
    host: Annotated[
        str, Field(min_length=1, description="the address to serve on; others need `console.users`")
    ] = "127.0.0.1"
    users: Annotated[
        ExistingFile | None,
        Field(description="who may enter, and as what: lines from `penstock console user`"),
    ] = None
    certificate: Annotated[
        ExistingFile | None, Field(description="PEM file to serve HTTPS with; unset: HTTP")
    ] = None
    key: Annotated[
        ExistingFile | None, Field(description="PEM file with the private key of the certificate")
    ] = None
    https_proxies: Annotated[
        tuple[str, ...],
        BeforeValidator(_listed),
        AfterValidator(_networks),
        Field(
            description="addresses of proxies that serve HTTPS in front of it and say in "
            "`X-Forwarded-For` who asks"
        ),
    ] = ()
    masks: Annotated[
        Masks,
        Field(description="what of records only some may see: tables `[[console.masks]]`"),
    ] = ()


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

    file: Path | None
    profile: str
    cluster: ClusterSettings
    platform: PlatformSettings
    java: JavaSettings
    spark: SparkSettings
    pipeline: PipelineSettings
    registry: RegistrySettings
    console: ConsoleSettings
    alerts: AlertSettings
    resolved: tuple[Resolved, ...]


@dataclass(frozen=True, slots=True, kw_only=True)
class Setting:
    """A key that may be set: what it means, and what its values are."""

    key: str
    description: str
    default: object
    """None when there is no default, or when it depends on the user's home."""

    annotation: Any
    secret: bool = False
    is_path: bool = False
    is_location: bool = False
    is_conf: bool = False


def environment_variable(key: str) -> str:
    """Return the variable that sets `key`: `platform.port` is `PENSTOCK_PLATFORM_PORT`."""
    return ENVIRONMENT_PREFIX + key.replace(".", "_").upper()


@cache
def known_settings() -> tuple[Setting, ...]:
    """Return every key that a file, the environment or the command line may set."""
    profile = Setting(
        key="profile",
        description="the profile to use",
        default=DEFAULT_PROFILE,
        annotation=str,
    )
    return (
        profile,
        *_settings_of(ClusterSettings, ""),
        *_settings_of(PlatformSettings, "platform."),
        *_settings_of(JavaSettings, "java."),
        *_settings_of(SparkSettings, "spark."),
        *_settings_of(PipelineSettings, "pipeline."),
        *_settings_of(RegistrySettings, "registry."),
        *_settings_of(ConsoleSettings, "console."),
    )


def _settings_of(table: type, prefix: str) -> Iterator[Setting]:
    annotations, types = get_type_hints(table, include_extras=True), get_type_hints(table)
    for item in fields(table):
        annotation = annotations[item.name]
        kinds = {types[item.name], *get_args(types[item.name])}
        described = next(x for x in annotation.__metadata__ if getattr(x, "description", None))
        yield Setting(
            key=prefix + item.name,
            description=described.description,
            default=None if item.default is MISSING or item.default == () else item.default,
            annotation=annotation,
            secret=SecretStr in kinds,
            is_path=Path in kinds,
            is_location=Location in kinds,
            is_conf=get_origin(types[item.name]) is Mapping,
        )
