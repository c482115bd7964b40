"""The answers of the tools. Each is a JSON object; a refusal is one too, with its kind, its reasons and what to do.

Every answer leaves through ``for_model``: no page and no server can write a label. What only this installation should
know (a path, an address of a service) is in the log. Pages are fetched with the guarded client, and read in child
processes with limits.
"""

from __future__ import annotations

import asyncio
from collections import defaultdict, deque
from collections.abc import Awaitable, Callable
from datetime import UTC, datetime
from functools import wraps
from typing import Any, ParamSpec, Self
from uuid import uuid4

import structlog
from pydantic import SecretStr, ValidationError

from handlers.html.markdown import render_markdown
from handlers.prompts.untrusted import for_model
from handlers.results.batch import dimension_reasons
from schemas.claims import ClaimStatus
from schemas.event import Event, derive_id
from schemas.mappings import UnknownKeyError, fields_of
from schemas.needs import FetchPages
from schemas.outcome import Drop, Emit, Retry
from schemas.pages import ScoredPage, without_passages
from schemas.queries import RankingCandidate, RankingRequested
from schemas.replies import FetchedPage, FetchFailure
from schemas.retrieval import RetrievedContent
from streams.fetch.guard import Resolver
from streams.fetch.worker import FetchWorker, crawled_fields
from streams.pipeline.local import LocalHandler
from streams.pipeline.services import LiveServices
from streams.query.access import NoQueriesError, open_queries
from streams.query.engine import Refusal as QueryRefusal
from streams.query.engine import query_handler
from streams.runtime.clock import Clock, SystemClock
from streams.settings.model import Settings
from streams.telemetry.metrics import unexposed_metrics
from streams.topology import HANDLERS, Handler
from streams.topology.codec import refusal
from streams.workers.handler_jobs import handler_pool
from streams.workers.pool import WorkerPool

_MINUTE = 60.0
_HANDLERS = {handler.name: handler for handler in HANDLERS}
_SCORE_PAGE, _CLAIM = _HANDLERS["score_page"], _HANDLERS["decontextualize_claim"]
_CLASSIFY, _EVALUATE = _HANDLERS["classify_results"], _HANDLERS["evaluate_retrieval"]
Answer = dict[str, Any]
Arguments = ParamSpec("Arguments")
log = structlog.get_logger("assay.mcp")


def _tool(answers: Callable[Arguments, Awaitable[Answer]]) -> Callable[Arguments, Awaitable[Answer]]:
    @wraps(answers)
    async def answered(*arguments: Arguments.args, **named: Arguments.kwargs) -> Answer:
        shown: Answer = for_model(await answers(*arguments, **named))
        return shown

    return answered


