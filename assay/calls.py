"""The functions of ``assay.aio`` for programs without an event loop; arguments and results are the same."""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Coroutine, Iterable, Iterator, Mapping
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager
from functools import wraps
from typing import Any, ParamSpec, TypeVar

from assay import aio
from assay.results import Refusal, Score
from schemas.pages import CrawledPage

P = ParamSpec("P")
T = TypeVar("T")


def _blocking(coroutine: Callable[P, Coroutine[Any, Any, T]]) -> Callable[P, T]:
    """A coroutine's function for all programs, with the same signature and documentation."""

    @wraps(coroutine)
    def call(*args: P.args, **kwargs: P.kwargs) -> T:
        return result_of(coroutine(*args, **kwargs))

    call.__module__ = "assay"
    return call


score = _blocking(aio.score)
read = _blocking(aio.read)
classify = _blocking(aio.classify)
evaluate = _blocking(aio.evaluate)
snippet = _blocking(aio.snippet)
claim = _blocking(aio.claim)
rank = _blocking(aio.rank)


@wraps(aio.score_many)
def score_many(
    pages: Iterable[CrawledPage | Mapping[str, Any]],
    *,
    processes: int | None = None,
    settings: aio.Configuration = None,
) -> Iterator[Score | Refusal]:
    """As ``aio.score_many``, whose documentation it has."""
    scores = aio.score_many(pages, processes=processes, settings=settings)
    with _loop() as run:
        try:
            while (result := run(anext(scores, None))) is not None:
                yield result
        finally:
            run(scores.aclose())  # type: ignore[attr-defined]


def result_of(call: Coroutine[Any, Any, T]) -> T:
    """The result of a coroutine, also in a thread that has an event loop."""
    with _loop() as run:
        return run(call)


@contextmanager
def _loop() -> Iterator[Callable[[Coroutine[Any, Any, T]], T]]:
    """Runs coroutines in an event loop, which is in a thread of its own if this thread has one, as in a notebook."""
    try:
        asyncio.get_running_loop()
    except RuntimeError:
        with asyncio.Runner() as runner:
            yield lambda call: _run(runner, call)
        return
    with ThreadPoolExecutor(1) as thread, asyncio.Runner() as runner:
        yield lambda call: thread.submit(_run, runner, call).result()
        thread.submit(runner.close).result()


def _run(runner: asyncio.Runner, call: Coroutine[Any, Any, T]) -> T:
    results: list[T] = []

    # A runner formats its task, with a result that the task returns, when it restores the handler of Ctrl-C: 0.5 ms.
    async def task() -> None:
        results.append(await call)

    runner.run(task())
    return results[0]
