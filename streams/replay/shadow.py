"""Creates and deletes the topics of a plan.

A shadow topic has the partitions and the configuration of the live topic, so it can be read like it.
"""

from __future__ import annotations

import asyncio
from collections.abc import Iterator
from dataclasses import replace

from schemas.dead import dead_letter_topic
from schemas.replays import ReplayPlan, ReplayTarget
from streams.kafka.clients import make_admin, opened
from streams.kafka.topics import PlannedTopic, describe_topic, make_topics, plan_topics
from streams.replay.plan import handler_of
from streams.settings.model import Settings
from streams.topology import Handler
from streams.topology.names import replay_dead_letters, shadow_topic

_LOOKS = 100
_PAUSE_SECONDS = 0.1


def routes(plan: ReplayPlan, handler: Handler, rewritten: tuple[str, ...]) -> dict[str, str]:
    """The topic of a handler's results, for each topic that it writes; both before the prefix.

    Dead letters always go to a topic of the plan, so a backfill raises no alert.
    """
    live = plan.target is ReplayTarget.LIVE
    places = {topic: topic if live else shadow_topic(topic, plan.plan) for topic in rewritten}
    return places | {dead_letter_topic(handler.consumes.name, handler.group): replay_dead_letters(handler, plan.plan)}


async def make_shadow(settings: Settings, plan: ReplayPlan) -> list[str]:
    """Creates the missing topics of a plan. Returns their names.

    Raises:
        TopicsError: The cluster refused one.
        KafkaError: The cluster can't be reached.
    """
    prefix = settings.kafka.topic_prefix
    planned = {topic.name: topic for topic in plan_topics(settings.kafka)}
    async with opened(make_admin(settings.kafka)) as admin:
        existing = set(await admin.list_topics())
        wanted: list[PlannedTopic] = []
        for live, own in _places(plan):
            model = planned[prefix + live]
            there = await describe_topic(admin, model) if model.name in existing else model
            wanted.append(replace(there, name=prefix + own))
    return await make_topics(settings.kafka, wanted)


async def drop_shadow(settings: Settings, plan: ReplayPlan) -> list[str]:
    """Deletes a plan's topics. Returns the names of those that existed. Raises KafkaError."""
    names = {settings.kafka.topic_prefix + own for _, own in _places(plan)}
    async with opened(make_admin(settings.kafka)) as admin:
        there = sorted(names & set(await admin.list_topics()))
        if there:
            await admin.delete_topics(there)
        for _ in range(_LOOKS):
            if not names & set(await admin.list_topics()):
                break
            await asyncio.sleep(_PAUSE_SECONDS)
    return there


def _places(plan: ReplayPlan) -> Iterator[tuple[str, str]]:
    """Each live topic with the plan's topic in its place, dead letter topics included."""
    for stage in plan.stages:
        handler = handler_of(stage)
        for live, own in routes(plan, handler, stage.rewritten).items():
            if own != live:
                yield live, own
