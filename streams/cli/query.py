"""``assay query``: ranks the index, or candidates from a file, for a query, and explains each result.

Examples:
    assay query "carbon tax" --tier A --since 2025-01-01
    echo 台北 展覽 | assay query - --json
    assay query "carbon tax" --candidates pages.jsonl --without mmr
    assay query "carbon tax" --prompt analyst
"""

from __future__ import annotations

import asyncio
import json
import math
import sys
import time
from contextlib import nullcontext
from dataclasses import dataclass
from pathlib import Path
from typing import Annotated, Any, Literal
from uuid import uuid4

import typer
from pydantic import SecretStr, ValidationError
from rich.console import Console

from handlers.reasoning.context import order_sources, role_messages
from schemas.queries import MAX_CANDIDATES, MAX_QUERY_CHARACTERS, RankingRequested
from schemas.ranking import RankingCompleted
from streams.cli.options import AsJson, Config, Domains, Since, Tags, Tiers, Until, load_settings
from streams.cli.output import printable, tell
from streams.cli.query_screen import print_results
from streams.publish.entries import UNREADABLE, explain, opened
from streams.publish.event_lines import values_in
from streams.query.access import NoQueriesError, open_queries
from streams.query.engine import Refusal
from streams.query.remote import RemoteQueries, check_address
from streams.settings.model import Settings
from streams.telemetry.setup import configure_logs
from streams.topology import TOPIC_BYTES
from streams.topology.codec import refusal

Role = Literal["analyst", "critic", "writer"]
_LINES = "\n"
_LONGEST_INPUT = 4 * MAX_QUERY_CHARACTERS + 1
"""Bytes of standard input; a longer query is refused."""


_STAGES = ("bm25", "ranking", "trees", "mmr", "reasoning")
"""The stages that ``--without`` can leave out."""


def query(
    text: Annotated[str, typer.Argument(help="The question; - reads it from standard input.")],
    limit: Annotated[int | None, typer.Option(min=1, max=100, help="Results; ranking.limit by default.")] = None,
    tier: Tiers = None,
    domain: Domains = None,
    tag: Tags = None,
    since: Since = None,
    until: Until = None,
    candidates: Annotated[
        Path | None, typer.Option(help="Rank these instead of the index's: one a line, or an array.")
    ] = None,
    without: Annotated[
        list[str] | None,
        typer.Option(metavar="STAGE", help=f"Leave a stage out, of {', '.join(_STAGES)}; repeatable."),
    ] = None,
    no_model: Annotated[bool, typer.Option("--no-model", help="Ask the offline judge instead of a model.")] = False,
    context: Annotated[bool, typer.Option("--context", help="Print the context that a model would get.")] = False,
    prompt: Annotated[Role | None, typer.Option(help="Print the prompt of this role.")] = None,
    app: Annotated[str, typer.Option(metavar="URL", help="URL of a running worker; detected by default.")] = "",
    as_json: AsJson = False,
    config: Config = None,
) -> int:
    """Search the index and explain the rank of each result.

    assay query "carbon tax 2025" --tier A --since 2025-01-01
    """
    if context and prompt:
        raise typer.BadParameter("it cannot be used with --context", param_hint="'--prompt'")
    if app and (without or no_model):
        raise typer.BadParameter("that application's configuration decides; leave it out", param_hint="'--without'")
    if unknown := set(without or ()) - set(_STAGES):
        raise typer.BadParameter(
            f"{min(unknown)!r} is not a stage; there are {', '.join(_STAGES)}", param_hint="'--without'"
        )
    options = QueryOptions(
        text=text,
        limit=limit,
        tiers=tuple(tier or ()),
        domains=tuple(domain or ()),
        tags=tuple(tag or ()),
        since=since,
        until=until,
        candidates=candidates,
        without=frozenset(without or ()),
        no_model=no_model,
        context=context,
        prompt=prompt,
        app=app,
        as_json=as_json,
    )
    return run_query(load_settings(config), options)


