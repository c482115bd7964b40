"""The screen ``cost``: requested, cached and refused calls by model and day, and what is left of the day's budget."""

from __future__ import annotations

from collections import Counter
from datetime import UTC, timedelta
from functools import partial
from typing import Any

from starlette.requests import Request
from starlette.responses import Response
from starlette.routing import Route

from streams.console.context import Context, Screen
from streams.llm.journal import JournalError
from streams.llm.reports import CostReport, read_costs

_DAYS = (7, 14, 30, 90)
_KINDS = ("requested", "cached", "refused")


def routes(context: Context) -> list[Route]:
    return [Route("/cost", partial(_page, context))]


SCREEN = Screen("Cost", "/cost", "c", "calls of models by day, and the budget", routes)


async def _page(context: Context, request: Request) -> Response:
    """Calls and costs from the journal, and the decisions that the console keeps by their judge."""
    asked, now, llm = request.query_params.get("days", ""), context.clock.now(), context.settings.llm
    days = int(asked) if asked in map(str, _DAYS) else _DAYS[1]
    report, problem = None, ""
    try:
        report = await read_costs(llm, now, days)
    except JournalError as error:
        problem = f"The journal of answers can't be read: {error}"
    calls = report.calls if report else ()
    names = [(now.astimezone(UTC).date() - timedelta(days=back)).isoformat() for back in reversed(range(days))]
    return context.render(
        request,
        "cost.html",
        days=days,
        spans=_DAYS,
        report=report,
        problem=problem,
        offline=llm.offline,
        is_shared=bool(llm.cache_path or llm.redis_url.get_secret_value()),
        chart=_chart(report, names) if report is not None else None,
        kinds=_KINDS,
        totals={name: sum(getattr(its, name) for its in calls) for name in (*_KINDS, "usd")},
        judged=context.store.judged(int((now - timedelta(days=days)).timestamp() * 1000)),
    )


def _chart(report: CostReport, days: list[str]) -> dict[str, Any]:
    """What ``templates/bars.html`` draws."""
    counts = {kind: Counter[str]() for kind in _KINDS}
    for its in report.calls:
        for kind in _KINDS:
            counts[kind][its.day] += getattr(its, kind)
    most = max(sum(counts[kind][day] for kind in _KINDS) for day in days)
    return {"days": days, "counts": counts, "top": max(2, most + most % 2)}
