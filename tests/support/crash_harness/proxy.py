"""A TCP proxy that can be cut: connections end, and new ones are refused."""

from __future__ import annotations

import asyncio
import contextlib
import gc
import warnings
from threading import Thread
from typing import TYPE_CHECKING, Self

from penstock.local.ports import HOST

if TYPE_CHECKING:
    from collections.abc import Coroutine

_CHUNK_BYTES = 1 << 16
_SECONDS = 30
_TURNS_SECONDS = 0.2
"""Time for the loop, in which what was cut comes to its end."""


class Proxy:
    """Forwards a port of this machine to another one while the `with` block runs."""

    def __init__(self, port: int, target: int) -> None:
        self._port, self._target = port, target
        self._loop = asyncio.new_event_loop()
        self._thread = Thread(target=self._loop.run_forever, name="proxy", daemon=True)
        self._server: asyncio.Server | None = None
        self._open: set[asyncio.StreamWriter] = set()
        self._clients: set[asyncio.StreamWriter] = set()
        self._unanswered: set[asyncio.StreamWriter] = set()

    def __enter__(self) -> Self:
        self._thread.start()
        self.mend()
        return self

    def __exit__(self, *_: object) -> None:
        self.cut()
        self._do(asyncio.sleep(_TURNS_SECONDS))
        self._loop.call_soon_threadsafe(self._loop.stop)
        self._thread.join()
        with warnings.catch_warnings():
            # Connections that were just being made are closed here, and not beside another test.
            warnings.simplefilter("ignore")
            self._loop.close()
            gc.collect()

    def mend(self) -> None:
        """Accept connections."""
        self._do(self._listen())

    def cut(self) -> None:
        """End all connections and refuse new ones."""
        self._do(self._end())

    def drop_answers(self) -> None:
        """Let the connections that are open hear nothing more, though they are heard."""
        self._do(self._drop_answers())

    def _do(self, action: Coroutine[object, object, None]) -> None:
        asyncio.run_coroutine_threadsafe(action, self._loop).result(_SECONDS)

    async def _listen(self) -> None:
        if self._server is None:
            self._server = await asyncio.start_server(self._serve, HOST, self._port)

    async def _end(self) -> None:
        if self._server is not None:
            self._server.close()
            self._server = None
        for writer in list(self._open):
            writer.transport.abort()

    async def _drop_answers(self) -> None:
        self._unanswered |= self._clients

    async def _serve(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        try:
            there, back = await asyncio.open_connection(HOST, self._target)
        except OSError:
            writer.transport.abort()
            return
        both = {writer, back}
        self._open |= both
        self._clients.add(writer)
        try:
            await asyncio.gather(self._copy(reader, back), self._copy(there, writer))
        finally:
            self._open -= both
            self._clients.discard(writer)
            self._unanswered.discard(writer)

    async def _copy(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        with contextlib.suppress(OSError):
            while data := await reader.read(_CHUNK_BYTES):
                if writer not in self._unanswered:
                    writer.write(data)
                    await writer.drain()
        writer.close()
