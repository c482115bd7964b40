"""For each alert what lets it fire, with the words that somebody then reads, and what must not."""

from __future__ import annotations

from dataclasses import dataclass, field

from streams.generate.expressions import REPLAY
from streams.generate.scraping import LAG_READER, REPLAYS, services
from streams.telemetry import metric_defs as defs
from tests.prometheus.worlds import GONE, MINUTES, World, growing, loop_lag, seen, started, steady, then, tiers, up

SCORE = {"handler": "score_page"}
JUDGE = {"handler": "judge_relevance"}
OWN = SCORE | {"topic": "pages.crawled.v1"}
DEAD = seen(defs.DEAD_EVENTS, handler="score_page", reason="invalid", stage="decode")
IN_DOUBT = seen(defs.TRANSACTIONS, handler="score_page", result="in_doubt")
COMMITS = seen(defs.TRANSACTIONS, **SCORE, result="committed")


@dataclass(frozen=True)
class Told:
    """An alert that fires: its labels beside the severity, and what is read."""

    alert: str
    labels: dict[str, str]
    summary: str
    description: str


@dataclass(frozen=True)
class Case:
    """A world in which something is wrong, or only looks so.

    Attributes:
        name: What is the matter.
        differs: How it differs from the healthy world.
        told: What fires; all other alerts are silent.
    """

    name: str
    differs: World
    told: tuple[Told, ...] = field(default=())


def cases() -> tuple[Case, ...]:
    """All of them; the first is the healthy world."""
    return (Case("all is well", {}), *_workers(), *_stalls(), *_late(), *_dead(), *_outside(), *_rest(), *_mix())


