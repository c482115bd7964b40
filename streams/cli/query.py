"""``assay query``: ranks the index, or candidates from a file, for a query, and explains each result."""

from __future__ import annotations

import asyncio
import json
import math
import sys
import time
from collections.abc import Callable, Coroutine, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Annotated, Any, Literal
from uuid import uuid4

from pydantic import SecretStr, ValidationError
from rich.table import Table
from rich.text import Text
from typer import Argument, BadParameter, Option

from handlers.html.links import host_of
from handlers.reasoning.context import order_sources, role_messages
from schemas.queries import MAX_CANDIDATES, MAX_QUERY_CHARACTERS, RankingRequested
from schemas.ranking import RankedResult, RankingCompleted, StageName, StageOutcome
from streams.cli.command import AsJson, CommandError, Config, load_settings
from streams.cli.output import LABEL_STYLE, say, say_json, show, text_console
from streams.publish.entries import UNREADABLE, explain, opened
from streams.publish.sources import values_in
from streams.query.engine import Refusal
from streams.settings.model import Settings
from streams.telemetry.setup import configure_logs
from streams.topology import TOPIC_BYTES
from streams.topology.codec import refusal
from streams.views.screen import Screen

Role = Literal["analyst", "critic", "writer"]
_LONGEST_INPUT = 4 * MAX_QUERY_CHARACTERS + 1  # bytes of standard input; a longer query is refused
_FILL_IT = (
    "Is the index filled (`assay run` indexes pages as they come, `assay doctor` says what is in it)? "
    "Where it is, filters such as --tier or --since may be too narrow."
)
_SHOWN_CHARACTERS = 300  # of a title, an address, or a reason
_SECTIONS = {"bm25": "bm25", "ranking": "model_ranking", "trees": "trees", "mmr": "mmr", "reasoning": ""}
"""The stages that ``--without`` can leave out, with their sections in ``ranking``; reasoning has its own."""
_STAGES = ", ".join(_SECTIONS)


@dataclass(frozen=True, slots=True, kw_only=True)
class Question:
    """The options of a question: to the index, or about other candidates."""

    text: Annotated[str, Argument(help="The question; - reads it from standard input.")]
    limit: Annotated[int | None, Option(min=1, max=100, help="Results; ranking.limit by default.")] = None
    tier: Annotated[list[str] | None, Option(help="Tier of the index, A, B or C; repeatable.")] = None
    domain: Annotated[list[str] | None, Option(help="A domain or host; repeatable.")] = None
    tag: Annotated[list[str] | None, Option(help="news, academic, government, blog; repeatable.")] = None
    since: Annotated[str | None, Option(help="Published on this day or later, such as 2025-01-31.")] = None
    until: Annotated[str | None, Option(help="Published on this day or earlier.")] = None
    candidates: Annotated[Path | None, Option(help="Rank these instead of the index's: one a line, or an array.")] = (
        None
    )
    no_model: Annotated[bool, Option("--no-model", help="Ask the offline judge instead of a model.")] = False
    app: Annotated[str, Option(metavar="URL", help="URL of a running worker; detected by default.")] = ""
    as_json: AsJson = False
    config: Config = None


@dataclass(frozen=True, slots=True, kw_only=True)
class Query(Question):
    without: Annotated[
        list[str] | None, Option(metavar="STAGE", help=f"Leave a stage out, of {_STAGES}; repeatable.")
    ] = None
    context: Annotated[bool, Option("--context", help="Print the context that a model would get.")] = False
    prompt: Annotated[Role | None, Option(help="Print the prompt of this role.")] = None


def query(asked: Query) -> int:
    """Such as: `assay query "carbon tax 2025" --tier A --since 2025-01-01`."""
    if asked.context and asked.prompt:
        raise BadParameter("it cannot be used with --context", param_hint="'--prompt'")
    if asked.app and (asked.without or asked.no_model):
        raise BadParameter("that application's configuration decides; leave it out", param_hint="'--without'")
    if unknown := set(asked.without or ()) - _SECTIONS.keys():
        raise BadParameter(f"{min(unknown)!r} is not a stage; there are {_STAGES}", param_hint="'--without'")
    return run_query(load_settings(asked.config), asked)


def run_query(settings: Settings, asked: Query) -> int:
    async def search(settings: Settings, request: RankingRequested) -> Refusal | None:
        from streams.query.access import RemoteQueries, open_queries

        began, own = time.monotonic(), request.candidates is not None
        with steps_shown(asked.as_json or not sys.stderr.isatty()) as show_step:
            show_step("asking")
            async with open_queries(settings, app=asked.app, own_candidates=own) as queries:
                place = queries.url if isinstance(queries, RemoteQueries) else ""
                if place and (asked.without or asked.no_model):
                    why = f"--without and --no-model are for this process, and {place} has the index; leave them out"
                    return Refusal("invalid", why)
                answer = await queries.answer(request)
        if isinstance(answer, Refusal):
            return answer
        _show(answer, settings, asked, time.monotonic() - began, place)
        return None

    return run_search(_switched(settings, frozenset(asked.without or ())), asked, search)


