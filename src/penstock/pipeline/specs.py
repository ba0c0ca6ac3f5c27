"""The spec of a Spark Declarative Pipeline: `spark-pipeline.yml`, read as Spark's own command does.

Its fields are Spark's. What Penstock adds to such a project is in `penstock.toml` beside it.
"""

from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import NoReturn

from penstock.errors import Origin, UsageError
from penstock.pipeline.yaml_subset import (
    YamlError,
    YamlList,
    YamlMap,
    YamlNode,
    YamlScalar,
    read_yaml,
)
from penstock.settings import OWNED_SPARK_SETTINGS

SPEC_FILES = ("spark-pipeline.yml", "spark-pipeline.yaml")

_FIELDS = ("name", "storage", "catalog", "database", "schema", "configuration", "libraries")
_MAGIC = frozenset("*?[")


class SpecNotReadError(UsageError):
    """A pipeline spec is not YAML, or not of the kind that specs are written in."""

    code = "PEN-114"

    def __init__(self, reason: str, *, origin: Origin) -> None:
        super().__init__(
            f"`{origin.file.name}` cannot be read: {reason}",
            hint="a spec has maps, lists, texts, quotes and comments; see"
            " `docs/declarative-pipelines.md`",
            origin=origin,
        )


class SpecFieldError(UsageError):
    """A field of a pipeline spec is missing, unknown or wrong."""

    code = "PEN-115"

    def __init__(self, reason: str, *, origin: Origin) -> None:
        super().__init__(
            f"`{origin.file.name}`: {reason}",
            hint=f"the fields are {', '.join(f'`{name}`' for name in _FIELDS)}; `name` and"
            " `storage` must be there",
            origin=origin,
        )


class SeveralSpecsError(UsageError):
    """A folder has two pipeline specs."""

    code = "PEN-116"

    def __init__(self, folder: Path) -> None:
        super().__init__(
            f"`{folder}` holds both {' and '.join(f'`{name}`' for name in SPEC_FILES)}",
            hint="remove one of them",
        )


@dataclass(frozen=True, slots=True, kw_only=True)
class Library:
    """A file, or all files below a folder, that hold definitions."""

    glob: str
    origin: Origin


@dataclass(frozen=True, slots=True, kw_only=True)
class PipelineSpec:
    """What a pipeline spec says."""

    file: Path
    name: str
    storage: str
    """Where checkpoints are kept: a URI."""

    catalog: str | None
    database: str | None
    configuration: Mapping[str, str]
    """Spark settings of the whole pipeline."""

    libraries: tuple[Library, ...]
    catalog_origin: Origin

    def spark_conf(self) -> dict[str, str]:
        """Return what is configured for Spark itself.

        Raises:
            SpecFieldError: a setting is Penstock's to make.
        """
        for key in self.configuration:
            if key in OWNED_SPARK_SETTINGS:
                instead = OWNED_SPARK_SETTINGS[key]
                reason = f"`{key}` in `configuration` is Penstock's to set; set {instead}"
                raise SpecFieldError(reason, origin=Origin(self.file))
        return {k: value for k, value in self.configuration.items() if k.startswith("spark.")}

    @property
    def folder(self) -> Path:
        """The project."""
        return self.file.parent


def find_spec(folder: Path) -> Path | None:
    """Return the pipeline spec in `folder`, None when there is none.

    Raises:
        SeveralSpecsError: there are two.
    """
    found = [folder / name for name in SPEC_FILES if (folder / name).is_file()]
    if len(found) > 1:
        raise SeveralSpecsError(folder)
    return found[0] if found else None


def load_spec(file: Path) -> PipelineSpec:
    """Return what the pipeline spec `file` says.

    Raises:
        SpecNotReadError: it is not YAML of the kind that specs are written in.
        SpecFieldError: a field is missing, unknown or wrong.
    """
    try:
        document = read_yaml(file.read_text(encoding="utf-8"))
    except YamlError as err:
        raise SpecNotReadError(err.reason, origin=Origin(file, err.line)) from err
    except (OSError, UnicodeDecodeError) as err:
        raise SpecNotReadError(str(err), origin=Origin(file)) from err
    return _Fields(file, document).spec()


