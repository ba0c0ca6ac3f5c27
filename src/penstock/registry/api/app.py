"""The application: all routes, and how errors are answered."""

from http import HTTPStatus

from starlette.applications import Starlette
from starlette.exceptions import HTTPException
from starlette.requests import Request
from starlette.responses import Response
from starlette.types import ASGIApp

from penstock.registry.api.answers import error_answer
from penstock.registry.api.paths import Paths
from penstock.registry.api.schemas import SchemaRoutes
from penstock.registry.api.server import ServerRoutes
from penstock.registry.api.settings import SettingRoutes
from penstock.registry.api.subjects import SubjectRoutes
from penstock.registry.api.threads import Threads
from penstock.registry.contexts import InvalidContextError
from penstock.registry.errors import RegistryError
from penstock.registry.service import Registry

DEFAULT_MAX_REQUEST_BYTES = 4 * 1024 * 1024
"""A schema of a megabyte, each of whose characters may be escaped."""


def create_app(
    registry: Registry,
    *,
    max_request_bytes: int = DEFAULT_MAX_REQUEST_BYTES,
    kafka_cluster_id: str = "",
) -> ASGIApp:
    """Return the REST API of a registry.

    Args:
        registry: What it asks.
        max_request_bytes: A larger body is refused before it is read to its end.
        kafka_cluster_id: The Kafka cluster that `/v1/metadata/id` names.
    """
    threads = Threads()
    parts = (
        ServerRoutes(registry, threads, kafka_cluster_id=kafka_cluster_id),
        SubjectRoutes(registry, threads, max_request_bytes=max_request_bytes),
        SchemaRoutes(registry, threads),
        SettingRoutes(registry, threads, max_request_bytes=max_request_bytes),
    )
    app = Starlette(
        routes=[route for part in parts for route in part.routes()],
        exception_handlers=dict.fromkeys(
            (RegistryError, HTTPException, InvalidContextError, Exception), _answered
        ),
    )
    app.router.redirect_slashes = False
    return Paths(app)


async def _answered(request: Request, error: Exception) -> Response:
    return error_answer(_as_answer(error), request.headers.get("accept", "*/*"))


def _as_answer(error: Exception) -> RegistryError:
    match error:
        case RegistryError():
            return error
        case HTTPException(status_code=status, detail=detail):
            unexplained = detail == HTTPStatus(status).phrase
            message = f"HTTP {status} {detail}" if unexplained else detail
            return RegistryError(status, status, message)
        case InvalidContextError():
            return RegistryError(400, 400, str(error))
        case _:
            return RegistryError(500, 500, "Internal Server Error")
