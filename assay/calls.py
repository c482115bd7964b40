"""The functions of ``assay.aio`` for programs without an event loop; arguments and results are the same."""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Coroutine, Iterable, Iterator, Mapping
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager
from datetime import datetime
from typing import Any, TypeVar

from assay import aio
from assay.results import Claim, Classification, Evaluation, Ranking, Refusal, Score, Snippet
from schemas.pages import CrawledPage
from streams.settings.lazy import LazySettings as Settings

T = TypeVar("T")


def score(
    html: str | bytes | None = None,
    *,
    url: str,
    text: str | None = None,
    content_type: str | None = None,
    site_name: str | None = None,
    fetched_at: datetime | None = None,
    settings: Settings | None = None,
) -> Score | Refusal:
    """How far a page can be trusted; see ``assay.aio.score``."""
    given = {"text": text, "content_type": content_type, "site_name": site_name, "fetched_at": fetched_at}
    return result_of(aio.score(html, url=url, settings=settings, **given))  # type: ignore[arg-type]


def read(html: str | bytes, *, url: str = "https://page.invalid/", content_type: str | None = None) -> Score | Refusal:
    """The main text of a page with its Markdown; see ``assay.aio.read``."""
    return result_of(aio.read(html, url=url, content_type=content_type))


def score_many(
    pages: Iterable[CrawledPage | Mapping[str, Any]], *, processes: int | None = None, settings: Settings | None = None
) -> Iterator[Score | Refusal]:
    """The scores of many pages in their order, from child processes; see ``assay.aio.score_many``."""
    scores = aio.score_many(pages, processes=processes, settings=settings)
    with _loop() as run:
        try:
            while (result := run(anext(scores, None))) is not None:
                yield result
        finally:
            run(scores.aclose())  # type: ignore[attr-defined]


def classify(
    results: Iterable[Mapping[str, Any]],
    *,
    query: str,
    requested_at: datetime | None = None,
    settings: Settings | None = None,
) -> Classification | Refusal:
    """Which results are the content itself; see ``assay.aio.classify``."""
    return result_of(aio.classify(results, query=query, requested_at=requested_at, settings=settings))


def evaluate(
    results: Iterable[Mapping[str, Any]],
    *,
    query: str,
    requested_at: datetime | None = None,
    settings: Settings | None = None,
) -> Evaluation | Refusal:
    """Whether results answer their query; see ``assay.aio.evaluate``."""
    return result_of(aio.evaluate(results, query=query, requested_at=requested_at, settings=settings))


def snippet(
    html: str | bytes | None = None,
    *,
    url: str,
    query: str,
    title: str = "",
    text: str | None = None,
    settings: Settings | None = None,
) -> Snippet | Refusal:
    """Whether a page is relevant to a query, and its passage; see ``assay.aio.snippet``."""
    return result_of(aio.snippet(html, url=url, query=query, title=title, text=text, settings=settings))


def claim(
    text: str,
    *,
    source: str = "",
    entailed_score: float | None = None,
    coverage_score: float | None = None,
    settings: Settings | None = None,
) -> Claim | Refusal:
    """Whether a claim can be understood without its source; see ``assay.aio.claim``."""
    scores = {"entailed_score": entailed_score, "coverage_score": coverage_score}
    return result_of(aio.claim(text, source=source, settings=settings, **scores))


def rank(
    query: str, candidates: Iterable[Mapping[str, Any]], *, limit: int | None = None, settings: Settings | None = None
) -> Ranking | Refusal:
    """Candidates in the order of their relevance and trust; see ``assay.aio.rank``."""
    return result_of(aio.rank(query, candidates, limit=limit, settings=settings))


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
