"""`/config` and `/mode`, of everything or of a subject."""

from functools import partial

from starlette.requests import Request
from starlette.responses import Response
from starlette.routing import Route

from penstock.names import Subject
from penstock.registry.api.answers import answer, changed_config, config_answer
from penstock.registry.api.requests import (
    ConfigRequest,
    ModeRequest,
    body_of,
    flag,
    subject_of,
)
from penstock.registry.api.threads import Threads
from penstock.registry.service import Registry


class SettingRoutes:
    """Answers for configs and modes."""

    def __init__(self, registry: Registry, threads: Threads, *, max_request_bytes: int) -> None:
        self._configuring = registry.configuring
        self._threads = threads
        self._max_bytes = max_request_bytes

    def routes(self) -> list[Route]:
        """Return what is answered."""
        return [
            route
            for of in ("", "/{subject}")
            for route in (
                Route(f"/config{of}", self.config, methods=["GET"]),
                Route(f"/config{of}", self.set_config, methods=["PUT"]),
                Route(f"/config{of}", self.delete_config, methods=["DELETE"]),
                Route(f"/mode{of}", self.mode, methods=["GET"]),
                Route(f"/mode{of}", self.set_mode, methods=["PUT"]),
                Route(f"/mode{of}", self.delete_mode, methods=["DELETE"]),
            )
        ]

    async def config(self, request: Request) -> Response:
        """Answer with a config."""
        in_scope = flag(request, "defaultToGlobal")
        config = self._configuring.config(_subject(request), in_scope=in_scope)
        return answer(request, config_answer(config))

    async def set_config(self, request: Request) -> Response:
        """Change a config."""
        asked = (await body_of(request, ConfigRequest, max_bytes=self._max_bytes)).checked()
        change = partial(self._configuring.set_config, _subject(request), asked.applied_to)
        return answer(request, changed_config(await self._threads.write(change)))

    async def delete_config(self, request: Request) -> Response:
        """Unset a config."""
        delete = partial(self._configuring.delete_config, _subject(request))
        return answer(request, config_answer(await self._threads.write(delete)))

    async def mode(self, request: Request) -> Response:
        """Answer with a mode."""
        in_scope = flag(request, "defaultToGlobal")
        mode = self._configuring.mode(_subject(request), in_scope=in_scope)
        return answer(request, {"mode": mode})

    async def set_mode(self, request: Request) -> Response:
        """Change a mode."""
        asked = await body_of(request, ModeRequest, max_bytes=self._max_bytes)
        mode = asked.mode()
        force = flag(request, "force")
        change = partial(self._configuring.set_mode, _subject(request), mode, force=force)
        await self._threads.write(change)
        return answer(request, {"mode": mode})

    async def delete_mode(self, request: Request) -> Response:
        """Unset a mode."""
        recursive = flag(request, "recursive")
        delete = partial(self._configuring.delete_mode, _subject(request), recursive=recursive)
        return answer(request, {"mode": await self._threads.write(delete)})


def _subject(request: Request) -> Subject | None:
    return subject_of(request) if "subject" in request.path_params else None