def _workers() -> tuple[Case, ...]:
    down = Told(
        "AssayWorkerDown",
        {"job": "assay", "service": "score-page", "instance": "score-page:8080"},
        "score-page does not answer",
        "No answer from a worker of score-page for 2 minutes. Its records wait; nothing is lost as long as"
        " retention is.",
    )
    gone = tuple(
        Told(
            "AssayWorkerDown",
            {"job": "assay", "service": service},
            f"{service} does not answer",
            f"No answer from a worker of {service} for 2 minutes. Its records wait; nothing is lost as long as"
            " retention is.",
        )
        for service in services()
    )
    unknown = (
        "Nobody tells the lag of the groups",
        "`assay lag --serve` has not answered for 5 minutes. Handlers go on, but nobody would be told of a group that"
        " is stopped, or of records that retention is about to delete.",
    )
    return (
        Case("a worker is down", {up("score-page"): then("1", 5, "0")}, (down,)),
        Case(
            "a worker dies again and again, and answers in between",
            {
                up("score-page"): "1 1 0 " * (MINUTES // 3),
                started("score-page"): "1790000000+60x165 1790020000+180x15",
            },
            (
                Told(
                    "AssayWorkerRestarts",
                    {"job": "assay", "service": "score-page", "instance": "score-page:8080"},
                    "score-page begins again and again",
                    "A worker of score-page (score-page:8080) has begun anew 15 times in 15 minutes. What it had in"
                    " hand is done again each time; where one input ends it, nothing behind that is done.",
                ),
            ),
        ),
        Case("a worker was rolled twice", {started("score-page"): "1790000000x170 1790020000x5 1790030000x5"}),
        Case("a worker has just restarted", {up("score-page"): then("1", 1, "0")}),
        Case("nobody knows of any worker", {up(service): then("1", 10, "_") for service in services()}, gone),
        Case(
            "the reader of the lag is down",
            {up("lag", LAG_READER): then("1", 10, "0")},
            (Told("AssayLagUnknown", {"job": "assay-lag", "service": "lag", "instance": "lag:8080"}, *unknown),),
        ),
        Case(
            "there is no reader of the lag",
            {up("lag", LAG_READER): GONE},
            (Told("AssayLagUnknown", {"job": "assay-lag"}, *unknown),),
        ),
    )


def _stalls() -> tuple[Case, ...]:
    idle = {COMMITS: then("0+60", 30, "9000")}
    outside, inside = seen(defs.GROUP_LAG, **OWN), seen(defs.CONSUMER_LAG, **OWN)

    def stalled(value: str) -> Told:
        return Told(
            "AssayHandlerStalled",
            SCORE,
            "score_page has records waiting and finishes none",
            f"score_page does not move ({value}: records waiting while nothing was done for 10 minutes,"
            " or seconds that one record has been in hand).",
        )

    retry = {"topic": "pages.scored.v1.assay.index_page.retry.10m", "handler": "index_page"}
    index_idle = {
        seen(defs.TRANSACTIONS, handler="index_page", result="committed"): then("0+60", 30, "9000"),
    }
    resting = Told(
        "AssayBreakerOpen",
        SCORE,
        "score_page rests: what it needs is down",
        "Intake of score_page rests most of the time, 100% of the last 10 minutes. Records wait and nothing is decided;"
        " lag grows until the provider is back.",
    )
    return (
        Case("records wait, seen from outside", {outside: then("0", 30, "700"), **idle}, (stalled("700"),)),
        Case(
            "records wait, and nobody reads the lag",
            {outside: GONE, inside: then("0", 30, "1234"), **idle},
            (stalled("1.234k"),),
        ),
        Case(
            "a replay of it goes on",
            {
                outside: then("0", 30, "700"),
                seen(defs.TRANSACTIONS, **SCORE, result="committed", lane=REPLAY): growing(60),
                **idle,
            },
            (stalled("700"),),
        ),
        Case(
            "a record is in hand for too long",
            {seen(defs.OLDEST_UNFINISHED, **SCORE): then("0", 12, "0+60")},
            (stalled("660"),),
        ),
        Case("there is a lot to do", {outside: then("0", 30, "90000")}),
        Case("there is nothing to do", idle),
        Case("records wait to be tried again", {seen(defs.GROUP_LAG, **retry): steady(5), **index_idle}),
        Case(
            "it rests, because what it needs is down",
            {outside: then("0", 30, "700"), seen(defs.BREAKER_OPEN, **SCORE): then("0", 30, "1"), **idle},
            (resting,),
        ),
        Case(
            "it rests where it has work, and a replica stands by",
            {
                outside: then("0", 30, "700"),
                seen(defs.BREAKER_OPEN, **SCORE): then("0", 30, "1"),
                seen(defs.BREAKER_OPEN, **SCORE, at="b"): steady(0),
                seen(defs.RECORDS_HELD, **SCORE, at="b"): steady(0),
                **idle,
            },
            (resting,),
        ),
        Case(
            "it stalls where it has work, and a replica that has none rests",
            {
                outside: then("0", 30, "700"),
                seen(defs.BREAKER_OPEN, **SCORE, at="b"): then("0", 30, "1"),
                seen(defs.RECORDS_HELD, **SCORE, at="b"): steady(0),
                **idle,
            },
            (resting, stalled("700")),
        ),
        Case(
            "it stalls on one replica and rests on another",
            {
                outside: then("0", 30, "700"),
                seen(defs.BREAKER_OPEN, **SCORE, at="b"): then("0", 30, "1"),
                seen(defs.RECORDS_HELD, **SCORE, at="b"): steady(5),
                **idle,
            },
            (resting, stalled("700")),
        ),
        Case("work has just come after a quiet night", {outside: then("0", 4, "700"), **idle}),
        Case(
            "a record is in hand until the worker ends itself",
            {seen(defs.OLDEST_UNFINISHED, **SCORE): then("0", 10, "0+60")},
            (stalled("540"),),
        ),
    )


def _late() -> tuple[Case, ...]:
    in_time = seen(defs.EVENT_AGE, "_bucket", **SCORE, le="60.0")
    return (
        Case(
            "one in ten is late",
            {in_time: growing(540)},
            (
                Told(
                    "AssayAgeOverObjective",
                    SCORE,
                    "score_page is late: 90% of its inputs are done in time",
                    "Only 90% of the inputs of score_page were done within its objective in 10 minutes; 99 in 100 took"
                    " up to 54m 6s. The objective stands above its row on the dashboard of handlers.",
                ),
            ),
        ),
        Case("one in two hundred is late", {in_time: growing(597)}),
        Case(
            "two are late on an idle night",
            {
                in_time: "10+0x180",
                **{
                    seen(defs.EVENT_AGE, "_bucket", **SCORE, le=le): "10+0x160 11+0x9 12+0x9"
                    for le in ("3600.0", "+Inf")
                },
                seen(defs.EVENT_AGE, "_count", **SCORE): "10+0x160 11+0x9 12+0x9",
            },
        ),
        Case("late for five minutes", {in_time: then("0+600", 5, "105000+540")}),
    )


def _dead() -> tuple[Case, ...]:
    def dead(count: str, reason: str) -> Told:
        return Told(
            "AssayDeadLetters",
            SCORE | {"reason": reason},
            f"score_page refused records: {reason}",
            f"About {count} records of score_page went to its dead letter topic in 10 minutes, reason {reason}. They"
            " are kept until the topic's retention ends.",
        )

    new = seen(defs.DEAD_EVENTS, handler="score_page", reason="too_large", stage="decode")
    replayed = seen(defs.DEAD_EVENTS, handler="score_page", reason="too_large", stage="decode", lane=REPLAY)
    return (
        Case("more records are refused", {DEAD: then("2", 5, "5")}, (dead("3", "invalid"),)),
        Case("a record is refused for the first time", {new: then("_", 5, "1")}, (dead("1", "too_large"),)),
        Case(
            "a record is refused for the first time on another replica",
            {
                seen(defs.DEAD_EVENTS, handler="score_page", reason="invalid", stage="decode", at="b"): then(
                    "_", 5, "50"
                ),
            },
            (dead("50", "invalid"),),
        ),
        Case("records were refused half an hour ago", {DEAD: then("2", 30, "5")}),
        Case("a replay's records are refused", {replayed: then("_", 5, "40")}),
    )


def _outside() -> tuple[Case, ...]:
    breaker, replays = seen(defs.BREAKER_OPEN, **JUDGE), seen(defs.BREAKER_OPEN, **JUDGE, lane=REPLAY)
    model = seen(defs.LLM_BREAKER_OPEN, model="small")
    left = seen(defs.LLM_BUDGET_LEFT)
    return (
        Case(
            "a handler rests",
            {breaker: then("0", 15, "1")},
            (
                Told(
                    "AssayBreakerOpen",
                    JUDGE,
                    "judge_relevance rests: what it needs is down",
                    "Intake of judge_relevance rests most of the time, 100% of the last 10 minutes. Records wait and"
                    " nothing is decided; lag grows until the provider is back.",
                ),
            ),
        ),
        Case(
            "a handler rests, and tries for a moment now and then",
            {breaker: "1 1 1 1 0 " * (MINUTES // 5)},
            (
                Told(
                    "AssayBreakerOpen",
                    JUDGE,
                    "judge_relevance rests: what it needs is down",
                    "Intake of judge_relevance rests most of the time, 80% of the last 10 minutes. Records wait and"
                    " nothing is decided; lag grows until the provider is back.",
                ),
            ),
        ),
        Case(
            "a model is left alone",
            {model: then("0", 15, "1")},
            (
                Told(
                    "AssayBreakerOpen",
                    {"model": "small"},
                    "The model small is left alone",
                    "The model small fails question after question and is left alone most of the time, 100% of the last"
                    " 10 minutes. Records wait and nothing is decided; lag grows until the provider is back.",
                ),
            ),
        ),
        Case("a handler rested for a moment", {breaker: then("0", 5, "1")}),
        Case(
            "a replay rests",
            {replays: then("0", 15, "1"), seen(defs.LLM_BREAKER_OPEN, job=REPLAYS, model="small"): then("0", 15, "1")},
        ),
        Case(
            "the day's budget is nearly spent",
            {left: then("20", 10, "3")},
            (
                Told(
                    "AssayBudgetNear",
                    {},
                    "15% of the day's budget for models is left",
                    "15% of the day's budget is left. When it is spent, handlers that ask models rest until midnight"
                    " UTC and their lag grows.",
                ),
            ),
        ),
        Case("half of the budget is spent", {left: then("20", 10, "10")}),
        Case("there is no budget", {left: GONE, seen(defs.LLM_BUDGET): GONE}),
        Case("the budget was made smaller", {left: then("20", 60, "5"), seen(defs.LLM_BUDGET): then("20", 60, "5")}),
        Case("a new day has begun", {left: then("1", 4, "20")}),
    )


def _rest() -> tuple[Case, ...]:
    left = seen(defs.GROUP_RETENTION_LEFT, **OWN)
    return (
        Case(
            "commits end in doubt",
            {IN_DOUBT: then("2", 12, "2+1")},
            (
                Told(
                    "AssayCommitsInDoubt",
                    SCORE,
                    "score_page can't tell whether its transactions are committed",
                    "About 12 transactions of score_page ended in doubt in 15 minutes. Each is read again, so nothing"
                    " is lost or doubled, but work is done twice and lag grows.",
                ),
            ),
        ),
        Case("a broker was restarted", {IN_DOUBT: then("2", 10, "5")}),
        Case(
            "a process wakes late",
            {loop_lag("score-page"): then("0.01", 15, "2.5")},
            (
                Told(
                    "AssayLoopLag",
                    {"job": "assay", "service": "score-page", "instance": "score-page:8080"},
                    "score-page:8080 wakes 2.5s late",
                    "The event loop of score-page:8080 (score-page) wakes 2.5s late on average: the processor is not"
                    " enough, or one input takes it for itself. Heartbeats and deadlines suffer next.",
                ),
            ),
        ),
        Case("a process that replays wakes late", {loop_lag("replay", REPLAYS): steady(5)}),
        Case("a process woke late once", {loop_lag("score-page"): then("0.01", 1, "3")}),
        Case(
            "retention nears what is unread",
            {left: then("604800", 10, "7200")},
            (
                Told(
                    "AssayRetentionNear",
                    OWN,
                    "pages.crawled.v1 will delete records that score_page has not read",
                    "The oldest record of pages.crawled.v1 that score_page has not committed is deleted in 2h 0m 0s."
                    " After that it is lost to score_page.",
                ),
            ),
        ),
        Case("there is no telling when retention comes", {left: GONE}),
        Case(
            "retention has taken what was unread",
            {seen(defs.GROUP_LOST, **OWN): then("0", 3, "1200")},
            (
                Told(
                    "AssayRecordsLost",
                    OWN,
                    "pages.crawled.v1 has deleted records that score_page had not read",
                    "Retention has taken about 1.2k records of pages.crawled.v1 before score_page came to them, and"
                    " goes on as long as it stands still.",
                ),
            ),
        ),
    )


def _mix() -> tuple[Case, ...]:
    def shifted(tier: str, by: str) -> Told:
        return Told(
            "AssayTierMixDrift",
            {"tier": tier},
            f"Tier {tier} is not what it was: {by} off the day before",
            f"The share of tier {tier} in the pages of the last hour is {by} away from its mean over the day before:"
            " other sources, a changed rule, or pages that are read differently. The index grows by another plan than"
            " the one it was sized for.",
        )

    # Of 20 pages a minute A had 2 and has 12, C had 8 and has none.
    moved = tiers(then("0+2", 60, "252+12"), then("0+10", 60, "1208+8"), then("0+8", 60, "960"))
    few = tiers(then("0+0.2", 60, "25.2+1.2"), growing(1), then("0+0.8", 60, "96"))
    # As above, with no page between the 20th and the 100th minute.
    after_a_pause = tiers(
        "0+2x20 40+0x80 42+2x17 80+12x60", "0+10x20 200+0x80 210+10x77", "0+8x20 160+0x80 168+8x17 304+0x60"
    )
    return (
        Case("another mix of pages", moved, (shifted("A", "49.99%"), shifted("C", "39.99%"))),
        Case("another mix of few pages", few),
        Case(
            "another mix of pages, after hours without any",
            after_a_pause,
            (shifted("A", "44.54%"), shifted("C", "39.98%")),
        ),
        Case("no pages at all", tiers(GONE, GONE, GONE)),
    )
