"""``assay score``: how far pages can be trusted, and why. The pages are addresses, files, folders or standard input.

The command imports neither the other handlers nor Kafka, so its first line comes at once.
"""

from __future__ import annotations

import asyncio
import shutil
import sys
import textwrap
from collections import Counter, deque
from collections.abc import AsyncGenerator, AsyncIterator, Iterator
from functools import partial
from pathlib import Path
from typing import Annotated, Any, NamedTuple
from urllib.parse import quote

from pydantic import BaseModel, ValidationError
from typer import Argument, BadParameter, Option

from handlers.html.markdown import render_markdown
from handlers.score_page import ScorePageRules, score_page
from schemas.addresses import without_user
from schemas.outcome import Dead, Emit
from schemas.pages import MAX_PAGE_BYTES, CrawledPage, ScoredPage
from schemas.states import State
from streams.cli.output import AsJson, Config, say, say_json, tell
from streams.fetch.settings import FetchSettings
from streams.runtime.terminal import printable
from streams.settings.lazy import LazySettings
from streams.topology import PAGES_CRAWLED
from streams.topology.codec import refusal
from streams.views.amounts import in_kinds
from streams.workers.pool import WorkerPool
from streams.workers.settings import WorkersSettings, cores

_STANDARD_INPUT = "-"
_WEB = ("http://", "https://")
_PAGE_SUFFIXES = (".html", ".htm", ".xhtml")


class _Sections(BaseModel):
    fetch: FetchSettings = FetchSettings()
    workers: WorkersSettings = WorkersSettings()


class Refused(NamedTuple):
    place: str
    kind: str
    detail: str


Result = ScoredPage | Refused


def score(
    sources: Annotated[list[str], Argument(help="Addresses, HTML files, JSON lines, folders; - is standard input.")],
    url: Annotated[str, Option(help="The address of the page of a file or of standard input.")] = "",
    strict: Annotated[bool, Option("--strict", help="Exit with 1 also if a page has no content.")] = False,
    as_json: AsJson = False,
    as_markdown: Annotated[bool, Option("--markdown", help="Print the main text of each page as Markdown.")] = False,
    config: Config = None,
) -> int:
    """Score pages: addresses, files, folders, or standard input.

    It shows score, tier, label, date and author, and for one page the reason for every point; of a page without content
    the state, such as login. It writes JSON lines with --json, and if the output is no terminal. With --markdown it
    prints the main text instead. The exit status is 1 if a page was refused.
    """
    if as_markdown and as_json:
        raise BadParameter("use one of --json and --markdown")
    settings = LazySettings(config)
    rules, sections = settings.of(ScorePageRules), settings.of(_Sections)
    screen = None if as_json or not sys.stdout.isatty() else _Screen()
    refused, passed = 0, Counter[str]()
    with asyncio.Runner() as runner:
        results = scored_pages(_pages(sources, url, sections.fetch, passed), rules, sections.workers)
        try:
            while (result := runner.run(_next(results))) is not None:
                refused += isinstance(result, Refused) or (strict and result.state is not State.CONTENT)
                if as_markdown:
                    _write_markdown(result, is_named=len(sources) > 1 or Path(sources[0]).is_dir())
                elif screen is None:
                    _write_json(result)
                else:
                    screen.show(result)
        finally:
            runner.run(results.aclose())
            if screen is not None:
                screen.close()
            if kinds := in_kinds(passed):
                tell("score", kinds)
    return 1 if refused else 0


async def _next(results: AsyncIterator[Result]) -> Result | None:
    return await anext(results, None)


async def scored_pages(
    pages: AsyncIterator[CrawledPage | Refused], rules: ScorePageRules, workers: WorkersSettings
) -> AsyncGenerator[Result, None]:
    """The results in the order of the pages, from as many children as there are cores."""
    decide = partial(score_page, rules=rules)
    if workers.processes == 0:
        async for page in pages:
            yield page if isinstance(page, Refused) else _result(page, decide(page))
        return
    pool = WorkerPool(lambda: decide, cores(), workers.limits, start="fork")
    under_way: deque[asyncio.Task[Result]] = deque()
    try:
        async for page in pages:
            await pool.start()
            under_way.append(asyncio.create_task(_scored(pool, page)))
            if len(under_way) > 2 * pool.concurrency:
                yield await under_way.popleft()
        while under_way:
            yield await under_way.popleft()
    finally:
        await pool.stop()