@dataclass(frozen=True, slots=True, kw_only=True)
class QueryOptions:
    """The query, where it goes, and what is printed; also of ``assay answer``."""

    text: str
    limit: int | None = None
    tiers: tuple[str, ...] = ()
    domains: tuple[str, ...] = ()
    tags: tuple[str, ...] = ()
    since: str | None = None
    until: str | None = None
    candidates: Path | None = None
    without: frozenset[str] = frozenset()
    no_model: bool = False
    context: bool = False
    prompt: Role | None = None
    app: str = ""
    as_json: bool = False


def run_query(settings: Settings, options: QueryOptions) -> int:
    """Runs a query and prints the results; 1 if no index or model answered, 2 for a wrong request."""
    # The log would be among the results, so it shows errors only unless the level is set.
    level = settings.logs.level if "level" in settings.logs.model_fields_set else "error"
    configure_logs(level, settings.logs.format)
    request = request_of(options)
    if isinstance(request, str):
        return failed("query", request, 2)
    settings = switched(settings, options)
    began = time.monotonic()
    try:
        with _waiting(options.as_json):
            answer, place = asyncio.run(_ask(settings, options, request))
    except NoQueriesError as error:
        return failed("query", str(error), 1)
    if isinstance(answer, Refusal):
        return failed("query", in_words(answer), 2 if answer.reason == "invalid" else 1)
    _show(answer, settings, options, time.monotonic() - began, place)
    return 0


async def _ask(
    settings: Settings, options: QueryOptions, request: RankingRequested
) -> tuple[RankingCompleted | Refusal, str]:
    """The answer, and the application that gave it; "" for this process."""
    given = request.candidates is not None
    async with open_queries(settings, app=options.app, own_candidates=given) as queries:
        place = queries.url if isinstance(queries, RemoteQueries) else ""
        if place and (options.without or options.no_model):
            why = f"--without and --no-model are for this process, and {place} has the index; leave them out"
            return Refusal("invalid", why), place
        return await queries.answer(request), place


def in_words(refusal: Refusal) -> str:
    """Why there is no answer, when to try again, and how to query without the model that did not answer.

    >>> in_words(Refusal("busy", "8 queries are under way already", 0.2))
    '8 queries are under way already (again in 1 s)'
    """
    again = f" (again in {math.ceil(refusal.after_seconds)} s)" if refusal.after_seconds else ""
    return refusal.detail + again + "; --no-model asks no model" * bool(refusal.no_model)


def request_of(options: QueryOptions) -> RankingRequested | str:
    """The request, or what is wrong with the options."""
    if options.app and (problem := check_address(options.app)):
        return f"--app: {problem}"
    text, problem = _asked(options.text)
    if problem:
        return problem
    candidates: list[Any] | None = None
    lines: list[int] = []
    if options.candidates is not None:
        read = _candidates(options.candidates)
        if isinstance(read, str):
            return read
        lines, candidates = [line for line, _ in read], [candidate for _, candidate in read]
    filters = {
        "tiers": options.tiers,
        "domains": options.domains,
        "tags": options.tags,
        "date_from": options.since,
        "date_to": options.until,
    }
    value: dict[str, Any] = {"request_id": str(uuid4()), "query": text, "limit": options.limit, "filters": filters}
    try:
        return RankingRequested.model_validate({**value, "candidates": candidates})
    except ValidationError as error:
        of_candidate = next((item["loc"] for item in error.errors() if item["loc"][:1] == ("candidates",)), ())
        if len(of_candidate) < 2 or not isinstance(number := of_candidate[1], int):
            return refusal(error).detail
        where = f"line {lines[number]}" if lines[number] else f"candidate {number + 1}"
        return f"{options.candidates}, {where}: {refusal(error).detail}"


