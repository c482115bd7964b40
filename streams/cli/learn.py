"""``assay learn boilerplate``: finds the lines that hosts repeat on their pages, and writes them for the handlers.

assay learn boilerplate pages.crawled.v1
assay learn boilerplate pages/ --out config/boilerplate.json

Pages are read as ``score_page`` reads them, in child processes, without the boilerplate that is known already.
"""

from __future__ import annotations

import asyncio
import json
from collections.abc import AsyncGenerator
from contextlib import aclosing
from dataclasses import dataclass
from pathlib import Path
from typing import Annotated, Literal

import typer
from aiokafka import ConsumerRecord

from handlers.html.boilerplate import Boilerplate
from handlers.score_page import ScorePageRules
from schemas.pages import CrawledPage, ScoredPage
from streams.cli.errors import run_with_kafka
from streams.cli.export_intake import FileError, written
from streams.cli.options import AsJson, Config, load_settings
from streams.cli.output import tell
from streams.cli.progress import ProgressLine
from streams.cli.score import Refused, scored_pages
from streams.cli.tail import no_topic
from streams.kafka.log_reader import committed_ranges, read_log
from streams.publish.entries import Refused as RefusedEntry
from streams.publish.entries import SourceError
from streams.publish.sources import check_source, read_entries, size_of
from streams.runtime.settings_files import BOILERPLATE, config_dir, user_file
from streams.settings.model import Settings
from streams.topology import PAGES_CRAWLED, TOPICS, Topic, topic_named
from streams.topology.codec import OutputRecord, decode
from streams.training.boilerplate import BoilerplateLearner, Limits

_DEFAULT = Limits()


def learn(
    what: Annotated[Literal["boilerplate"], typer.Argument(help="Lines that a host repeats on its pages.")],  # noqa: ARG001 - there is one so far
    source: Annotated[str, typer.Argument(help="A topic of crawled pages, a folder of pages, or a file.")],
    out: Annotated[
        Path | None, typer.Option("--out", "-o", help="The file; boilerplate.json beside assay.yaml by default.")
    ] = None,
    min_pages: Annotated[
        int, typer.Option(min=2, max=_DEFAULT.sample, help="Different pages that a host needs.")
    ] = _DEFAULT.min_pages,
    share: Annotated[
        float, typer.Option(min=0.1, max=1.0, help="Share of a host's pages that a line is on.")
    ] = _DEFAULT.share,
    min_characters: Annotated[
        int, typer.Option(min=1, help="Characters of a line; a shorter one may be a heading or a value.")
    ] = _DEFAULT.characters,
    hosts: Annotated[int, typer.Option(min=1, max=100_000, help="Hosts that are kept.")] = _DEFAULT.hosts,
    lines: Annotated[int, typer.Option(min=1, max=1000, help="Lines of a host that are kept.")] = _DEFAULT.lines,
    as_json: AsJson = False,
    config: Config = None,
) -> int:
    """Find the lines that hosts repeat on their pages, so that contents are without them.

    The same pages give the same file. The exit status is 1 if no host has enough pages; then nothing is written.
    """
    target = out or user_file(BOILERPLATE)
    if target is None:
        message = "the installed configuration must not be changed: name a file, or set ASSAY_CONFIG_DIR"
        raise typer.BadParameter(message, param_hint="'--out'")
    settings = load_settings(config)
    topic = None if Path(source).exists() else topic_named(source)
    if topic is not None and topic.event is not CrawledPage:
        raise typer.BadParameter(f"{source} has no crawled pages", param_hint="'SOURCE'")
    if topic is None:
        try:
            check_source(Path(source), PAGES_CRAWLED)
        except SourceError as error:
            topics = ", ".join(its.name for its in TOPICS if its.event is CrawledPage)
            raise typer.BadParameter(f"{error}; topics of pages: {topics}", param_hint="'SOURCE'") from None
    limits = Limits(min_pages=min_pages, share=share, characters=min_characters, hosts=hosts, lines=lines)
    task = LearnTask(settings if topic is None else settings.with_kafka(), source, topic, target, limits, as_json)
    return run_learn(task)


@dataclass(frozen=True, slots=True)
class LearnTask:
    """The source, which is a path where there is no topic, and the file that is written."""

    settings: Settings
    source: str
    topic: Topic | None
    out: Path
    limits: Limits
    as_json: bool = False


def run_learn(task: LearnTask) -> int:
    """Learns and writes the file.

    Returns:
        0; 1 if nothing was learned, or Kafka or a file failed; 2 if the cluster does not have the topic.
    """
    return run_with_kafka("learn", task.settings, _learn(task))