class Tools:
    """Answers the calls of clients, between ``async with``."""

    def __init__(self, settings: Settings, clock: Clock | None = None, resolver: Resolver | None = None) -> None:
        if not settings.mcp.allow_paid:
            free = settings.llm.model_copy(update={"base_url": "", "api_key": SecretStr("")})
            settings = settings.model_copy(update={"llm": free})
        self._settings = settings
        self._clock = clock or SystemClock()
        self._fetcher = FetchWorker(settings.fetch, clock=clock, resolver=resolver)
        self._services = LiveServices(settings, at_once=True)
        self._fetches: defaultdict[str, deque[float]] = defaultdict(deque)
        self._pool: WorkerPool | None = None
        self._handlers: dict[str, LocalHandler] = {}
        self._searching = asyncio.Lock()
        """One search at a time: its end closes the index, because embedded files belong to one process."""

    async def __aenter__(self) -> Self:
        """Starts the child processes. Raises SettingsError and ChildStartError."""
        ranker, settings = query_handler(), self._settings
        chosen = [(handler, settings.rules(handler.rules)) for handler in (_SCORE_PAGE, ranker)]
        self._pool = handler_pool(chosen, settings.workers, unexposed_metrics())
        if self._pool is not None:
            await self._pool.start()
        return self

    async def __aexit__(self, *_: object) -> None:
        if self._pool is not None:
            await self._pool.stop()
        await self._fetcher.aclose()
        await self._services.aclose()

    @_tool
    async def search(self, query: str) -> Answer:
        fields = {"request_id": str(uuid4()), "query": query, "limit": self._settings.mcp.results}
        request = _event(RankingRequested, fields)
        if isinstance(request, dict):
            return request
        try:
            opened = open_queries(self._settings, services=self._services, pool=self._pool)
            async with self._searching, opened as queries:
                answer = await queries.answer(request)
        except NoQueriesError as error:
            remedy = "fill an index with `assay run`, or name one with ASSAY_INDEX__URL"
            return _refused_inside("no_index", str(error), "there is no index that can be searched", remedy)
        if isinstance(answer, QueryRefusal):
            return _refused_inside(answer.reason, answer.detail, "the search was not answered", "ask again later")
        results = [
            {
                "id": result.url,
                "title": result.title,
                "url": result.url,
                "text": result.passage,
                "trust_label": result.trust_label,
                "score": round(result.score, 4),
                "reasons": list(result.reasons),
            }
            for result in answer.results
            if result.relevant
        ]
        return {"results": results, "nothing_relevant": answer.nothing_relevant}

    @_tool
    async def fetch(self, client: str, url: str) -> Answer:
        scored = await self._fetched(client, url)
        if isinstance(scored, dict):
            return scored
        most = self._settings.mcp.max_text_characters
        text = without_passages(scored.content, scored.suspected)
        text = render_markdown(text, scored.blocks, entries=scored.entries)
        return {
            "id": url,
            "title": scored.title,
            "text": text[:most],
            "url": scored.final_url or scored.url,
            "metadata": _judged(scored) | {"cut": len(text) > most},
        }

    @_tool
    async def score(self, client: str, url: str, html: str | None) -> Answer:
        if html is None:
            scored = await self._fetched(client, url)
        else:
            scored = await self._decide(_SCORE_PAGE, {"url": url, "html": html})
        if isinstance(scored, dict):
            return scored
        return {"url": url, "title": scored.title} | _judged(scored)

    @_tool
    async def judge_results(self, query: str, results: Any) -> Answer:
        try:
            given = fields_of(results, "results", RetrievedContent, RankingCandidate)
        except UnknownKeyError as error:
            return _refused("invalid", str(error), "give the known keys")
        now = datetime.now(UTC)
        batch = {"batch_id": str(uuid4()), "query": query, "retrieved_content": given, "requested_at": now}
        classified = await self._decide(_CLASSIFY, batch)
        verdict = classified if isinstance(classified, dict) else await self._decide(_EVALUATE, classified)
        if isinstance(verdict, dict):
            return verdict
        kinds = ("url", "resultType", "actionableScore", "state", "reasons")
        wire, thresholds = classified.to_wire(), self._settings.retrievalEvaluation.dimensionThresholds
        return {
            "passed": verdict.passed,
            "next_step": verdict.next_step,
            "reasons": [*dimension_reasons(verdict, thresholds), *verdict.reasons],
            "fetch": [target.url for target in verdict.extraction_targets if target.skipped is None],
            "results": [{name: result[name] for name in kinds} for result in wire["results"]],
        }

    @_tool
    async def is_claim_self_contained(self, claim: str, source: str) -> Answer:
        fields = {"claim_id": derive_id("mcp", claim, source), "claim_text": claim, "source_text": source}
        evaluated = await self._decide(_CLAIM, fields)
        if isinstance(evaluated, dict):
            return evaluated
        judge = evaluated.llm.judged_by if evaluated.llm else None
        detail = evaluated.detail
        if evaluated.status is ClaimStatus.MODEL_FAILED:
            log.warning("a model failed for a tool", detail=detail)
            detail = "the model failed"
        failure = "" if evaluated.status is ClaimStatus.SUCCESS else str(evaluated.status)
        given = (failure, detail, f"judged by the {judge} judge: {evaluated.band}" if judge else "")
        return {
            "self_contained": evaluated.decontextualization_score,
            "band": str(evaluated.band),
            "truth": "not checked",
            "reasons": [text for text in given if text],
        }

    async def _fetched(self, client: str, url: str) -> Any:
        limit, now = self._settings.mcp.fetches_per_minute, self._clock.monotonic()
        for known, times in list(self._fetches.items()):
            while times and times[0] <= now - _MINUTE:
                times.popleft()
            if not times:
                del self._fetches[known]
        times = self._fetches[client]
        if len(times) >= limit:
            return _refused("rate_limited", f"{limit} pages a minute for a client", "try again in a minute")
        times.append(now)
        [reply] = (await self._fetcher.fetch(FetchPages((url,), ""))).pages
        if not isinstance(reply, FetchedPage):
            if reply.reason is FetchFailure.FORBIDDEN_ADDRESS:  # its detail is what a name inside of the network means
                why = "only hosts and ports of the open Internet are fetched"
                return _refused_inside(reply.reason, reply.detail, why, "try another page")
            is_address = reply.reason not in (FetchFailure.FORBIDDEN_SCHEME, FetchFailure.INVALID_URL)
            remedy = "try another page" if is_address else "give the whole address, with https://"
            return _refused(reply.reason, reply.detail, remedy)
        return await self._decide(_SCORE_PAGE, crawled_fields(reply))

    async def _decide(self, handler: Handler, given: Event | dict[str, Any]) -> Any:
        """The first event of a handler's decision on an event or a client's arguments, or a refusal."""
        event = given if isinstance(given, Event) else _event(handler.consumes.event, given)
        if isinstance(event, dict):
            return event
        if handler.name not in self._handlers:
            self._handlers[handler.name] = LocalHandler(
                self._settings, handler, self._services, self._pool, self._clock
            )
        outcome = await self._handlers[handler.name].decide(event)
        if isinstance(outcome, Emit):
            return outcome.events[0]
        if isinstance(outcome, Retry):
            return _refused_inside(outcome.reason, outcome.detail, "a service did not answer", "try again later")
        return _refused(outcome.reason, "" if isinstance(outcome, Drop) else outcome.detail, "give another input")


def _event(kind: type[Any], fields: dict[str, Any]) -> Any:
    try:
        return kind.model_validate(fields)
    except ValidationError as error:
        return _refused("invalid", refusal(error).detail, "correct the argument")


def _refused(kind: str, reason: str, remedy: str) -> Answer:
    return {"refused": {"kind": str(kind), "reasons": [reason] if reason else [], "what_to_do": remedy}}


def _refused_inside(kind: str, detail: str, reason: str, remedy: str) -> Answer:
    """A refusal whose detail may name a path or an address of this installation; the log has it."""
    log.warning("a tool refused a call", kind=str(kind), detail=detail)
    return _refused(kind, reason, remedy)


def _judged(page: ScoredPage) -> Answer:
    return page.decision() | {"state": page.state, "date": page.to_wire()["date"], "authors": list(page.authors)}
