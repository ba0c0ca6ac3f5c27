"""The pipeline in the README is one that Spark accepts as it stands there."""

import re
from pathlib import Path

from pyspark.sql import SparkSession

from penstock.engine.analysis import analyze
from penstock.names import PipelineName
from penstock.pipeline import load_pipeline

README = Path(__file__).resolve().parents[2] / "README.md"


def test_the_pipeline_in_the_readme_has_no_problems(spark: SparkSession, tmp_path: Path) -> None:
    [program] = re.findall(r"```python\n(.*?)```", README.read_text(), re.DOTALL)
    (tmp_path / "flows.py").write_text(program)
    (tmp_path / "blocked.csv").write_text("mallory\n")

    pipeline = load_pipeline(tmp_path, name=PipelineName("shop"), files=["flows.py"])

    assert analyze(pipeline, spark) == []