async def _scored(pool: WorkerPool, page: CrawledPage | Refused) -> Result:
    return page if isinstance(page, Refused) else _result(page, await pool.run(page))


def _result(page: CrawledPage, outcome: Any) -> Result:
    if isinstance(outcome, Dead):
        return Refused(page.url, outcome.reason, outcome.detail)
    assert isinstance(outcome, Emit)  # noqa: S101 - the handler drops nothing, and asks for nothing
    [scored] = outcome.events
    assert isinstance(scored, ScoredPage)  # noqa: S101 - it writes nothing else
    return scored


async def _pages(
    sources: list[str], url: str, fetch: FetchSettings, passed: Counter[str]
) -> AsyncIterator[CrawledPage | Refused]:
    sources = [without_user(source) if source.lower().startswith(_WEB) else source for source in sources]
    addresses = [source for source in sources if source.lower().startswith(_WEB)]
    fetched = await _fetch(addresses, fetch) if addresses else {}
    for source in sources:
        for page in [fetched[source]] if source in fetched else _read(source, url, passed):
            yield page


async def _fetch(urls: list[str], settings: FetchSettings) -> dict[str, CrawledPage | Refused]:
    from schemas.needs import FetchPages
    from schemas.replies import FetchedPage
    from streams.fetch.worker import FetchWorker
    from streams.runtime.process import structlog_to_logging

    structlog_to_logging()
    pages: dict[str, CrawledPage | Refused] = {}
    async with FetchWorker(settings) as worker:
        for reply in (await worker.fetch(FetchPages(tuple(dict.fromkeys(urls)), ""))).pages:
            if isinstance(reply, FetchedPage):
                fields = {"url": reply.url, "html_base64": reply.body, "content_type": reply.content_type}
                others = {"final_url": reply.final_url, "status": reply.status, "fetched_at": reply.fetched_at}
                pages[reply.url] = _page(reply.url, fields | others)
            else:
                pages[reply.url] = Refused(reply.url, reply.reason, reply.detail)
    return pages


def _read(source: str, url: str, passed: Counter[str]) -> Iterator[CrawledPage | Refused]:
    path = Path(source)
    piped = source == _STANDARD_INPUT
    if not source.strip():
        yield Refused("(empty)", "invalid", "name an address, a file or a folder")
    elif piped and not _begins_with(getattr(sys.stdin.buffer, "peek", bytes)(1), b"{"):
        yield _html("standard input", sys.stdin.buffer.read(MAX_PAGE_BYTES + 1), url)
    elif path.is_file() and (path.suffix.lower() in _PAGE_SUFFIXES or _begins_with(_head(path), b"<")):
        yield _html(source, _head(path, MAX_PAGE_BYTES + 1), url)
    elif not piped and not path.exists():
        yield Refused(source, "invalid", "No such file or folder; an address begins with https:// or http://")
    else:
        # Everything that `assay publish` takes: JSON lines, TSV, folders.
        from streams.publish.entries import SourceError
        from streams.publish.event_lines import read_pages

        try:
            for found in read_pages(path, PAGES_CRAWLED, passed):
                if isinstance(found.event, CrawledPage):
                    yield found.event
                elif isinstance(found.event, Dead):
                    yield Refused(found.place, found.event.reason, found.event.detail)
        except SourceError as error:
            yield Refused(str(path), "unreadable", str(error))


def _html(place: str, body: bytes, url: str) -> CrawledPage | Refused:
    if not body.strip():
        return Refused(place, "invalid", "it is empty")
    return _page(place, {"url": url or "https://file.invalid/" + quote(Path(place).name), "html_base64": body})


def _page(place: str, fields: dict[str, Any]) -> CrawledPage | Refused:
    try:
        return CrawledPage.model_validate(fields)
    except ValidationError as error:
        return Refused(place, "invalid", refusal(error).detail)


