"""The commands and their options. A command's module is imported when it is called, so ``assay try`` starts at once."""

from __future__ import annotations

import os
import sys
from pathlib import Path
from typing import Annotated, Literal

import typer
from typer.exceptions import TyperException

from streams.cli.answer_command import answer
from streams.cli.dlq_command import dlq
from streams.cli.options import AsJson, Config, load_settings
from streams.cli.publish_command import publish
from streams.cli.query_command import query
from streams.cli.replay_command import replay
from streams.cli.sources_command import sources
from streams.cli.train_command import train
from streams.process import collector_at_rest
from streams.settings_files import SettingsError

app = typer.Typer(
    name="assay",
    no_args_is_help=True,
    pretty_exceptions_enable=False,
    add_completion=False,
    context_settings={"help_option_names": ["-h", "--help"]},
)
app.add_typer(dlq, name="dlq")
app.command()(publish)
app.add_typer(replay, name="replay")
app.add_typer(sources, name="sources")
app.command()(query)
app.command()(answer)
app.command()(train)


def run_command_line(arguments: list[str]) -> int:
    """Runs one command; wrong usage is 2, with one line that says what to do, and Ctrl-C is 130."""
    try:
        status = app(args=arguments, standalone_mode=False, prog_name="assay")
        sys.stdout.flush()
    except TyperException as error:
        message = " ".join(error.format_message().split())
        context = getattr(error, "ctx", None)
        wanted = f"try `{context.command_path if context else 'assay'} --help`"
        print(f"assay: {message} ({wanted})" if message else wanted, file=sys.stderr)
        return error.exit_code or 2
    except SettingsError as error:
        print(f"assay: {' '.join(str(error).split())}", file=sys.stderr)
        return 2
    except (KeyboardInterrupt, typer.Abort):
        return 130
    except BrokenPipeError:
        # Whoever read our output has seen enough. What is left in the buffer goes nowhere, or the exit would complain.
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
        return 1
    except OSError as error:
        print(f"assay: {error}", file=sys.stderr)
        return 1
    return int(status or 0)


def _print_version(wanted: bool) -> None:
    if wanted:
        version()
        raise typer.Exit


@app.callback()
def assay(
    _: Annotated[
        bool, typer.Option("--version", callback=_print_version, is_eager=True, help="Print the version.")
    ] = False,
) -> None:
    """Weighs what a crawler or a search step brings home, before a language model reads it."""


@app.command()
def demo(
    once: Annotated[bool, typer.Option("--once", help="Stop when everything is done.")] = False,
    as_json: AsJson = False,
    pages: Annotated[Path | None, typer.Option("--pages", help="Score a folder of real pages as well.")] = None,
    config: Config = None,
) -> int:
    """Run the whole job on a small sample web, on a Kafka of its own."""
    from streams.cli.demo import run_demo

    return run_demo(load_settings(config), once=once, as_json=as_json, pages=pages)


@app.command()
def run(
    handlers: Annotated[list[str] | None, typer.Argument(help="Which handlers; all by default.")] = None,
    drain: Annotated[bool, typer.Option("--drain", help="Stop when caught up.")] = False,
    as_json: AsJson = False,
    config: Config = None,
) -> int:
    """Run handlers as consumer groups."""
    from streams.cli.run import run_handlers

    return run_handlers(handlers or [], load_settings(config).with_kafka(), drain, as_json)


@app.command()
def broker(
    port: Annotated[int, typer.Option(min=0, max=65535, help="Port on 127.0.0.1; 0 takes a free one.")] = 9092,
    data: Annotated[Path | None, typer.Option(help="Folder that keeps its data; else temporary.")] = None,
    as_json: AsJson = False,
) -> int:
    """Run a real Apache Kafka on this machine; no Docker needed."""
    from streams.cli.broker import run_broker

    return run_broker(port or None, data, as_json)


@app.command()
def topics(
    action: Annotated[Literal["create", "list", "diff"], typer.Argument(help="What to do.")] = "list",
    dry_run: Annotated[bool, typer.Option("--dry-run", help="Say what create would do.")] = False,
    as_json: AsJson = False,
    config: Config = None,
) -> int:
    """Create the topics, list them, or compare them with what is declared."""
    from streams.cli.topics import run_topics

    return run_topics(action, load_settings(config).with_kafka(), as_json, dry_run)