def _asked(text: str) -> tuple[str, str]:
    """The query, and what is wrong with it."""
    # Bytes of the command line that are not UTF-8 come as surrogates.
    raw = sys.stdin.buffer.read(_LONGEST_INPUT) if text == "-" else text.encode("utf-8", "surrogateescape")
    try:
        text = raw.decode("utf-8").strip()
    except UnicodeDecodeError as error:
        if len(raw) < _LONGEST_INPUT or error.reason != "unexpected end of data":
            return "", "the query is not UTF-8; convert it with `iconv -t UTF-8`"
        text = raw.decode("utf-8", "ignore")
    if not text:
        return "", "query must not be empty"
    if len(text) > MAX_QUERY_CHARACTERS:
        return "", f"the query is longer than {MAX_QUERY_CHARACTERS} characters; ask for less at once"
    return text, ""


def _candidates(path: Path) -> list[tuple[int, Any]] | str:
    """The candidates of a file with their line numbers, 0 in a JSON array; or what is wrong with the file."""
    try:
        with opened(path) as source:
            content = source.read(TOPIC_BYTES + 1)
    except UNREADABLE as error:
        return f"{path}: {explain(error)}"
    if len(content) > TOPIC_BYTES:
        return f"{path}: more than {TOPIC_BYTES} bytes of candidates; give fewer"
    found: list[tuple[int, Any]] = []
    number = 0
    try:
        if content.lstrip().startswith(b"["):
            found = [(0, candidate) for candidate in json.loads(content)]
        else:
            for number, line in enumerate(content.splitlines(), 1):
                found += [(number, json.loads(value)) for value, _ in values_in(line)] if line.strip() else []
    except (ValueError, RecursionError):
        where = f", line {number}" if number else ""
        return f'{path}{where}: not JSON; one candidate a line is needed, {{"url": …, "title": …, "content": …}}'
    if len(found) > MAX_CANDIDATES:
        return f"{path}: {len(found)} candidates, {MAX_CANDIDATES} at most"
    return found


def switched(settings: Settings, options: QueryOptions) -> Settings:
    """The settings without the stages of ``--without`` (R-257)."""
    ranking, reasoning = settings.ranking, settings.reasoning
    off: dict[str, Any] = {}
    for stage, section in (("bm25", "bm25"), ("ranking", "model_ranking"), ("mmr", "mmr")):
        if stage in options.without:
            off[section] = getattr(ranking, section).model_copy(update={"enabled": False})
    if "trees" in options.without:
        off["trees"] = ranking.trees.model_copy(update={"mode": "off"})
    if "reasoning" in options.without:
        reasoning = reasoning.model_copy(update={"enabled": False})
    llm = settings.llm
    if options.no_model:
        llm = llm.model_copy(update={"base_url": "", "api_key": SecretStr("")})
    ranking = ranking.model_copy(update=off)
    return settings.model_copy(update={"ranking": ranking, "reasoning": reasoning, "llm": llm})


def _show(answer: RankingCompleted, settings: Settings, options: QueryOptions, seconds: float, place: str) -> None:
    if options.prompt is not None:
        sources = order_sources(answer.results)
        messages = role_messages(options.prompt, answer.query, sources, (), settings.reasoning, settings.prompts)
        if options.as_json:
            print(json.dumps([{"role": one.role, "content": one.content} for one in messages], ensure_ascii=False))
        else:
            print("\n\n".join(f"--- {one.role} ---\n{printable(one.content, keep=_LINES)}" for one in messages))
    elif options.as_json:
        print(answer.to_json().decode())
    elif options.context:
        print(printable(answer.context, keep=_LINES))
    else:
        print_results(answer, seconds, place)


def _waiting(as_json: bool) -> Any:
    """Shows on a terminal that the query is under way."""
    if as_json or not sys.stderr.isatty():
        return nullcontext()
    return Console(stderr=True).status("asking …")


def failed(command: str, problem: str, status: int) -> int:
    """Prints why there is no answer, on one line, and returns the status."""
    return tell(command, " ".join(printable(problem, keep=_LINES).split()), status)