def _head(path: Path, most: int = 64) -> bytes:
    with path.open("rb") as file:
        return file.read(most)


def _begins_with(head: bytes, sign: bytes) -> bool:
    """Whether a text begins with a sign, behind byte order marks and white space."""
    return head.lstrip(b"\xef\xbb\xbf\xff\xfe\0 \t\r\n").startswith(sign)


def _write_json(result: Result) -> None:
    if isinstance(result, Refused):
        say_json({"page": result.place, "refused": result.kind, "detail": result.detail})
        return
    event = result.to_wire()
    fields = ("state", "hidden_text", "injection_suspected", "date", "authors", "language", "title", "summary")
    say_json({"url": result.url} | result.decision() | {name: event[name] for name in fields})


def _write_markdown(result: Result, *, is_named: bool) -> None:
    """Prints a page as Markdown; ``is_named``: below its address, as one of several pages."""
    if isinstance(result, Refused):
        tell("score", f"{result.place}: {result.kind}: {result.detail}")
        return
    if is_named:
        say(f"<!-- {result.url} -->", "")
    say(*render_markdown(result.content, result.blocks, result.title).split("\n"), *[""] * is_named)


class _Screen:
    def __init__(self) -> None:
        self._width = shutil.get_terminal_size().columns
        self._first: Result | None = None
        self._states = Counter[str]()
        self._tiers = Counter({"A": 0, "B": 0, "C": 0, "refused": 0})

    def show(self, result: Result) -> None:
        """Shows a result; the first one waits until it is known whether it is the only one."""
        self._tiers["refused" if isinstance(result, Refused) else result.tier] += 1
        if not isinstance(result, Refused) and result.state is not State.CONTENT:
            self._states[result.state] += 1
        if self._tiers.total() == 1:
            self._first = result
            return
        if self._first is not None:
            say("score  tier  label   date, state   page")
            self._row(self._first)
            self._first = None
        self._row(result)

    def close(self) -> None:
        if self._first is not None:
            self._whole(self._first)
        elif self._tiers.total():
            counts = ", ".join(f"{tier} {count}" for tier, count in self._tiers.items())
            states = ", ".join(f"{state} {count}" for state, count in self._states.most_common())
            say(f"{self._tiers.total()} pages: {counts}{f'; without content: {states}' if states else ''}")

    def _row(self, result: Result) -> None:
        if isinstance(result, Refused):
            line = f"    -  -     {result.kind}: {result.place}: {result.detail}"
        else:
            score = "-" if result.cts_score is None else str(result.cts_score)
            line = f"{score:>5}  {result.tier}     {result.trust_label:<6}  {_shown_day(result):<12}  {result.url}"
        self._print(line)

    def _whole(self, result: Result) -> None:
        if isinstance(result, Refused):
            tell("score", f"{result.place}: {result.kind}: {result.detail}")
            return
        self._print(result.title or "(no title)")
        self._print(result.final_url or result.url)
        score = "no score" if result.cts_score is None else f"score {result.cts_score} of 100"
        known = [part for part in (_day(result), ", ".join(result.authors)) if part]
        self._print(f"{score}, tier {result.tier}, label {result.trust_label}" + "".join(f", {part}" for part in known))
        for line in result.cts_breakdown:
            self._print(f"{f'{line.points:+d}' if line.points else '':>5}  {line.reason}")
        if result.parts:
            self._print(f"{f'={result.cts_score}':>5}  {result.parts}")
        for hidden in result.hidden_text:
            self._print(f"       {hidden.in_words()}")
        if result.injection_suspected:
            self._print(f"       addresses a language model: {result.injection_suspected}")
        if result.summary:
            say(textwrap.shorten(result.summary, 2 * self._width, placeholder=" …"))

    def _print(self, line: str) -> None:
        say(printable(line, self._width - 2))  # and the sign that it was cut


def _shown_day(page: ScoredPage) -> str:
    """The date of a page with content, else the state."""
    return _day(page) if page.state is State.CONTENT else page.state


def _day(page: ScoredPage) -> str:
    return str(page.to_wire()["date"] or "")[:10]
