"""Paths before they are routed: subjects with slashes in them, and `/contexts/{context}/…`.

Routes see the path as it came, still percent-encoded: `/subjects/a%2Fb/versions` has one subject.
"""

from urllib.parse import parse_qsl, quote, unquote, urlencode

from starlette.types import ASGIApp, Receive, Scope, Send

from penstock.registry.api.answers import error_answer
from penstock.registry.contexts import EVERY_CONTEXT, InvalidContextError, prefix_from_path
from penstock.registry.errors import RegistryError


class Paths:
    """Rewrites the path of each request, then lets `app` answer it."""

    def __init__(self, app: ASGIApp) -> None:
        self._app = app

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Answer one request."""
        if scope["type"] == "http":
            try:
                scope = rewritten(scope)
            except InvalidContextError as error:
                await error_answer(RegistryError(400, 400, str(error)))(scope, receive, send)
                return
        await self._app(scope, receive, send)


def rewritten(scope: Scope) -> Scope:
    """Return the scope with a path to route by.

    Raises:
        InvalidContextError: the path names a context that cannot be.
    """
    raw = scope.get("raw_path") or quote(scope["path"]).encode()
    segments = raw.decode("latin-1").split("/")[1:]
    while len(segments) > 1 and not segments[-1]:
        segments.pop()
    query = scope.get("query_string", b"")
    if segments[0] == "contexts" and len(segments) > 2:
        prefix = prefix_from_path(unquote(segments[1]))
        segments = _path_within(segments[2:], prefix)
        query = _query_within(segments, query.decode("latin-1"), prefix).encode("latin-1")
    path = "/" + "/".join(segments)
    return {**scope, "path": path, "raw_path": path.encode("latin-1"), "query_string": query}


def _path_within(segments: list[str], prefix: str) -> list[str]:
    if segments[0] in ("config", "mode"):
        name = segments[1] if len(segments) > 1 else ""
        inside = _within(name, prefix)
        return [segments[0], inside, *segments[2:]] if inside else segments
    if "subjects" in segments[:2]:
        place = segments.index("subjects") + 1
        return [
            *segments[:place],
            *(_within(one, prefix) for one in segments[place : place + 1]),
            *segments[place + 1 :],
        ]
    return segments


def _query_within(segments: list[str], query: str, prefix: str) -> str:
    if segments[:2] == ["schemas", "ids"]:
        return _parameter_within(query, "subject", prefix)
    if segments in (["schemas"], ["subjects"]):
        return _parameter_within(query, "subjectPrefix", prefix)
    return query


def _parameter_within(query: str, name: str, prefix: str) -> str:
    parameters = parse_qsl(query, keep_blank_values=True)
    value = next((value for each, value in parameters if each == name), "")
    others = [(each, other) for each, other in parameters if each != name]
    return urlencode([*others, (name, unquote(_within(quote(value, safe=""), prefix)))])


def _within(encoded: str, prefix: str) -> str:
    subject = unquote(encoded)
    if subject.startswith((":.", EVERY_CONTEXT)):
        return encoded
    return quote(prefix + subject, safe="")
