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

from streams.cli.command import HELP_OPTIONS, as_command
from streams.cli.output import say, tell
from streams.runtime.extras import install_line, missing_extra
from streams.runtime.process import gc_paused
from streams.runtime.settings_files import SettingsError

PANELS: dict[str, dict[str, tuple[str, ...]]] = {
    "Try it": {
        "score": ("Score pages: addresses, files, folders, or standard input.",),
        "try": ("Run a handler on events from a file, without a broker.",),
        "demo": ("Run all handlers on a small sample web, on a Kafka of its own.", "demo"),
        "query": ("Search the index and explain the rank of each result.", "index", "rank"),
        "answer": ("Answer a question from the index, with citations and trust labels.", "index", "rank"),
        "mcp": ("Serve the decisions as tools of an agent (MCP).", "mcp", "index", "rank"),
    },
    "Run it": {
        "broker": ("Run a real Apache Kafka on this machine; no Docker needed.", "kafka", "local"),
        "topics": ("Create the topics, list them, compare them, or list needed rights.", "kafka"),
        "publish": ("Publish events or pages, live or as a backfill that can resume.", "kafka"),
        "run": ("Run handlers as consumer groups.", "kafka", "index", "rank"),
        "console": ("Show the decisions in a browser: what flows, why, what can be done.", "console"),
        "export": ("Write scored pages as TSV, or reviewed decisions as JSON lines.", "kafka"),
    },
    "Look": {
        "why": ("Show every decision about a page, a batch, a request or a claim.", "kafka"),
        "tail": ("Show the decisions and other records of a topic as they come.", "kafka"),
        "stats": ("Count the decisions of a topic or a file: tiers, scores, refusals.", "kafka"),
        "top": ("Watch the handlers at work: rate, lag, age, dead letters, costs.", "kafka"),
        "lag": ("Show how far each consumer group is behind, including stopped ones.", "kafka"),
        "estimate": ("Estimate how many points the index will hold.",),
    },
    "Repair": {
        "doctor": ("Check the machine, the configuration and Kafka, and say what to do.",),
        "dlq": ("Count dead letters, show one, send them again, or delete them.", "kafka"),
        "replay": ("Process a part of a topic again: `assay replay HANDLER`.", "kafka"),
    },
    "Set up": {
        "init": ("Write a configuration for your country and your sources.",),
        "sources": ("Show which kind and tier an address has, or import your own sources.",),
        "config": ("Show the configuration in force with origins, or describe all keys.",),
        "train": ("Train a ranking model from feedback, and compare it.", "kafka", "rank"),
        "generate": ("Write the files that derive from the topology.", "kafka"),
    },
}
"""For each command its line in the help, and the extras that it needs. Its module and its function have its name, with
``_`` after a Python keyword."""
COMMANDS = {name: line for commands in PANELS.values() for name, (line, *_) in commands.items()}
_FOOT = """\
On the right: extras beyond the base install; `assay COMMAND --help` tells how to install them.
Also: `assay --version`, `assay --install-completion`."""


class _ImportOnCall(TyperGroup):
    def resolve_command(self, ctx: Any, args: list[str]) -> tuple[str | None, Any, list[str]]:
        name, command, left = super().resolve_command(ctx, args)
        return name, imported_command(name) if name in COMMANDS else command, left

    def format_help(self, ctx: Any, formatter: Any) -> None:  # noqa: ARG002 - the signature is the library's
        lines = ["Usage: assay COMMAND …", "", getdoc(assay) or ""]
        for panel, commands in PANELS.items():
            lines += ["", panel]
            lines += [
                f"  {name:<9} {line:<68} {','.join(extras)}".rstrip() for name, (line, *extras) in commands.items()
            ]
        formatter.write("\n".join([*lines, "", _FOOT, ""]))


def imported_command(name: str) -> Any:
    python_name = f"{name}_" if iskeyword(name) else name
    with gc_paused():
        command = getattr(import_module(f"{__package__}.{python_name}"), python_name)
    # The help is the line of the table; the docstring of a command and the help of a group go on.
    if isinstance(command, typer.Typer):
        command.info.help = f"{COMMANDS[name]}\n\n{command.info.help or ''}".strip()
        command.info.epilog = _needed(name)
        for part in command.registered_commands:
            part.callback = part.callback and as_command(f"{name} {part.name}", part.callback)
        return get_command(command)
    alone = typer.Typer(add_completion=False, rich_markup_mode=None, context_settings=HELP_OPTIONS)
    text = f"{COMMANDS[name]}\n\n{getdoc(command) or ''}".strip()
    alone.command(name, help=text, epilog=_needed(name))(as_command(name, command))
    return get_command(alone)


def _extras(name: str) -> list[str]:
    return next(
        (extras for commands in PANELS.values() for known, (_, *extras) in commands.items() if known == name), []
    )


def _needed(name: str) -> str | None:
    extras = _extras(name)
    return f"\b\nIt needs more than the base install:\n  {install_line(*extras)}" if extras else None


app = typer.Typer(
    name="assay",
    cls=_ImportOnCall,
    no_args_is_help=True,
    pretty_exceptions_enable=False,
    rich_markup_mode=None,
    context_settings=HELP_OPTIONS,
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
        if message.startswith("Usage: "):  # no command was named
            say(*message.split("\n"))
            return 2
        context = getattr(error, "ctx", None)
        wanted = f"try `{context.command_path if context else 'assay'} --help`"
        return tell("", f"{message} ({wanted})" if message else wanted, error.exit_code or 2)
    except SettingsError as error:
        return tell("", str(error), 2)
    except ModuleNotFoundError as error:
        if (remedy := missing_extra(error, *_extras(arguments[0]))) is None:
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
        from importlib.metadata import version

        say(version("assay"))
        raise typer.Exit


@app.callback()
def assay(
    _: Annotated[bool, Option("--version", callback=_print_version, is_eager=True, help="Print the version.")] = False,
) -> None:
    """Checks web pages and search results before a language model reads them."""