Search = Callable[[Settings, RankingRequested], Coroutine[Any, Any, Refusal | None]]
"""Asks and prints the answer; or a refusal."""


def run_search(settings: Settings, asked: Question, search: Search) -> int:
    """Runs the search of a command; 1 if no index or model answered, 2 for a wrong request."""
    # The log would be among the results, so it shows errors only unless the level is set.
    level = settings.logs.level if "level" in settings.logs.model_fields_set else "error"
    configure_logs(level, settings.logs.format)
    if asked.no_model:
        llm = settings.llm.model_copy(update={"base_url": "", "api_key": SecretStr("")})
        settings = settings.model_copy(update={"llm": llm})
    if (refused := asyncio.run(search(settings, _request_of(asked)))) is None:
        return 0
    raise CommandError(in_words(refused), 2 if refused.reason == "invalid" else 1)


@contextmanager
def steps_shown(quiet: bool) -> Iterator[Callable[[str], None]]:
    """Shows the current step: on a terminal in one line that changes, elsewhere in lines."""
    if quiet:
        yield lambda _: None
    elif not sys.stderr.isatty():
        yield lambda step: say(f"{step} …", to=sys.stderr)
    else:
        with Screen(stderr=True).status("") as status:
            yield lambda step: status.update(Text(f"{step} …"))


def in_words(refusal: Refusal) -> str:
    """Why there is no answer, when to try again, and how to query without the model that did not answer.

    >>> in_words(Refusal("busy", "8 queries are under way already", 0.2))
    '8 queries are under way already (again in 1 s)'
    """
    again = f" (again in {math.ceil(refusal.after_seconds)} s)" if refusal.after_seconds else ""
    return refusal.detail + again + "; --no-model asks no model" * bool(refusal.no_model)


def _request_of(asked: Question) -> RankingRequested:
    from streams.query.access import APPLICATION

    try:
        APPLICATION.check(asked.app)
    except ValueError as error:
        raise CommandError(f"--app {error}", 2) from None
    found = _candidates(asked.candidates) if asked.candidates is not None else None
    filters: dict[str, Any] = {"tiers": asked.tier, "domains": asked.domain, "tags": asked.tag}
    value = {
        "request_id": str(uuid4()),
        "query": _asked(asked.text),
        "limit": asked.limit,
        "filters": filters | {"date_from": asked.since, "date_to": asked.until},
        "candidates": None if found is None else [candidate for _, candidate in found],
    }
    try:
        return RankingRequested.model_validate(value)
    except ValidationError as error:
        of_candidate = next((item["loc"] for item in error.errors() if item["loc"][:1] == ("candidates",)), ())
        detail = refusal(error).detail
        if found and len(of_candidate) > 1 and isinstance(number := of_candidate[1], int):
            line = found[number][0]
            detail = f"{asked.candidates}, {f'line {line}' if line else f'candidate {number + 1}'}: {detail}"
        raise CommandError(detail, 2) from None


def _asked(text: str) -> str:
    # Bytes of the command line that are not UTF-8 come as surrogates.
    raw = sys.stdin.buffer.read(_LONGEST_INPUT) if text == "-" else text.encode("utf-8", "surrogateescape")
    try:
        text = raw.decode("utf-8").strip()
    except UnicodeDecodeError as error:
        if len(raw) < _LONGEST_INPUT or error.reason != "unexpected end of data":
            raise CommandError("the query is not UTF-8; convert it with `iconv -t UTF-8`", 2) from None
        text = raw.decode("utf-8", "ignore")
    if not text:
        raise CommandError("query must not be empty", 2)
    if len(text) > MAX_QUERY_CHARACTERS:
        raise CommandError(f"the query is longer than {MAX_QUERY_CHARACTERS} characters; ask for less at once", 2)
    return text


def _candidates(path: Path) -> list[tuple[int, Any]]:
    """The candidates of a file with their line numbers, 0 in a JSON array."""
    try:
        with opened(path) as source:
            content = source.read(TOPIC_BYTES + 1)
    except UNREADABLE as error:
        raise CommandError(f"{path}: {explain(error)}", 2) from None
    if len(content) > TOPIC_BYTES:
        raise CommandError(f"{path}: more than {TOPIC_BYTES} bytes of candidates; give fewer", 2)
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
        needed = 'one candidate a line is needed, {"url": …, "title": …, "content": …}'
        raise CommandError(f"{path}{where}: not JSON; {needed}", 2) from None
    if len(found) > MAX_CANDIDATES:
        raise CommandError(f"{path}: {len(found)} candidates, {MAX_CANDIDATES} at most", 2)
    return found


