"""``assay score``: how far pages can be trusted, and why. The pages are addresses, files, folders or standard input.

The command imports neither the other handlers nor Kafka, so its first line comes at once.
"""

from __future__ import annotations

import asyncio
import shutil
import sys
from collections import Counter, deque
from collections.abc import AsyncGenerator, AsyncIterator, Callable, Iterator
from contextlib import aclosing
from functools import partial
from pathlib import Path
from typing import Annotated, Any, NamedTuple
from urllib.parse import quote

from pydantic import BaseModel, ValidationError
from typer import Argument, BadParameter, Option

from handlers.html.encoding import not_a_page
from handlers.html.markdown import render_markdown
from handlers.score_page import ScorePageRules, score_page
from schemas.addresses import without_user
from schemas.outcome import Dead, Emit
from schemas.pages import MAX_PAGE_BYTES, CrawledPage, ScoredPage
from schemas.states import State
from streams.cli.command import AsJson, Config
from streams.cli.output import LABEL_STYLE, say, say_json, tell
from streams.cli.progress import ProgressLine
from streams.fetch.settings import FetchSettings
from streams.publish.sources import UNKNOWN, is_page, page_list
from streams.publish.warc import is_archive
from streams.runtime.amounts import in_kinds
from streams.runtime.terminal import printable
from streams.settings.lazy import LazySettings
from streams.topology import PAGES_CRAWLED
from streams.topology.codec import refusal
from streams.workers.pool import WorkerPool
from streams.workers.settings import WorkersSettings, cores

_STANDARD_INPUT = "-"
_WEB = ("http://", "https://")
_MANY = (".jsonl", ".ndjson", ".tsv", ".gz")
_PLAIN_WIDTH = 100
_BEFORE_PAGE = 50  # the columns before the address


class _Sections(BaseModel):
    fetch: FetchSettings = FetchSettings()
    workers: WorkersSettings = WorkersSettings()


class Refused(NamedTuple):
    place: str
    kind: str
    detail: str


Result = ScoredPage | Refused


def score(
    sources: Annotated[list[str], Argument(help="Addresses, HTML or WARC files, JSON lines, folders; - is stdin.")],
    url: Annotated[str, Option(help="The address of the page of a file or of standard input.")] = "",
    strict: Annotated[bool, Option("--strict", help="Exit with 1 also if a page has no content.")] = False,
    as_table: Annotated[bool, Option("--table", help="Print for people, also if the output is no terminal.")] = False,
    as_json: AsJson = False,
    as_markdown: Annotated[bool, Option("--markdown", help="Print the main text of each page as Markdown.")] = False,
    config: Config = None,
) -> int:
    """It shows score, tier, label, date, state and address, and for one page the reason for every point.

    It writes JSON lines with --json, and if the output is no terminal. With --markdown it prints the main text instead.
    The exit status is 1 if a page cannot be read. The pages of a folder named news.example are those of that host.
    """
    if as_table + as_json + as_markdown > 1:
        raise BadParameter("use one of --table, --json and --markdown")
    if url and (len(sources) > 1 or Path(sources[0]).is_dir()):
        raise BadParameter(
            "it is the address of one page; a folder has theirs in its cases.jsonl", param_hint="'--url'"
        )
    settings = LazySettings(config)
    rules, sections = settings.of(ScorePageRules), settings.of(_Sections)
    for_people = as_table or (sys.stdout.isatty() and not (as_json or as_markdown))
    table = _Table() if for_people else None
    write = _markdown_writer(len(sources) > 1 or Path(sources[0]).is_dir()) if as_markdown else _write_json
    refused, passed = 0, Counter[str]()
    line = ProgressLine("score", "scoring", unit="pages", quiet=sys.stdout.isatty())

    async def work() -> None:
        nonlocal refused
        pages = _pages(sources, url, sections.fetch, passed)
        async with aclosing(scored_pages(pages, rules, sections.workers)) as results:
            async for result in results:
                refused += isinstance(result, Refused) or (strict and result.state is not State.CONTENT)
                (table.add if table else write)(result)
                advance()

    with line as advance:
        try:
            asyncio.run(work())
        finally:
            if table is not None:
                table.close()
            if kinds := in_kinds(passed):
                tell("score", kinds)
    return 1 if refused else 0