@app.command()
def tail(
    topic: Annotated[str, typer.Argument(help="A topic, also a dead letter topic.")],
    start: Annotated[str, typer.Option("--from", help="earliest, latest, or an offset.")] = "latest",
    most: Annotated[int | None, typer.Option("--max", min=1, help="Stop after so many records.")] = None,
    follow: Annotated[bool, typer.Option(help="Wait for more at the end.")] = True,
    as_json: AsJson = False,
    config: Config = None,
) -> int:
    """Show the records of a topic as they come."""
    from streams.cli.tail import run_tail

    return run_tail(topic, load_settings(config).with_kafka(), start, most, as_json, follow=follow)


@app.command()
def export(
    form: Annotated[Literal["tsv"], typer.Argument(help="How rows are written.")],  # noqa: ARG001 - there is one so far
    start: Annotated[str, typer.Option("--from", help="earliest, latest, or an offset.")] = "earliest",
    most: Annotated[int | None, typer.Option("--max", min=1, help="Stop after so many records.")] = None,
    output: Annotated[Path | None, typer.Option("--output", "-o", help="A file; standard output by default.")] = None,
    newest: Annotated[bool, typer.Option("--latest", help="Of each address the newest page only.")] = False,
    source: Annotated[
        Path | None, typer.Option("--input", help="Scored pages, one a line, without Kafka; - for standard input.")
    ] = None,
    as_json: AsJson = False,
    config: Config = None,
) -> int:
    """Write scored pages as TSV, for `assay publish` or other tools."""
    from streams.cli.export import Export, run_export

    settings = load_settings(config)
    what = Export(start, most, output, newest, source)
    return run_export(what, settings if source else settings.with_kafka(), as_json)


@app.command("try")
def try_(
    handler: Annotated[str, typer.Argument(help="A handler, or a step: follow_listing, extract_snippet.")],
    file: Annotated[Path | None, typer.Argument(help="One event a line; standard input by default.")] = None,
    strict: Annotated[bool, typer.Option("--strict", help="Exit 1 if any line was dead.")] = False,
    diff: Annotated[bool, typer.Option("--diff", help="Say what --config changes, instead of the decisions.")] = False,
    limit: Annotated[int, typer.Option(min=0, help="Differences that --diff shows in full.")] = 50,
    as_json: AsJson = False,
    config: Config = None,
) -> int:
    """Run a handler on events from a file, without a broker."""
    if diff and config is None:
        raise typer.BadParameter("it compares with another configuration: --config OTHER.yaml", param_hint="'--diff'")
    if diff:
        from streams.cli.try_diff import run_diff

        return run_diff(handler, file, load_settings(), load_settings(config), limit, strict, as_json)
    from streams.cli.try_ import run_try

    return run_try(handler, file, load_settings(config), strict)


@app.command()
def lag(
    handlers: Annotated[list[str] | None, typer.Argument(help="Which handlers; all by default.")] = None,
    replays: Annotated[bool, typer.Option("--replays", help="Also groups of replays, to their topics' ends.")] = False,
    watch: Annotated[bool, typer.Option("--watch", help="Tell again and again.")] = False,
    every: Annotated[float, typer.Option(min=0.5, help="Seconds between two looks of --watch.")] = 5.0,
    max_records: Annotated[
        int | None, typer.Option("--max-records", min=0, help="Exit 1 if more wait on a topic.")
    ] = None,
    max_seconds: Annotated[
        float | None, typer.Option("--max-seconds", min=0, help="Exit 1 if something has waited for longer.")
    ] = None,
    serve: Annotated[
        str | None, typer.Option("--serve", metavar="[HOST:]PORT", help="Answer Prometheus there instead.")
    ] = None,
    as_json: AsJson = False,
    config: Config = None,
) -> int:
    """Tell how far each consumer group is behind, also one that is stopped."""
    from streams.cli.lag import LagOptions, run_lag

    options = LagOptions(
        replays=replays,
        watch_seconds=every if watch else None,
        max_records=max_records,
        max_seconds=max_seconds,
        serve=serve,
        as_json=as_json,
    )
    return run_lag(handlers or [], load_settings(config).with_kafka(), options)


