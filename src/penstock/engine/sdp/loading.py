"""Loading a project of Spark Declarative Pipelines, as `spark-pipelines run` does.

    spec → modules are executed, SQL files read → queries resolved → datasets and flows

Declarations of Penstock's own may stand in the same modules, or in the files that settings name.
"""

from __future__ import annotations

import importlib.util
import os
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING

from pyspark.pipelines.graph_element_registry import graph_element_registration_context
from pyspark.sql import DataFrame

from penstock.engine.analysis_errors import UnknownColumnsError
from penstock.engine.empty_inputs import EmptyInputs
from penstock.engine.schemas import struct_of
from penstock.engine.sdp.building import Builder
from penstock.engine.sdp.changes import our_verb
from penstock.engine.sdp.definitions import Definitions
from penstock.engine.sdp.errors import UnsupportedFeatureError
from penstock.engine.sdp.resolving import DEFAULT_DATABASE, Resolver
from penstock.engine.sdp.sessions import ActiveSession, activate, found_as
from penstock.engine.sdp.statements import define_statements
from penstock.errors import Origin, PenstockError
from penstock.names import FlowName
from penstock.pipeline import (
    Flow,
    InvalidPipelineError,
    Pipeline,
    ProjectNotFoundError,
    Table,
    View,
    collecting,
    declaring_files,
    import_file,
    importable,
    not_loaded,
    problems_of_project,
)

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from pyspark.sql import SparkSession
    from pyspark.sql.types import StructType

    from penstock.names import DatasetName, PipelineName
    from penstock.pipeline import PipelineSpec

_CATALOG = "spark_catalog"


def load_declarative_pipeline(
    spec: PipelineSpec, spark: SparkSession, *, name: PipelineName, files: Sequence[str] = ()
) -> Pipeline:
    """Return the pipeline that the project of `spec` defines.

    Args:
        spec: what its spec says.
        spark: a session; queries are analyzed in it, and nothing is run.
        name: what the pipeline is called.
        files: globs of Python files with declarations of Penstock's own.

    Raises:
        ProjectNotFoundError: no file matches.
        InvalidPipelineError: definitions or declarations have problems; it carries all of them.
    """
    folder = spec.folder.resolve()
    libraries = _library_files(spec, folder)
    others = [path for path in declaring_files(folder, files) if path not in libraries]
    if not libraries and not others:
        raise ProjectNotFoundError(folder, looked_for=[item.glob for item in spec.libraries])
    project = _Project(spec, spark, folder, name)
    project.load(libraries, others)
    project.resolve()
    collected = project.collected
    problems = problems_of_project(collected, project.failures, [*libraries, *others])
    if problems:
        raise InvalidPipelineError(name, problems)
    return Pipeline(
        name=name,
        folder=folder,
        datasets=tuple(collected.datasets),
        flows=tuple(collected.flows),
        storage=spec.storage,
        database=project.database,
    )


def _library_files(spec: PipelineSpec, folder: Path) -> list[Path]:
    found = {
        path
        for library in spec.libraries
        for path in folder.glob(library.glob)
        if path.is_file() and "__pycache__" not in path.parts
    }
    return sorted(found)


