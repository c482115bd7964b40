"""``assay replay HANDLER… --config OTHER.yaml --diff``: what another configuration would change on a range of a topic.

    assay replay score_page --since 1d --config stricter.yaml --diff
    assay replay classify_results --domain example.com --config other.yaml --diff --limit 50 --json

It decides anew on what stands there, under the configuration in force and under the same with OTHER.yaml laid over it.
Nothing is written.
"""

from __future__ import annotations

from schemas.replays import ReplayPlan
from streams.commands.kafka_trouble import tell
from streams.commands.offsets_progress import offsets_progress
from streams.commands.try_diff import comparison_of
from streams.commands.try_handler import dumped
from streams.replay.diff.compare import Compared, compare
from streams.replay.plan import handler_of
from streams.replay.ranges import count
from streams.settings import Settings
from streams.topology import HANDLERS


async def tell_diff(settings: Settings, other: Settings, plan: ReplayPlan, limit: int, as_json: bool) -> int:
    """Compares the decisions of a plan's handlers and prints what differs.

    Args:
        settings: The configuration in force.
        other: The other one.
        plan: With the ranges of its stages, which all read live topics; nothing of it is written anywhere.
        limit: How many differences to show.
        as_json: One object a handler and line instead of tables.

    Returns:
        0; 2 for a handler whose decisions can't be compared.

    Raises:
        ReplayError: The selection asks for what a handler does not have.
        SettingsError: Sections of a configuration that are right by themselves don't go together.
        KafkaError: The cluster can't be read.
    """
    comparisons = []
    for stage in plan.stages:
        if (comparison := comparison_of(handler_of(stage), limit)) is None:
            able = " and ".join(handler.name for handler in HANDLERS if comparison_of(handler, 0))
            tell("replay", f"--diff compares decisions of {able}, not of {stage.handler}; name one of those")
            return 2
        comparisons.append((stage, comparison))
    for stage, comparison in comparisons:
        with offsets_progress("replay", f"comparing {stage.handler}", count(stage.ranges)) as advance:
            compared = await compare(settings, other, stage, plan.selection, comparison, advance)
        if as_json:
            print(dumped({**_head(compared), **comparison.to_wire()}))
            continue
        from streams.commands.difference_tables import show_differences

        show_differences(comparison, same_rules=compared.version_now == compared.version_then)
    return 0


def _head(compared: Compared) -> dict[str, str]:
    return {
        "handler": compared.handler,
        "config_version_now": compared.version_now,
        "config_version_then": compared.version_then,
    }