async def scored_pages(
    pages: AsyncIterator[CrawledPage | Refused], rules: ScorePageRules, workers: WorkersSettings
) -> AsyncGenerator[Result, None]:
    """The results in the order of the pages, from as many children as there are cores."""
    decide = partial(score_page, rules=rules)
    if workers.processes == 0:
        async for page in pages:
            yield page if isinstance(page, Refused) else _result(page, decide(page))
        return
    pool = WorkerPool(lambda: decide, cores(), workers.limits, how="fork")
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
    from streams.fetch.worker import FetchWorker, crawled_fields
    from streams.runtime.process import structlog_to_logging

    structlog_to_logging()
    pages: dict[str, CrawledPage | Refused] = {}
    async with FetchWorker(settings) as worker:
        for reply in (await worker.fetch(FetchPages(tuple(dict.fromkeys(urls)), ""))).pages:
            if isinstance(reply, FetchedPage):
                pages[reply.url] = _page(reply.url, crawled_fields(reply))
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
    elif path.is_file() and _is_alone(path):
        is_named = is_page(path) or _begins_with(_head(path), b"<")
        yield _html(source, _head(path, MAX_PAGE_BYTES + 1), url, is_text=not is_named)
    elif not piped and not path.exists():
        yield Refused(source, "invalid", "No such file or folder; an address begins with https:// or http://")
    else:
        # Everything that `assay publish` takes: JSON lines, TSV, archives, folders.
        from streams.publish.entries import SourceError
        from streams.publish.sources import read_pages

        if path.is_dir() and page_list(path) is None:
            others = (file for file in path.rglob("*") if file.is_file() and not is_page(file))
            passed.update(file.suffix.lower().removeprefix(".") or "without suffix" for file in others)
        try:
            for found in read_pages(path, PAGES_CRAWLED, passed):
                if isinstance(found.event, CrawledPage):
                    yield found.event
                elif isinstance(found.event, Dead):
                    yield Refused(found.place, found.event.reason, found.event.detail)
        except SourceError as error:
            yield Refused(str(path), "unreadable", str(error))


def _html(place: str, body: bytes, url: str, *, is_text: bool = False) -> CrawledPage | Refused:
    if not body.strip():
        return Refused(place, "invalid", "it is empty")
    if (is_text or b"<" not in body) and not_a_page(body, None) is None:
        return Refused(place, "unreadable_page", "plain text; extracted text goes into JSON lines, as `content`")
    return _page(place, {"url": url or UNKNOWN + quote(Path(place).name), "html_base64": body})


def _is_alone(path: Path) -> bool:
    """Whether a file is one page, or what is no page, and not lines or an archive of pages."""
    if path.name.lower().endswith(_MANY) or is_archive(path):
        return False
    return not _begins_with(_head(path), b"{")


def _page(place: str, fields: dict[str, Any]) -> CrawledPage | Refused:
    try:
        return CrawledPage.model_validate(fields)
    except ValidationError as error:
        return Refused(place, "invalid", refusal(error).detail)


def _head(path: Path, most: int = 64) -> bytes:
    with path.open("rb") as file:
        return file.read(most)


def _begins_with(head: bytes, sign: bytes) -> bool:
    return head.lstrip(b"\xef\xbb\xbf\xff\xfe\0 \t\r\n").startswith(sign)


def _write_json(result: Result) -> None:
    if isinstance(result, Refused):
        say_json({"page": result.place, "refused": result.kind, "detail": result.detail})
        return
    event = result.to_wire()
    fields = ("state", "hidden_text", "injection_suspected", "date", "authors", "language", "title", "summary")
    say_json({"url": result.url} | result.decision() | {name: event[name] for name in fields})


def _markdown_writer(is_named: bool) -> Callable[[Result], None]:
    """Prints pages as Markdown; ``is_named``: below their addresses, as some of several pages."""

    def write(result: Result) -> None:
        if isinstance(result, Refused):
            tell("score", f"{result.place}: {result.kind}: {result.detail}")
            return
        if is_named:
            say(f"<!-- {result.url} -->", "")
        say(*render_markdown(result.content, result.blocks, result.title, result.entries).split("\n"), *[""] * is_named)

    return write