async def _learn(task: LearnTask) -> int:
    learner, refused = BoilerplateLearner(task.limits), 0
    try:
        rules = _without_boilerplate(task.settings.rules(ScorePageRules))
        async with aclosing(_pages(task)) as pages, aclosing(scored_pages(pages, rules, task.settings.workers)) as read:
            async for page in read:
                if isinstance(page, ScoredPage):
                    learner.add(page.final_url or page.url, page.content)
                else:
                    refused += 1
    except SourceError as error:
        return tell("learn", str(error), 1)
    found = learner.learned()
    if learner.left_out:
        tell("learn", f"{learner.left_out:,} pages of hosts beyond {task.limits.hosts:,} were left out; see --hosts")
    if not found.hosts:
        tell(
            "learn",
            f"none of {learner.hosts:,} hosts repeats a line on {task.limits.min_pages} different pages or more; "
            "give more pages of each host, or a lower --min-pages",
        )
        return 1
    try:
        with written(task.out) as file:
            file.write(_document(found))
    except FileError as error:
        return tell("learn", str(error), 1)
    _tell(task, learner, found, refused)
    return 0


def _document(found: Boilerplate) -> bytes:
    fields = found.model_dump(mode="json") | {"hosts": found.hosts}
    return (json.dumps({"page_reading": {"boilerplate": fields}}, indent=1) + "\n").encode()


def _tell(task: LearnTask, learner: BoilerplateLearner, found: Boilerplate, refused: int) -> None:
    if task.out.resolve() == (config_dir() / BOILERPLATE).resolve():
        use = f"Assay reads {task.out} when it starts: restart running workers"
    else:
        use = f"use it as {BOILERPLATE} in the directory ASSAY_CONFIG_DIR, or with --config {task.out}"
    count = sum(map(found.count_of, found.hosts))
    if task.as_json:
        told = {
            "out": str(task.out),
            "version": found.version,
            "pages": learner.pages,
            "refused": refused,
            "hosts_read": learner.hosts,
            "pages_left_out": learner.left_out,
            "hosts": len(found.hosts),
            "lines": count,
            "use": use,
        }
        print(json.dumps(told, ensure_ascii=False))
        return
    print(f"repeated lines: {count:,}, on {len(found.hosts):,} of {learner.hosts:,} hosts; pages: {learner.pages:,}")
    if refused:
        print(f"not used: {refused:,} pages that could not be read, or had only the text of a crawler")
    print(f"written to {task.out}, version {found.version}")
    print(use)


def _without_boilerplate(rules: ScorePageRules) -> ScorePageRules:
    reading = rules.page_reading.model_copy(update={"boilerplate": Boilerplate()})
    return rules.model_copy(update={"page_reading": reading})


async def _pages(task: LearnTask) -> AsyncGenerator[CrawledPage | Refused, None]:
    """The pages of the topic or of the path, with the progress."""
    if task.topic is None:
        path, done = Path(task.source), 0
        with ProgressLine(
            "learn", "reading", size_of(path), unit="pages", at=lambda: done, quiet=task.as_json
        ) as advance:
            for entry in read_entries(path, PAGES_CRAWLED, None):
                await asyncio.sleep(0)  # lets Ctrl-C in
                done = entry.end
                record = entry.read()
                if record is not None:
                    advance()
                    yield _page(record)
        return
    kafka = task.settings.kafka
    found = [its for of in await committed_ranges(kafka, [task.topic.name]) for its in of.ranges]
    if not found:
        raise no_topic(task.topic.name, kafka)
    total = sum(its.end - its.start for its in found)
    with ProgressLine("learn", "reading", total, unit="pages", quiet=task.as_json) as advance:
        for its in found:
            async with aclosing(read_log(kafka, task.topic.name, [its])) as records:
                async for record in records:
                    advance()
                    yield _page(record)


def _page(record: OutputRecord | RefusedEntry | ConsumerRecord) -> CrawledPage | Refused:
    if isinstance(record, RefusedEntry):
        return Refused(record.place, "invalid", record.reason)
    event = decode(PAGES_CRAWLED, record.value, record.headers, None)
    if not isinstance(event, CrawledPage):
        return Refused("", "invalid", "no crawled page")
    # A text that a crawler extracted is taken as it is, so nothing is learnt from it.
    return event if event.content is None else Refused(event.url, "extracted", "the text is the crawler's")