@app.command()
def top(
    urls: Annotated[
        list[str] | None, typer.Option("--url", help="A worker's address; may be repeated. One here by default.")
    ] = None,
    every: Annotated[float, typer.Option(min=0.2, help="Seconds between two looks.")] = 2.0,
    once: Annotated[bool, typer.Option("--once", help="One table, and no more.")] = False,
    sort: Annotated[str, typer.Option("--sort", help="topology, rate, lag, age, dead or cost.")] = "topology",
    as_json: AsJson = False,
    config: Config = None,
) -> int:
    """Watch the handlers at work: rate, lag, age, dead letters, costs."""
    from streams.cli.top import TopOptions, run_top

    options = TopOptions(urls=urls or (), every=every, once=once, sort=sort, as_json=as_json)
    return run_top(load_settings(config).with_kafka(), options)


@app.command()
def estimate(
    articles: Annotated[int | None, typer.Option(help="How many; 10 million, or those of --from, by default.")] = None,
    mix: Annotated[str | None, typer.Option(help="Per cent in tiers A/B/C; 10/50/40 by default.")] = None,
    chunks: Annotated[float | None, typer.Option(help="Of an article; index.planned_chunks by default.")] = None,
    sample: Annotated[
        Path | None, typer.Option("--from", help="Scored pages, one a line; - for standard input.")
    ] = None,
    dimensions: Annotated[int | None, typer.Option(help="Of a vector; those of the embedder by default.")] = None,
    as_json: AsJson = False,
    config: Config = None,
) -> int:
    """Estimate how many points the index will hold."""
    from streams.cli.estimate import run_estimate

    return run_estimate(load_settings(config), articles, mix, chunks, sample, dimensions, as_json)


@app.command("config")
def config_(
    action: Annotated[Literal["show", "schema"], typer.Argument(help="What to do.")] = "show",
    as_json: AsJson = False,
    config: Config = None,
) -> int:
    """Show the configuration in force and where it comes from, or describe every key."""
    with collector_at_rest():
        from streams.cli.config import run_config

    return run_config(action, config, as_json)


@app.command()
def graph(
    mermaid: Annotated[bool, typer.Option("--mermaid", help="As a Mermaid diagram.")] = False, as_json: AsJson = False
) -> int:
    """Draw the topology."""
    from streams.cli.graph import run_graph

    return run_graph(mermaid, as_json)


@app.command()
def generate(
    check: Annotated[bool, typer.Option("--check", help="Only say what has drifted.")] = False,
    release: Annotated[bool, typer.Option("--release", help="Keep today's schemas as those of this version.")] = False,
    prometheus: Annotated[
        Path | None,
        typer.Option(
            "--prometheus",
            metavar="FOLDER",
            help="Write Prometheus's files there instead, for the settings in force.",
        ),
    ] = None,
    as_json: AsJson = False,
    config: Config = None,
) -> int:
    """Write the files that derive from the topology."""
    if check and release:
        raise typer.BadParameter("it writes, and --check does not", param_hint="'--release'")
    if prometheus is not None:
        if check or release:
            raise typer.BadParameter("it stands alone, without --check and --release", param_hint="'--prometheus'")
        from streams.cli.generate import write_prometheus

        return write_prometheus(load_settings(config), prometheus, as_json)
    if config is not None:
        raise typer.BadParameter("the checkout's files are of its own config/", param_hint="'--config'")
    from streams.cli.generate import run_generate

    return run_generate(check, as_json, keep=release)


@app.command()
def doctor(
    models: Annotated[bool, typer.Option("--models", help="Also ask the model server for its list of models.")] = False,
    as_json: AsJson = False,
    config: Config = None,
) -> int:
    """Check that everything Assay needs is there."""
    from streams.cli.doctor import run_doctor

    return run_doctor(load_settings(config), as_json, ask_models=models)


@app.command()
def version() -> int:
    """Print the version."""
    from importlib.metadata import version as installed

    print(installed("assay"))
    return 0