class _Project:
    """One project while it is loaded."""

    def __init__(
        self, spec: PipelineSpec, spark: SparkSession, folder: Path, name: PipelineName
    ) -> None:
        self._spec, self._spark, self._folder, self._name = spec, spark, folder, name
        self.database = spec.database or DEFAULT_DATABASE
        self.definitions = Definitions()
        self.failures: list[PenstockError] = []
        if spec.catalog not in (None, _CATALOG):
            self.failures.append(
                UnsupportedFeatureError(
                    feature=f"the catalog `{spec.catalog}`",
                    instead=f"leave out `catalog`: tables are found in `{_CATALOG}`",
                    origin=spec.catalog_origin,
                )
            )

    def load(self, libraries: Sequence[Path], others: Sequence[Path]) -> None:
        """Execute the modules and read the SQL files."""
        session = self._spark.newSession()
        for key, value in self._settable(session).items():
            session.conf.set(key, value)
        activate(session)
        spark = ActiveSession(session)
        with (
            collecting() as self.collected,
            importable(self._folder),
            _working_in(self._folder),
            graph_element_registration_context(self.definitions),
            our_verb(self.definitions),
            found_as(spark),
        ):
            for path in libraries:
                self._load(path, spark, session)
            for path in others:
                if failure := import_file(path, self._folder, self.collected):
                    self.failures.append(failure)
        activate(self._spark)

    def resolve(self) -> None:
        """Turn what was defined into declarations."""
        builder = Builder(conf=self._settable(self._spark), others=tuple(self.collected.datasets))
        builder.accept(self.definitions)
        resolver = Resolver(
            self._spark,
            self.definitions,
            database=self.database,
            conf=self._settable(self._spark),
            others=self._other,
            known=[item.name for item in self.collected.datasets],
        )
        with resolver.catalog():
            resolver.resolve()
        activate(self._spark)
        self.failures += resolver.problems
        for definition in self.definitions.outputs:
            builder.add_output(definition, resolver)
        for query in self.definitions.queries:
            builder.add_query(query, resolver)
        views = [item for item in self.collected.datasets if isinstance(item, View)]
        builder.refuse_views_of(self.collected.flows, views)
        self.failures += builder.problems
        self.collected.datasets += builder.datasets
        self.collected.flows += builder.flows

    def _settable(self, session: SparkSession) -> dict[str, str]:
        """Return what the spec configures and a session can take: the rest is the driver's."""
        return {
            key: value
            for key, value in self._spec.configuration.items()
            if not key.startswith("spark.") or session.conf.isModifiable(key)
        }

    def _load(self, path: Path, spark: ActiveSession, session: SparkSession) -> None:
        outputs, queries = len(self.definitions.outputs), len(self.definitions.queries)
        datasets, flows = len(self.collected.datasets), len(self.collected.flows)
        try:
            self._define(path, spark, session)
        except PenstockError as err:
            failure = err
        except Exception as err:  # noqa: BLE001 - the user's code may raise anything; it becomes a problem
            failure = not_loaded(path, self._folder, err)
        else:
            return
        self.failures.append(failure)
        del self.definitions.outputs[outputs:], self.definitions.queries[queries:]
        del self.collected.datasets[datasets:], self.collected.flows[flows:]

    def _define(self, path: Path, spark: ActiveSession, session: SparkSession) -> None:
        match path.suffix:
            case ".py":
                _execute(path, spark)
            case ".sql":
                define_statements(path, session, self.definitions)
            case suffix:
                raise UnsupportedFeatureError(
                    feature=f"a library file that ends in `{suffix}`",
                    instead="keep only Python and SQL files where `libraries` of the spec points",
                    origin=Origin(path),
                )

    def _other(
        self,
        session: SparkSession,
        name: DatasetName,
        as_stream: bool,  # noqa: FBT001 - a callback
    ) -> DataFrame | None:
        """Return an empty frame of a dataset that is declared with Penstock's own verbs."""
        known = {item.name: item for item in self.collected.datasets}
        if name not in known:
            return None
        reader = Flow(
            name=FlowName("declarative"),
            origin=known[name].origin,
            function=lambda: None,
            reads=(),
            targets={},
        )
        pipeline = Pipeline(
            name=self._name, folder=self._folder, datasets=tuple(known.values()), flows=(reader,)
        )
        inputs = EmptyInputs(session, pipeline, reader, table_columns=_declared_columns)
        frame = inputs.frame(name)
        if not isinstance(frame, DataFrame):
            return None
        if as_stream or not frame.isStreaming:
            return frame
        return session.createDataFrame([], frame.schema)


def _execute(path: Path, spark: ActiveSession) -> None:
    found = importlib.util.spec_from_file_location(path.stem, str(path))
    assert found is not None  # noqa: S101 - Python knows what to do with its own files
    assert found.loader is not None  # noqa: S101
    module = importlib.util.module_from_spec(found)
    module.__dict__["spark"] = spark
    found.loader.exec_module(module)


def _declared_columns(table: Table) -> StructType:
    if table.schema is None:
        raise UnknownColumnsError(table)
    return struct_of(table.schema)


@contextmanager
def _working_in(folder: Path) -> Iterator[None]:
    before = Path.cwd()
    os.chdir(folder)
    try:
        yield
    finally:
        os.chdir(before)
