"""`/`, `/contexts` and `/v1/metadata`: about the registry itself."""

import importlib.metadata
from functools import partial

from starlette.requests import Request
from starlette.responses import Response
from starlette.routing import Route

from penstock.names import Subject
from penstock.registry.api.answers import answer
from penstock.registry.api.paging import MAX_NAMES, page
from penstock.registry.api.requests import segment
from penstock.registry.api.threads import Threads
from penstock.registry.contexts import prefix_from_path
from penstock.registry.service import Registry

CLUSTER_NAME = "schema-registry"
"""Confluent's default for the name of the instances that share a topic."""


class ServerRoutes:
    """Answers about the registry."""

    def __init__(self, registry: Registry, threads: Threads, *, kafka_cluster_id: str) -> None:
        self._registry = registry
        self._threads = threads
        self._kafka_cluster_id = kafka_cluster_id

    def routes(self) -> list[Route]:
        """Return what is answered."""
        return [
            Route("/", self.nothing, methods=["GET", "POST"]),
            Route("/contexts", self.contexts),
            Route("/contexts/{context}", self.delete_context, methods=["DELETE"]),
            Route("/v1/metadata/id", self.cluster),
            Route("/v1/metadata/version", self.version),
        ]

    async def nothing(self, request: Request) -> Response:
        """Answer that somebody is here."""
        return answer(request, {})

    async def contexts(self, request: Request) -> Response:
        """Answer with the names of contexts."""
        return answer(request, page(request, self._registry.reading.contexts(), MAX_NAMES))

    async def delete_context(self, request: Request) -> Response:
        """Delete a context without schemas."""
        context = Subject(prefix_from_path(segment(request, "context")))
        await self._threads.write(partial(self._registry.deleting.delete_context, context))
        return Response(status_code=204)

    async def cluster(self, request: Request) -> Response:
        """Answer with the names of the Kafka cluster and of the registries on it."""
        clusters = {
            "kafka-cluster": self._kafka_cluster_id,
            "schema-registry-cluster": CLUSTER_NAME,
        }
        return answer(request, {"id": "", "scope": {"path": [], "clusters": clusters}})

    async def version(self, request: Request) -> Response:
        """Answer with the version of this program."""
        version = importlib.metadata.version("penstock")
        return answer(request, {"version": version, "commitId": ""})
