"""`/schemas`: by id, by guid, or all of them."""

from functools import partial

from starlette.requests import Request
from starlette.responses import Response
from starlette.routing import Route

from penstock.registry.api.answers import answer, full_schema, schema_of_id, text_answer
from penstock.registry.api.formats import formatted
from penstock.registry.api.paging import MAX_NAMES, MAX_SCHEMAS, page
from penstock.registry.api.requests import (
    flag,
    id_of,
    live_or_all,
    segment,
    subject_parameter,
    which,
)
from penstock.registry.api.threads import Threads
from penstock.registry.contexts import qualified
from penstock.registry.entries import SchemaVersion
from penstock.registry.service import Registry
from penstock.schemas import SchemaType


class SchemaRoutes:
    """Answers for schemas, whichever subject they are under."""

    def __init__(self, registry: Registry, threads: Threads) -> None:
        self._registry = registry
        self._threads = threads

    def routes(self) -> list[Route]:
        """Return what is answered."""
        by_id = "/schemas/ids/{id}"
        return [
            Route("/schemas", self.schemas),
            Route("/schemas/types", self.types),
            Route(by_id, self.schema),
            Route(f"{by_id}/schema", self.text),
            Route(f"{by_id}/subjects", self.subjects),
            Route(f"{by_id}/versions", self.versions),
            Route("/schemas/guids/{guid}", self.schema_of_guid),
            Route("/schemas/guids/{guid}/ids", self.ids_of_guid),
        ]

    async def schemas(self, request: Request) -> Response:
        """Answer with all schemas, page by page."""
        find = partial(
            self._registry.reading.schemas,
            qualified(request.query_params.get("subjectPrefix", "")),
            which(request),
            latest_only=flag(request, "latestOnly"),
            rule_type=request.query_params.get("ruleType", ""),
        )
        found = page(request, await self._threads.read(find), MAX_SCHEMAS)
        return answer(request, [full_schema(version) for version in found])

    async def types(self, request: Request) -> Response:
        """Answer with the types of schemas."""
        return answer(request, [SchemaType.JSON, SchemaType.PROTOBUF, SchemaType.AVRO])

    def _by_id(self, request: Request) -> SchemaVersion:
        return self._registry.reading.by_id(id_of(request), subject_parameter(request))

    async def schema(self, request: Request) -> Response:
        """Answer with the schema that has an id."""
        version = self._by_id(request)
        text = await formatted(request, self._registry, self._threads, version)
        found = schema_of_id(version, text)
        if subject_parameter(request) is not None:
            found = {"subject": version.subject, "version": version.version, **found}
        if flag(request, "fetchMaxId"):
            found["maxId"] = self._registry.reading.max_id(version.subject)
        return answer(request, found)

    async def text(self, request: Request) -> Response:
        """Answer with just the schema that has an id."""
        version = self._by_id(request)
        text = await formatted(request, self._registry, self._threads, version)
        return text_answer(request, (text or version.content.text).encode())

    def _versions(self, request: Request) -> list[SchemaVersion]:
        return self._registry.reading.versions_of_id(
            id_of(request), subject_parameter(request), live_or_all(request)
        )

    async def subjects(self, request: Request) -> Response:
        """Answer with the subjects that have an id."""
        subjects = list(dict.fromkeys(version.subject for version in self._versions(request)))
        return answer(request, page(request, subjects, MAX_NAMES))

    async def versions(self, request: Request) -> Response:
        """Answer with the versions that have an id."""
        found = [
            {"subject": version.subject, "version": version.version}
            for version in self._versions(request)
        ]
        return answer(request, page(request, found, MAX_NAMES))

    async def schema_of_guid(self, request: Request) -> Response:
        """Answer with the schema that has a guid."""
        find = partial(self._registry.reading.by_guid, segment(request, "guid"))
        version = await self._threads.read(find)
        text = await formatted(request, self._registry, self._threads, version)
        return answer(request, schema_of_id(version, text))

    async def ids_of_guid(self, request: Request) -> Response:
        """Answer with the ids that the schema with a guid has, by context."""
        find = partial(self._registry.reading.ids_of_guid, segment(request, "guid"))
        found = await self._threads.read(find)
        return answer(request, [{"context": one.context, "id": one.id} for one in found])
