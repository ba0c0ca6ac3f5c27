"""`/subjects`, and `/compatibility/subjects`."""

from functools import partial

from starlette.requests import Request
from starlette.responses import Response
from starlette.routing import Route

from penstock.names import Subject
from penstock.registry.api.answers import answer, full_schema, registered_schema, text_answer
from penstock.registry.api.formats import formatted
from penstock.registry.api.paging import MAX_NAMES, page
from penstock.registry.api.requests import (
    SchemaRequest,
    body_of,
    flag,
    live_or_all,
    subject_of,
    version_of,
    which,
)
from penstock.registry.api.threads import Threads
from penstock.registry.contexts import EVERY_CONTEXT, qualified
from penstock.registry.entries import SchemaVersion
from penstock.registry.errors import RejectedSchemaError
from penstock.registry.registering import Registration
from penstock.registry.service import Registry
from penstock.registry.state import Which


class SubjectRoutes:
    """Answers for subjects and their versions."""

    def __init__(self, registry: Registry, threads: Threads, *, max_request_bytes: int) -> None:
        self._registry = registry
        self._threads = threads
        self._max_bytes = max_request_bytes

    def routes(self) -> list[Route]:
        """Return what is answered."""
        versions = "/subjects/{subject}/versions"
        version = f"{versions}/{{version}}"
        return [
            Route("/subjects", self.subjects),
            Route("/subjects/{subject}", self.lookup, methods=["POST"]),
            Route("/subjects/{subject}", self.delete_subject, methods=["DELETE"]),
            Route("/subjects/{subject}/metadata", self.with_metadata),
            Route(versions, self.versions, methods=["GET"]),
            Route(versions, self.register, methods=["POST"]),
            Route(version, self.version, methods=["GET"]),
            Route(version, self.delete_version, methods=["DELETE"]),
            Route(f"{version}/schema", self.version_text),
            Route(f"{version}/referencedby", self.referenced_by),
            Route(f"/compatibility{versions}", self.check_all, methods=["POST"]),
            Route(f"/compatibility{version}", self.check_one, methods=["POST"]),
        ]

    def _subject(self, request: Request) -> Subject:
        return self._registry.configuring.aliased(subject_of(request))

    async def _body(self, request: Request) -> SchemaRequest:
        return await body_of(request, SchemaRequest, max_bytes=self._max_bytes)

    async def subjects(self, request: Request) -> Response:
        """Answer with the names of subjects."""
        prefix = request.query_params.get("subjectPrefix", EVERY_CONTEXT)
        found = self._registry.reading.subjects(qualified(prefix), which(request))
        return answer(request, page(request, found, MAX_NAMES))

    async def lookup(self, request: Request) -> Response:
        """Answer with the version of a subject that is the given schema."""
        asked = await self._body(request)
        find = partial(
            self._registry.reading.lookup,
            self._subject(request),
            asked.content(),
            live_or_all(request),
            normalize=flag(request, "normalize"),
        )
        return await self._full(request, await self._threads.read(find))

    async def _full(self, request: Request, version: SchemaVersion) -> Response:
        text = await formatted(request, self._registry, self._threads, version)
        return answer(request, full_schema(version, text))

    async def with_metadata(self, request: Request) -> Response:
        """Answer with the last version that has the given properties in its metadata."""
        keys = request.query_params.getlist("key")
        values = request.query_params.getlist("value")
        properties = dict(zip(keys, values, strict=False))
        found = self._registry.reading.with_metadata(
            self._subject(request), properties, live_or_all(request)
        )
        return await self._full(request, found)

    async def versions(self, request: Request) -> Response:
        """Answer with the version numbers of a subject."""
        found = self._registry.reading.versions(self._subject(request), which(request))
        return answer(request, page(request, found, MAX_NAMES))

    async def register(self, request: Request) -> Response:
        """Register a schema, and answer with its id."""
        asked = await self._body(request)
        registration = Registration(
            subject=self._subject(request),
            content=asked.content(),
            id=asked.id(),
            version=asked.version(),
            normalize=flag(request, "normalize"),
        )
        register = partial(self._registry.registering.register, registration)
        return answer(request, registered_schema(await self._threads.write(register)))

    async def version(self, request: Request) -> Response:
        """Answer with one version."""
        return await self._full(request, self._version(request, live_or_all(request)))

    def _version(self, request: Request, among: Which) -> SchemaVersion:
        return self._registry.reading.version(self._subject(request), version_of(request), among)

    async def version_text(self, request: Request) -> Response:
        """Answer with just the schema of one version."""
        version = self._version(request, live_or_all(request))
        text = await formatted(request, self._registry, self._threads, version)
        return text_answer(request, (text or version.content.text).encode())

    async def referenced_by(self, request: Request) -> Response:
        """Answer with the ids of schemas that refer to one version."""
        found = self._registry.reading.referenced_by(self._subject(request), version_of(request))
        return answer(request, found)

    async def delete_subject(self, request: Request) -> Response:
        """Delete a subject, and answer with the versions that are gone."""
        delete = partial(
            self._registry.deleting.delete_subject,
            self._subject(request),
            permanent=flag(request, "permanent"),
        )
        return answer(request, await self._threads.write(delete))

    async def delete_version(self, request: Request) -> Response:
        """Delete one version, and answer with its number."""
        delete = partial(
            self._registry.deleting.delete_version,
            self._subject(request),
            version_of(request),
            permanent=flag(request, "permanent"),
        )
        return answer(request, await self._threads.write(delete))

    async def check_all(self, request: Request) -> Response:
        """Answer whether a schema could be registered."""
        asked = await self._body(request)
        check = partial(
            self._registry.compatibility.against_all,
            self._subject(request),
            asked.content(),
            normalize=flag(request, "normalize"),
        )
        return await self._checked(request, check)

    async def check_one(self, request: Request) -> Response:
        """Answer whether a schema is compatible with one version."""
        asked = await self._body(request)
        check = partial(
            self._registry.compatibility.against_one,
            self._subject(request),
            asked.content(),
            version_of(request),
            normalize=flag(request, "normalize"),
        )
        return await self._checked(request, check)

    async def _checked(self, request: Request, check: "partial[list[str]]") -> Response:
        verbose = flag(request, "verbose")
        try:
            reasons = await self._threads.read(check)
        except RejectedSchemaError as error:
            if not verbose:
                raise
            reasons = [error.message]
        found: dict[str, object] = {"is_compatible": not reasons}
        return answer(request, {**found, "messages": reasons} if verbose else found)
