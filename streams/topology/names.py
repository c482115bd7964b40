"""The names of the topics and consumer groups of a replay's plan, before the prefix of the settings."""

from __future__ import annotations

from schemas.dead import dead_letter_topic
from schemas.replays import ReplayPlan
from streams.topology.handlers import Handler


def shadow_topic(topic: str, plan: str) -> str:
    """The plan's topic in place of a live topic; both before the prefix.

    >>> shadow_topic("pages.scored.v1", "rescore")
    'pages.scored.v1.replay.rescore'
    """
    return f"{topic}.replay.{plan}"


def replay_group(handler: str, plan: str) -> str:
    """The beginning of a handler's groups and dead letter topics in plans of that name, before the prefix.

    >>> replay_group("score_page", "rescore")
    'assay.score_page.replay.rescore'
    """
    return f"assay.{handler}.replay.{plan}"


def run_group(handler: str, plan: ReplayPlan) -> str:
    """The consumer group of a handler in a plan, before the prefix. A later plan of the same name has another one."""
    return f"{replay_group(handler, plan.plan)}.{plan.run.rpartition('-')[2]}"


def replay_dead_letters(handler: Handler, plan: str) -> str:
    """The topic of a plan's dead letters of a handler, before the prefix."""
    return dead_letter_topic(handler.consumes.name, replay_group(handler.name, plan))
