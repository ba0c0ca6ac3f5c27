"""`format=`: a schema in another form than it is stored in, as far as its type knows the form."""

from starlette.requests import Request

from penstock.registry.api.threads import Threads
from penstock.registry.entries import SchemaVersion
from penstock.registry.service import Registry


async def formatted(
    request: Request, registry: Registry, threads: Threads, version: SchemaVersion
) -> str | None:
    """Return the text of a schema in the form that a request asks for; None if in none."""
    form = request.query_params.get("format", "").strip()
    if not form:
        return None

    def write() -> str:
        schema = registry.parsing.parsed(version.subject, version.content, stored=True)
        return schema.formatted(form)

    return await threads.read(write)