class _Fields:
    """The fields of a document, each checked when it is asked for."""

    def __init__(self, file: Path, document: YamlNode) -> None:
        self._file = file
        if not isinstance(document, YamlMap):
            self._refuse("it is not a map of fields", document.line)
        self._entries = {entry.key: entry for entry in document.entries}
        for entry in document.entries:
            if entry.key not in _FIELDS:
                self._refuse(f"there is no field `{entry.key}`", entry.line)

    def spec(self) -> PipelineSpec:
        database = self._text("database")
        return PipelineSpec(
            file=self._file,
            name=self._required("name"),
            storage=self._storage(),
            catalog=self._text("catalog"),
            database=self._text("schema") if database is None else database,
            configuration=self._configuration(),
            libraries=tuple(self._libraries()),
            catalog_origin=self._origin("catalog"),
        )

    def _refuse(self, reason: str, line: int | None) -> NoReturn:
        raise SpecFieldError(reason, origin=Origin(self._file, line))

    def _origin(self, field: str) -> Origin:
        entry = self._entries.get(field)
        return Origin(self._file, entry.line if entry else None)

    def _required(self, field: str) -> str:
        value = self._text(field)
        if value is None:
            self._refuse(f"the field `{field}` is missing", self._origin(field).line)
        return value

    def _text(self, field: str) -> str | None:
        entry = self._entries.get(field)
        if entry is None:
            return None
        return self._as_text(f"`{field}`", entry.value)

    def _as_text(self, what: str, node: YamlNode) -> str:
        if not isinstance(node, YamlScalar) or not isinstance(node.value, str):
            found = node.value if isinstance(node, YamlScalar) else type(node).__name__[4:].lower()
            self._refuse(
                f"{what} is `{found}`, expected a text; numbers have to be put in quotes", node.line
            )
        return node.value

    def _storage(self) -> str:
        storage = self._required("storage")
        scheme, colon, rest = storage.partition(":")
        if not colon or not scheme or not rest.startswith("/"):
            self._refuse(
                f"`storage` is `{storage}`, expected an absolute URI such as `file:///data/shop`",
                self._entries["storage"].line,
            )
        return storage

    def _configuration(self) -> dict[str, str]:
        entry = self._entries.get("configuration")
        if entry is None:
            return {}
        if not isinstance(entry.value, YamlMap):
            self._refuse("`configuration` is not a map of texts", entry.line)
        return {
            item.key: self._as_text(f"`{item.key}` in `configuration`", item.value)
            for item in entry.value.entries
        }

    def _libraries(self) -> list[Library]:
        entry = self._entries.get("libraries")
        if entry is None:
            return []
        if not isinstance(entry.value, YamlList):
            self._refuse("`libraries` is not a list", entry.line)
        return [self._library(item) for item in entry.value.items]

    def _library(self, node: YamlNode) -> Library:
        inner = _only_value(_only_value(node, "glob"), "include")
        if inner is None:
            self._refuse("an entry of `libraries` is not `glob: include: …`", node.line)
        glob = self._as_text("`include`", inner)
        prefix = glob.removesuffix("/**")
        if _MAGIC & set(prefix):
            self._refuse(f"`{glob}` is neither a file nor a folder followed by `/**`", inner.line)
        whole = glob if prefix == glob else f"{glob}/*"
        return Library(glob=whole, origin=Origin(self._file, inner.line))


def _only_value(node: YamlNode | None, key: str) -> YamlNode | None:
    if not isinstance(node, YamlMap) or [entry.key for entry in node.entries] != [key]:
        return None
    return node.entries[0].value
