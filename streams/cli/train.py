"""``assay train``: trains a ranking model from feedback, and compares it with the order that users were shown."""

from __future__ import annotations

from contextlib import aclosing
from dataclasses import asdict
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any, Literal

from typer import BadParameter, Option

from handlers.ranking.config import features_config
from handlers.ranking.model import OBJECTIVES, ModelMismatchError
from schemas.event import Provenance
from schemas.outcome import Dead, Drop
from streams.cli.command import AsJson, CommandError, Config, load_settings, run_with_kafka
from streams.cli.output import Refusals, say, say_json, tell
from streams.cli.progress import ProgressLine, read_events
from streams.publish.sources import LineEvent
from streams.settings.model import Settings
from streams.topology import RANKING_COMPLETED, RANKING_FEEDBACK, RANKING_REQUESTED, Topic
from streams.topology.codec import decode, timestamp
from streams.training.model_files import MANIFEST_FILE, is_free, read_ranking_model, write_model

if TYPE_CHECKING:
    from streams.training.join import ServedLog
    from streams.training.train import Trained


def train(
    out: Annotated[Path, Option("--output", "-o", help="Output folder; it must not exist, or be empty.")],
    completed: Annotated[
        Path | None, Option(help="Answers, one event a line, instead of ranking.completed.v1.")
    ] = None,
    feedback: Annotated[Path | None, Option(help="Feedback, one event a line, instead of ranking.feedback.v1.")] = None,
    features: Annotated[
        Literal["29", "41"] | None,
        Option(help="29, or 41 with trust features; 41 by default once there is enough data."),
    ] = None,
    seed: Annotated[int, Option(min=0, max=2**31 - 1, help="Random seed; the same seed gives the same model.")] = 1,
    skip_other_versions: Annotated[
        bool, Option("--skip-other-versions", help="Leave out answers with features of other versions.")
    ] = False,
    as_json: AsJson = False,
    config: Config = None,
) -> int:
    if (completed is None) != (feedback is None):
        missing = "'--feedback'" if feedback is None else "'--completed'"
        raise BadParameter("give both --completed and --feedback, or neither", param_hint=missing)
    from streams.training.join import ServedLog
    from streams.training.train import Refusal, write_card
    from streams.training.train import train as train_model

    settings = load_settings(config)
    if not is_free(out):
        raise CommandError(f"{out} is in use; name a folder that does not exist", 2)
    served = ServedLog()
    if status := _read(settings, completed, feedback, served):
        return status
    unreadable = Refusals("train")
    for place in served.unreadable:
        unreadable.add(f"left out: {place}")
    unreadable.tell_rest("that cannot be read")
    joined = served.joined()
    tell("train", f"{joined.labelled:,} labelled results of {len(joined.requests):,} requests")
    current, why = settings.ranking_model, None
    try:
        current = current or read_ranking_model(settings.ranking.trees.model)
    except ModelMismatchError as error:
        why = str(error)
    wanted = int(features) if features else None
    confidence, columns = settings.ranking.trees.confidence, features_config(settings.ranking)
    made = train_model(joined, settings.training, seed, confidence, wanted, current, skip_other_versions, columns)
    if isinstance(made, Refusal):
        tell("train", made.because)
        if as_json:
            left_out = {str(reason): count for reason, count in joined.left_out.items() if count}
            say_json({"trained": False, **asdict(made), "left_out": left_out})
        return 1
    card = write_card(made, settings.training)
    write_model(out, made.model.manifest, made.model.model, card)
    if as_json:
        say_json(_as_json(made, out, len(served.unreadable), why))
        return 0
    say(*card.split("\n"))
    if why:
        say(f"not compared with the model in force: {why}")
    say(f"written to {out}; try it in shadow first:", *(f"  {line}" for line in _switch_on(out)))
    return 0


