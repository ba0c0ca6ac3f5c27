"""The cores of a detached driver after a rescale: they win over what the settings say."""

from __future__ import annotations

import re
from dataclasses import replace
from typing import TYPE_CHECKING

from penstock.control.kept import kept_here

if TYPE_CHECKING:
    from penstock.settings import Settings, SparkSettings

_LOCAL = re.compile(r"local(?:\[[^,\]]+(?P<attempts>,[^\]]+)?\])?")


def with_kept_cores(settings: Settings) -> Settings:
    """Return `settings` with the cores that a rescale has given to this driver, if one has."""
    kept = kept_here()
    cores = kept.load_launch().cores if kept else None
    if cores is None:
        return settings
    return replace(settings, spark=with_cores(settings.spark, cores))


def with_cores(spark: SparkSettings, cores: int) -> SparkSettings:
    """Return `spark` with so many cores in all, in the words of its cluster manager.

    YARN and Kubernetes give whole executors: the number of cores is rounded up to these.
    """
    master = spark.master or "local[*,4]"
    if local := _LOCAL.fullmatch(master):
        return replace(spark, master=f"local[{cores}{local['attempts'] or ''}]")
    if master.startswith("spark://"):
        return replace(spark, conf={**spark.conf, "spark.cores.max": str(cores)})
    executor = int(spark.conf.get("spark.executor.cores", "1"))
    count = -(-cores // executor)
    return replace(spark, conf={**spark.conf, "spark.executor.instances": str(count)})
