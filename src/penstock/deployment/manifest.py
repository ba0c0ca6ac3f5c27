"""What a package says of itself: the code, and the versions that it was made with."""

import importlib.metadata
import json
import sys
import sysconfig
from collections.abc import Mapping
from dataclasses import asdict, dataclass
from pathlib import Path

from pydantic import TypeAdapter, ValidationError

from penstock.deployment.errors import NoPackageError
from penstock.names import PipelineName

FORMAT = 1
"""Raised when packages change so that older ones cannot be read."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Manifest:
    """The content of `manifest.json`. It has no time in it: same input, same package."""

    format: int = FORMAT
    pipeline: PipelineName
    code_version: str
    penstock: str
    python: str
    """Major and minor version: what compiled packages depend on."""

    platform: str
    """Operating system and processor, as Python names them."""

    spark: str
    packages: Mapping[str, str]
    """The version of each Python package."""

    jars: Mapping[str, str]
    """The SHA-256 of each jar."""

    def as_json(self) -> str:
        """Return the text of the file."""
        return json.dumps(asdict(self), indent=1, sort_keys=True) + "\n"

    def differences(self) -> list[str]:
        """Return what is different here; empty when a driver of this package can run here."""
        here = {"Python": this_python(), "Spark": spark_version(), "platform": this_platform()}
        made = {"Python": self.python, "Spark": self.spark, "platform": self.platform}
        return [
            f"{name} is {made[name]} there and {here[name]} here"
            for name in here
            if made[name] != here[name]
        ]


def parse_manifest(text: str, path: Path) -> Manifest:
    """Return the manifest of the package at `path`.

    Raises:
        NoPackageError: it is none, or of a newer format.
    """
    try:
        manifest = TypeAdapter(Manifest).validate_json(text)
    except ValidationError as err:
        field = ".".join(str(part) for part in err.errors()[0]["loc"])
        raise NoPackageError(path, reason=f"`{field}` of its manifest is wrong") from err
    if manifest.format > FORMAT:
        reason = f"its format is {manifest.format}, and this Penstock reads up to {FORMAT}"
        raise NoPackageError(path, reason=reason)
    return manifest


def this_python() -> str:
    """Return the version of the Python that runs, as far as compiled packages depend on it."""
    return f"{sys.version_info.major}.{sys.version_info.minor}"


def this_platform() -> str:
    """Return the system and the processor of this machine."""
    return sysconfig.get_platform()


def spark_version() -> str:
    """Return the version of the installed PySpark."""
    return importlib.metadata.version("pyspark")


def penstock_version() -> str:
    """Return the version of Penstock."""
    return importlib.metadata.version("penstock")