class _Table:
    """A line for each page, or one page with all its reasons."""

    def __init__(self) -> None:
        from streams.views.screen import Screen  # JSON needs no styles

        width = shutil.get_terminal_size((_PLAIN_WIDTH, 0)).columns
        self._screen = Screen(width=width, soft_wrap=True)
        self._first: Result | None = None
        self._states = Counter[str]()
        self._tiers = Counter({"A": 0, "B": 0, "C": 0, "refused": 0})

    def add(self, result: Result) -> None:
        """Shows a result; the first one waits until it is known whether it is the only one."""
        self._tiers["refused" if isinstance(result, Refused) else result.tier] += 1
        if not isinstance(result, Refused) and result.state is not State.CONTENT:
            self._states[result.state] += 1
        if self._tiers.total() == 1:
            self._first = result
            return
        if self._first is not None:
            self._print(("score  tier  label   date        state         page", "bold"))
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
            self._print((f"{'-':>5}  -     {result.kind}: {_short(result.place, 40)}: {result.detail}", "dim"))
            return
        score, empty = "-" if result.cts_score is None else str(result.cts_score), result.state is not State.CONTENT
        self._print(
            (f"{score:>5}  {result.tier:<4}  ", "dim" if empty else ""),
            (f"{result.trust_label:<6}  ", "dim" if empty else LABEL_STYLE[result.trust_label]),
            (f"{_day(result):<10}  ", ""),
            (f"{result.state:<12}  ", "yellow" if empty else "dim"),
            (_short(result.url, self._screen.width - _BEFORE_PAGE), "dim" if empty else ""),
        )

    def _whole(self, page: Result) -> None:
        if isinstance(page, Refused):
            tell("score", f"{page.place}: {page.kind}: {page.detail}")
            return
        self._print((page.title or "(no title)", "bold"))
        self._print((_short(page.final_url or page.url, self._screen.width), "dim"))
        score = "no score" if page.cts_score is None else f"score {page.cts_score} of 100"
        state = "" if page.state is State.CONTENT else f"no content ({page.state})"
        known = [part for part in (state, _day(page), ", ".join(page.authors), page.language) if part]
        head = f"{score}, tier {page.tier}, label "
        self._print(
            (head, ""), (page.trust_label, LABEL_STYLE[page.trust_label]), ("".join(f", {k}" for k in known), "")
        )
        for line in page.cts_breakdown:
            points = f"{f'{line.points:+d}' if line.points else '':>5}"
            self._print(
                (points, "green" if line.points > 0 else "red"), (f"  {line.reason}", "" if line.points else "dim")
            )
        if page.parts:
            self._print((f"{f'={page.cts_score}':>5}  {page.parts}", "bold"))
        if page.url.startswith(UNKNOWN):
            self._print(("       its address is not known: --url names it", "yellow"))
        for hidden in page.hidden_text:
            if hidden.outcome == "quarantined":
                self._print((f"       {hidden.in_words()}", "red"))
        if page.injection_suspected:
            self._print((f"       addresses a language model: {page.injection_suspected}", "red"))
        if page.summary:
            self._print((page.summary, "dim"), most=2 * self._screen.width)

    def _print(self, *parts: tuple[str, str], most: int = 0) -> None:
        from rich.text import Text

        left, shown = most or self._screen.width - 1, Text()
        for text, style in parts:
            text = printable(" ".join(text.split(" ")), max(0, left - 1))
            shown.append(text, style)
            left -= len(text)
        self._screen.print(shown)


def _short(url: str, most: int) -> str:
    """An address or a path without its scheme; a long one has its host and its end.

    >>> _short("https://www.a.example/news/2026/storm-closes-two-harbours", 36)
    'a.example/…storm-closes-two-harbours'
    """
    place = url.removeprefix(UNKNOWN).removeprefix("https://").removeprefix("http://").removeprefix("www.")
    if len(place) <= most:
        return place
    host, _, _ = place.partition("/")
    end = place[-max(8, most - len(host) - 2) :]
    return f"{host}/…{end[end.find('/') :] if '/' in end[:-1] else end}"


def _day(page: ScoredPage) -> str:
    return str(page.to_wire()["date"] or "")[:10]
