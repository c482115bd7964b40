"""Creates and deletes the topics, groups and index collections of a plan.

A shadow topic has the partitions and the configuration of the live topic, so it can be read and promoted like it.
"""

from __future__ import annotations

import asyncio
import shutil
from collections.abc import Iterator
from contextlib import closing
from dataclasses import replace
from pathlib import Path

from schemas.dead import dead_letter_topic
from schemas.replays import ReplayPlan, ReplayTarget
from streams.index.settings import IndexSettings
from streams.kafka.clients import make_admin, opened
from streams.kafka.topics import PlannedTopic, describe_topic, make_topics, plan_topics
from streams.replay.plan import handler_of
from streams.settings.model import Settings
from streams.topology import Handler, only_searches
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
    """Deletes a plan's topics and collections. Returns the names of those that existed. Raises KafkaError."""
    names = {settings.kafka.topic_prefix + own for _, own in _places(plan)}
    async with opened(make_admin(settings.kafka)) as admin:
        there = sorted(names & set(await admin.list_topics()))
        if there:
            await admin.delete_topics(there)
        for _ in range(_LOOKS):
            if not names & set(await admin.list_topics()):
                break
            await asyncio.sleep(_PAUSE_SECONDS)
    return [*there, *await asyncio.to_thread(_drop_collections, settings, plan)]


def with_own_index(settings: Settings, plan: ReplayPlan) -> Settings:
    """The settings with collections of the plan; an embedded index gets its own folder, which one process owns.

    A plan that ranks and does not index searches the live collections: its own would be empty.
    """
    if plan.target is ReplayTarget.LIVE or only_searches(handler_of(stage) for stage in plan.stages):
        return settings
    return settings.model_copy(update={"index": _own_index(settings.index, plan.plan)})


def _own_index(index: IndexSettings, plan: str) -> IndexSettings:
    path = index.path
    return index.model_copy(
        update={
            "collection": f"{index.collection}_replay_{plan}",
            "utterances": f"{index.utterances}_replay_{plan}",
            "path": None if path is None else path.with_name(f"{path.name}_replay_{plan}"),
        }
    )


def _places(plan: ReplayPlan) -> Iterator[tuple[str, str]]:
    """Each live topic with the plan's topic in its place, dead letter topics included."""
    for stage in plan.stages:
        handler = handler_of(stage)
        for live, own in routes(plan, handler, stage.rewritten).items():
            if own != live:
                yield live, own


def _drop_collections(settings: Settings, plan: ReplayPlan) -> list[str]:
    if plan.target is ReplayTarget.LIVE or not any(handler_of(stage).writes_index for stage in plan.stages):
        return []
    own = with_own_index(settings, plan).index
    if not own.url:
        return _drop_folder(own.path)
    from streams.index.qdrant import server_client

    with closing(server_client(own)) as client:
        there = [name for name in (own.collection, own.utterances) if client.collection_exists(name)]
        for name in there:
            client.delete_collection(name)
    return there


def _drop_folder(path: Path | None) -> list[str]:
    if path is None or not path.is_dir():
        return []
    shutil.rmtree(path)
    return [str(path)]
