"""Waiting for the next rows of a share while a transaction is open, which cannot wait for ever."""

from __future__ import annotations

from concurrent.futures import ThreadPoolExecutor, wait
from typing import TYPE_CHECKING, Final, TypeVar

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Iterator

T = TypeVar("T")

_END: Final = object()


def pulled(items: Iterable[T], patience: Callable[[], float | None]) -> Iterator[T | None]:
    """Yield `items`, and None whenever the next one takes too long; it is waited for all the same.

    Items come from a thread of their own, one at a time and only when they are asked for. Whoever
    stops asking leaves that thread to the item that it waits for.

    Args:
        items: in their order.
        patience: asked before each wait: for so many seconds; None: as long as it takes.
    """
    source = iter(items)
    thread = ThreadPoolExecutor(max_workers=1, thread_name_prefix="lane-rows")
    try:
        while True:
            asked = thread.submit(next, source, _END)
            while not wait((asked,), patience()).done:
                yield None
            item = asked.result()
            if item is _END:
                return
            yield item  # type: ignore[misc]  # the mark of the end has no type
    finally:
        thread.shutdown(wait=False)