def _read(settings: Settings, completed: Path | None, feedback: Path | None, served: ServedLog) -> int:
    if completed is None or feedback is None:
        settings = settings.with_kafka()
        return run_with_kafka("train", settings, _read_kafka(settings, served))
    for topic, path in ((RANKING_FEEDBACK, feedback), (RANKING_COMPLETED, completed)):
        for found in read_events("train", path, topic):
            add_line(served, found)
    return 0


def add_line(served: ServedLog, found: LineEvent) -> None:
    """Adds the event of a line, unless it is one of ``assay try`` that has no event of the topic."""
    if not isinstance(found.event, Drop):
        identity = found.place if isinstance(found.event, Dead) else found.content_identity
        served.add(found.event, found.place, identity, None)


async def _read_kafka(settings: Settings, served: ServedLog) -> int:
    """Reads both topics to their present end, feedback first: only answers with feedback are kept in memory."""
    from streams.kafka.log_reader import committed_ranges, read_log

    topics = (RANKING_FEEDBACK, RANKING_COMPLETED)
    found = await committed_ranges(settings.kafka, [topic.name for topic in topics])
    committed = {part.topic: part.ranges for part in found}
    sizes = {topic.name: sum(part.end - part.start for part in committed.get(topic.name, ())) for topic in topics}
    for topic in topics:
        if not sizes[topic.name]:
            raise CommandError(_nothing_on(topic, settings.kafka.topic_prefix), 2)
    for topic in topics:
        with ProgressLine("train", f"reading {topic.name}", sizes[topic.name]) as advance:
            async with aclosing(read_log(settings.kafka, topic.name, committed[topic.name])) as records:
                async for record in records:
                    place = f"{record.topic}/{record.partition}/{record.offset}"
                    produced = timestamp(record.timestamp)
                    identity = Provenance.of(record.headers, place).identity
                    served.add(decode(topic, record.value, record.headers, produced), place, identity, produced)
                    advance()
    return 0


def _nothing_on(topic: Topic, prefix: str) -> str:
    if topic is RANKING_FEEDBACK:
        todo = f"publish what people did with results: `assay publish {topic.name} feedback.jsonl`"
    else:
        todo = f"`assay run rank_results` answers what comes on {RANKING_REQUESTED.name}"
    return f"there is nothing on {prefix}{topic.name}; {todo}"


def _as_json(made: Trained, out: Path, unreadable: int, why: str | None) -> dict[str, Any]:
    report, manifest = made.report, made.model.manifest
    return {
        "trained": True,
        "model": {"name": manifest.name, "version": manifest.version, "manifest": str(out / MANIFEST_FILE)},
        **{name: getattr(report, name) for name in ("phase", "features", "seed", "labelled", "requests")},
        "objective": OBJECTIVES[report.phase],
        "features_version": manifest.features_version,
        "graded": sum(report.grades),
        "period": [moment.isoformat() for moment in report.period] if report.period else None,
        "queries": {"trained": report.trained[1], "held_out": report.held_out[1], "judged": report.judged[1]},
        "judged": report.judged[0],
        "config_versions": report.config_versions,
        "left_out": {str(reason): count for reason, count in report.left_out.items() if count},
        "unreadable": unreadable,
        "metrics": asdict(report.measures),
        "where_sure": {"confidence": report.confidence, "share": report.sure, "metrics": asdict(report.where_sure)},
        "compared": [
            {"order": rival.name, "metrics": asdict(rival.measures)}
            | {"difference": {**asdict(rival.difference), "verdict": rival.difference.verdict}}
            for rival in report.rivals
        ],
        "not_compared": why,
        "importance": dict(report.importance),
        "switch_on": _switch_on(out),
    }


def _switch_on(folder: Path) -> list[str]:
    return [
        f"ASSAY_RANKING__TREES__MODEL={(folder / MANIFEST_FILE).absolute()}",
        "ASSAY_RANKING__TREES__MODE=shadow",
        "ASSAY_RANKING__TREES__MODE=on   # if trees.agreement and the figures of the shadow mode are good",
    ]
