"""The table of the commands. A command's module is imported when the command is called, so ``assay --help`` is fast."""

from __future__ import annotations

import os
import sys
from importlib import import_module
from inspect import getdoc
from keyword import iskeyword
from typing import Annotated, Any

import typer
from typer import Option
from typer.core import TyperGroup
from typer.exceptions import TyperException
from typer.main import get_command

from streams.cli.output import HELP_OPTIONS, say, tell
from streams.runtime.extras import missing_extra
from streams.runtime.process import gc_paused
from streams.runtime.settings_files import SettingsError

COMMANDS = {
    "score": "Score pages: addresses, files, folders, or standard input.",
    "demo": "Run all handlers on a small sample web, on a Kafka of its own.",
    "run": "Run handlers as consumer groups.",
    "broker": "Run a real Apache Kafka on this machine; no Docker needed.",
    "topics": "Create the topics, list them, compare them with what is declared, or list needed rights.",
    "publish": "Publish events or pages, as live traffic or as a backfill that can be resumed.",
    "tail": "Show the records of a topic as they come.",
    "export": "Write scored pages as TSV, or the reviewed decisions with their inputs as JSON lines.",
    "try": "Run a handler on events from a file, without a broker.",
    "console": "Show the decisions in a browser: what flows, why, and what can be done.",
    "why": "Show every decision about a page, a batch, a request or a claim, the newest first.",
    "stats": "Count the decisions of a topic or a file: tiers, scores, types, refusals.",
    "query": "Search the index and explain the rank of each result.",
    "answer": "Answer a question from the index, with citations that carry their trust labels.",
    "mcp": "Serve the tools search, fetch, score and check_claim to an agent (MCP).",
    "reply": "Show a model's reply, by the call id of an event.",
    "train": "Train a ranking model from feedback, and report whether it is better.",
    "replay": "Process a part of a topic again: `assay replay HANDLER`.",
    "dlq": "Count dead letters, show one, send them again, or delete them.",
    "lag": "Show how far each consumer group is behind, including stopped ones.",
    "top": "Watch the handlers at work: rate, lag, age, dead letters, costs.",
    "estimate": "Estimate how many points the index will hold.",
    "sources": "Show which kind and tier an address has, or import your own sources.",
    "init": "Write a configuration for your country and your sources.",
    "config": "Show the configuration in force and where it comes from, or describe every key.",
    "graph": "Draw the topology.",
    "generate": "Write the files that derive from the topology.",
    "doctor": "Check the machine, the configuration and Kafka, and say what to do.",
}
"""For each command its line in the help. Its function has its name, with ``_`` after a Python keyword."""
_MODULES = {"reply": "why", "graph": "generate", "try": "try_"}  # others have a module of their own name


class _ImportOnCall(TyperGroup):
    def resolve_command(self, ctx: Any, args: list[str]) -> tuple[str | None, Any, list[str]]:
        name, command, rest = super().resolve_command(ctx, args)
        return name, imported_command(name) if name in COMMANDS else command, rest


def imported_command(name: str) -> Any:
    attribute = f"{name}_" if iskeyword(name) else name
    with gc_paused():
        command = getattr(import_module(f"{__package__}.{_MODULES.get(name, name)}"), attribute)
    if not isinstance(command, typer.Typer):
        function, command = command, typer.Typer(context_settings=HELP_OPTIONS, add_completion=False)
        # A command whose help is its line in the table has no docstring.
        command.command(name, help=getdoc(function) or COMMANDS[name])(function)
    return get_command(command)


app = typer.Typer(
    name="assay", cls=_ImportOnCall, no_args_is_help=True, pretty_exceptions_enable=False, context_settings=HELP_OPTIONS
)
for _name, _line in COMMANDS.items():
    app.command(_name, help=_line)(lambda: None)


def run_command_line(arguments: list[str]) -> int:
    """Runs one command; returns 2 and prints one line for wrong usage, and 130 after Ctrl-C."""
    try:
        status = app(args=arguments, standalone_mode=False, prog_name="assay")
        sys.stdout.flush()
    except TyperException as error:
        message = error.format_message()
        context = getattr(error, "ctx", None)
        wanted = f"try `{context.command_path if context else 'assay'} --help`"
        return tell("", f"{message} ({wanted})" if message else wanted, error.exit_code or 2)
    except SettingsError as error:
        return tell("", str(error), 2)
    except ModuleNotFoundError as error:
        if (remedy := missing_extra(error)) is None:
            raise
        return tell("", remedy, 1)
    except (KeyboardInterrupt, typer.Abort):
        return 130
    except BrokenPipeError:
        # The reader of standard output has gone. Python would report the rest of the buffer at exit.
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
        return 1
    except OSError as error:
        where = f"{error.filename}: " if error.filename else ""
        return tell("", f"{where}{error.strerror or error}", 1)
    return int(status or 0)


def _print_version(wanted: bool) -> None:
    if wanted:
        version()
        raise typer.Exit


@app.callback()
def assay(
    _: Annotated[bool, Option("--version", callback=_print_version, is_eager=True, help="Print the version.")] = False,
) -> None:
    """Checks web pages and search results before a language model reads them."""


@app.command()
def version() -> int:
    """Print the version."""
    from importlib.metadata import version as installed

    say(installed("assay"))
    return 0