def _switched(settings: Settings, without: frozenset[str]) -> Settings:
    ranking, reasoning = settings.ranking, settings.reasoning
    off: dict[str, Any] = {}
    for stage in without - {"reasoning"}:
        section, switch = _SECTIONS[stage], {"mode": "off"} if stage == "trees" else {"enabled": False}
        off[section] = getattr(ranking, section).model_copy(update=switch)
    if "reasoning" in without:
        reasoning = reasoning.model_copy(update={"enabled": False})
    return settings.model_copy(update={"ranking": ranking.model_copy(update=off), "reasoning": reasoning})


def _show(answer: RankingCompleted, settings: Settings, asked: Query, seconds: float, place: str) -> None:
    if asked.prompt is not None:
        sources = order_sources(answer.results)
        messages = role_messages(asked.prompt, answer.query, sources, (), settings.reasoning, settings.prompts)
        lines = "\n\n".join(f"--- {message.role} ---\n{message.content}" for message in messages).split("\n")
        show(asked.as_json, [{"role": message.role, "content": message.content} for message in messages], *lines)
    elif asked.as_json:
        say_json(answer.to_json())
    elif asked.context:
        say(*("Nothing relevant found." if answer.nothing_relevant else answer.context).split("\n"))
    else:
        print_results(answer, seconds, place)


def print_results(answer: RankingCompleted, seconds: float, place: str) -> None:
    console = text_console()
    console.print(_head(answer))
    if answer.results:
        console.print()
        if answer.nothing_relevant:
            console.print(
                Text("Nothing relevant found. The results below have few or none of the query's words.\n", style="bold")
            )
        console.print(_table(answer.results))
        if any(result.reasoning_metadata.label_source == "fallback" for result in answer.results):
            console.print(Text("* the page has no score: by the tier of its source", style="dim"))
    else:
        searched = any(note.stage is StageName.RETRIEVAL and note.outcome is StageOutcome.RAN for note in answer.notes)
        console.print(Text("\nno results", style="bold"))
        none = "None of the candidates fits; are filters such as --tier or --since too narrow?"
        console.print(_FILL_IT if searched else none)
    console.print()
    console.print(Text(_summary(answer, seconds, place)))


def _table(results: tuple[RankedResult, ...]) -> Table:
    table = Table.grid(padding=(0, 2, 0, 0))
    table.add_column(justify="right", no_wrap=True)
    table.add_column(no_wrap=True)
    table.add_column(ratio=1, overflow="fold")
    table.add_column(justify="right", no_wrap=True)
    for result in results:
        fallback = result.reasoning_metadata.label_source == "fallback"
        label = Text(result.trust_label + "*" * fallback, style=LABEL_STYLE[result.trust_label])
        cts = "no CTS" if result.cts_score is None else f"CTS {result.cts_score}"
        lines = [
            (_cut(result.title) or "(no title)", "bold"),
            (", ".join(_cut(fact) for fact in (host_of(result.url), result.date, cts) if fact), "dim"),
            ("; ".join(_cut(reason) for reason in result.reasons), ""),
            (_cut(result.url), "dim"),
        ]
        about = Text("\n").join([Text(text, style=style) for text, style in lines if text])
        table.add_row(Text(str(result.rank)), label, about, Text(f"{result.score:.2f}"))
    return table


def _head(answer: RankingCompleted) -> Table:
    table = Table.grid(padding=(0, 3, 0, 0))
    table.add_column(style="dim", no_wrap=True)
    table.add_column(ratio=1)
    intent, ran = answer.intent, " > ".join(answer.stages) or "none"
    table.add_row("intent", Text.assemble((str(intent.intent), "bold"), f": {_cut(intent.reason)}"))
    table.add_row("stages", Text(ran, style="bold"))
    for note in answer.notes:
        if note.outcome is StageOutcome.RAN and not note.reason:
            continue
        did = "" if note.outcome is StageOutcome.RAN else f" {note.outcome}"
        because = f": {_cut(note.reason)}" if note.reason else ""
        style = "red" if note.outcome is StageOutcome.FAILED else "dim"
        table.add_row("", Text(f"{note.stage}{did}{because}", style=style))
    return table


def _summary(answer: RankingCompleted, seconds: float, place: str) -> str:
    count = len(answer.results)
    parts = [f"{count} result{'' if count == 1 else 's'} in {seconds:.2f} s"]
    if place:
        parts.append(f"answered by {place}")
    if (call := answer.llm) is not None:
        who = "the offline judge" if call.judged_by == "offline" else call.model
        cost = "cost unknown" if call.cost_usd is None else f"${call.cost_usd:.4f}"
        if any(note.stage is StageName.RANKING and note.outcome is StageOutcome.FAILED for note in answer.notes):
            parts.append(f"{who} failed and changed no order, {cost}")
        else:
            parts.append(f"judged by {who}, {cost}" + (", from the journal" if call.cached else ""))
    else:
        parts.append("no judge asked")
    return "; ".join(parts)


def _cut(text: str) -> str:
    text = " ".join(text.split())
    return text if len(text) <= _SHOWN_CHARACTERS else text[: _SHOWN_CHARACTERS - 1] + "…"
