"""What can go wrong when a project is packaged, submitted, or described for Kubernetes."""

from __future__ import annotations

from typing import TYPE_CHECKING

from penstock.errors import PenstockError, UsageError

if TYPE_CHECKING:
    from collections.abc import Sequence
    from pathlib import Path


class DependencyNotPackableError(UsageError):
    """A package that the project needs cannot be copied from this environment."""

    code = "PEN-391"

    def __init__(self, name: str, *, needed_by: str, reason: str) -> None:
        super().__init__(
            f"`{name}`, which {needed_by} needs, cannot be packaged: {reason}",
            hint=f"`pip install {name}` puts it into the environment that is packaged",
        )
        self.name = name


class NoPackageError(UsageError):
    """A file is not what `penstock package` writes."""

    code = "PEN-392"

    def __init__(self, path: Path, *, reason: str) -> None:
        super().__init__(
            f"`{path}` is no package of a project: {reason}",
            hint="`penstock package PROJECT --output FILE` makes one",
        )


class PackageMismatchError(UsageError):
    """A package was made for another environment than this one."""

    code = "PEN-393"

    def __init__(self, path: Path, differences: Sequence[str]) -> None:
        super().__init__(
            f"`{path.name}` was made elsewhere: {'; '.join(differences)}",
            hint="`penstock package` in the environment in which it shall run makes one that fits",
        )
        self.differences = tuple(differences)


class NoClusterModeError(UsageError):
    """The master runs no driver written in Python."""

    code = "PEN-394"

    def __init__(self, master: str) -> None:
        kind = "a standalone master" if master.startswith("spark://") else f"`{master}`"
        super().__init__(
            f"{kind} runs no driver in Python: `--mode cluster` needs `yarn` or `k8s://…`, and "
            f"`spark.master` is `{master}`",
            hint="`--mode client` runs the driver here and everything else on the cluster",
        )


class ClusterSettingMissingError(UsageError):
    """Spark's cluster mode needs a setting that the profile does not have."""

    code = "PEN-395"

    def __init__(self, key: str, *, master: str, meaning: str) -> None:
        super().__init__(
            f"`--mode cluster` on `{master}` needs `{key}`: {meaning}",
            hint=f'set it in the profile, in `[profiles.NAME.spark.conf]`: `"{key}" = …`',
        )
        self.key = key


class SubmitFailedError(PenstockError):
    """Spark's own `spark-submit` did not bring the driver to the cluster."""

    code = "PEN-396"

    def __init__(self, *, master: str, status: int, last_words: str, log: Path) -> None:
        said = f": {last_words}" if last_words else ""
        super().__init__(
            f"`spark-submit` to `{master}` ended with status {status}{said}",
            hint=f"what it said is in `{log}`",
        )


class SettingTakenError(UsageError):
    """The profile sets what `penstock submit` sets by itself."""

    code = "PEN-397"

    def __init__(self, key: str) -> None:
        super().__init__(
            f"`spark.conf` sets `{key}`, by which the package reaches the executors",
            hint="remove it from the profile; what executors import goes into `requirements.txt`",
        )


class NotWritableError(UsageError):
    """What was made cannot be written where it was wanted."""

    code = "PEN-398"

    def __init__(self, path: Path, *, reason: str) -> None:
        super().__init__(
            f"`{path}` cannot be written: {reason}", hint="name another place with `--output`"
        )
