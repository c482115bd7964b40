"""What a command is: its options, the settings in force, its errors, and its work with Kafka, whose trouble is a line.

Commands import what needs an extra where they use it, so that their help is always there.
"""

from __future__ import annotations

import asyncio
import logging
import os
import signal
import sys
from collections.abc import Awaitable, Callable, Coroutine, Sequence
from dataclasses import is_dataclass
from inspect import Parameter, Signature, signature
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any, TypeVar, cast, get_origin, get_type_hints

import typer
from typer import Option
from typer.core import TyperGroup

from streams.cli.output import tell
from streams.runtime.process import gc_paused

if TYPE_CHECKING:
    from streams.kafka.settings import KafkaSettings
    from streams.settings.model import Settings
    from streams.topology import Handler, Topic


T = TypeVar("T")
HELP_OPTIONS: dict[str, Any] = {"help_option_names": ["-h", "--help"], "max_content_width": 100}

AsJson = Annotated[bool, Option("--json", help="Write JSON for programs.")]
Config = Annotated[Path | None, Option("--config", help="A YAML file whose keys override the shipped ones.")]


def command_group(help_text: str = "", kind: type[TyperGroup] | None = None) -> typer.Typer:
    """A group of commands; its help begins with its line in the table of commands."""
    return typer.Typer(
        cls=kind,
        help=help_text,
        no_args_is_help=True,
        add_completion=False,
        rich_markup_mode=None,
        context_settings=HELP_OPTIONS,
    )


class CommandError(Exception):
    """Ends a command; the message says what to do. The status is 2 for wrong usage, and 1 for trouble."""

    def __init__(self, message: str, status: int = 1) -> None:
        super().__init__(message)
        self.status = status


_TROUBLE = {
    "PortTakenError": 1,
    "IndexSettingsError": 1,
    "JournalError": 1,
    "NoQueriesError": 1,
    "BrokerUnavailable": 1,
    "ChildStartError": 1,
    "ReplayTroubleError": 1,
    "ReplayError": 2,
    "SelectionError": 2,
    "SourceError": 2,
    "XgboostMissingError": 1,
}
"""The errors whose message says what to do, with the exit status. Most commands import the module of none of them."""


def as_command(name: str, command: Callable[..., int]) -> Callable[..., int]:
    """A command that reports such an error in one line.

    If a parameter of it is a dataclass, the fields of that with annotations are options.
    """
    groups, options = dict[str, tuple[Any, list[str]]](), list[Parameter]()
    for parameter in signature(command, eval_str=True).parameters.values():
        given = {parameter.name: parameter}
        kind: Any = parameter.annotation
        if is_dataclass(kind):
            hints, fields = get_type_hints(kind, include_extras=True), signature(cast("type", kind)).parameters
            given = {
                key: field.replace(annotation=hints[key])
                for key, field in fields.items()
                if get_origin(hints[key]) is Annotated
            }
            groups[parameter.name] = kind, list(given)
        options += [option.replace(kind=Parameter.KEYWORD_ONLY) for option in given.values()]

    def called(**values: Any) -> int:
        try:
            made = {key: kind(**{option: values.pop(option) for option in own}) for key, (kind, own) in groups.items()}
            return command(**values, **made)
        except Exception as error:
            if (status := _status_of(error)) is None:
                raise
            return tell(name, str(error), status)

    called.__signature__ = Signature(options)  # type: ignore[attr-defined]
    called.__doc__ = command.__doc__
    return called


def _status_of(error: Exception) -> int | None:
    """The exit status after an error whose message says what to do; None for any other."""
    if isinstance(error, CommandError):
        return error.status
    return next((_TROUBLE[kind.__name__] for kind in type(error).__mro__ if kind.__name__ in _TROUBLE), None)


def find_handlers(names: Sequence[str] | None) -> list[Handler]:
    """The handlers of these names; all without names. Raises CommandError."""
    from streams.topology import HANDLERS, no_such

    known = {handler.name: handler for handler in HANDLERS}
    if unknown := [name for name in names or () if name not in known]:
        raise CommandError(no_such("handler", unknown[0], known), 2)
    return [known[name] for name in names or known]


def find_topic(name: str) -> Topic:
    """The topic of this name. Raises CommandError."""
    from streams.topology import TOPICS, no_such, topic_named

    if (topic := topic_named(name)) is None:
        raise CommandError(no_such("topic", name, [known.name for known in TOPICS]), 2)
    return topic


def confirm(yes: bool, question: str, otherwise: str) -> None:
    """Asks before something is deleted, unless the user has confirmed it already; ends the command without a yes."""
    if not yes:
        if not sys.stdin.isatty():
            raise typer.BadParameter(f"confirm with --yes if there is no terminal; {otherwise}")
        typer.confirm(question, abort=True)


def load_settings(overlay: Path | None = None) -> Settings:
    """The configuration in force, with the keys of the file of ``--config`` over it. Raises SettingsError."""
    with gc_paused():
        # ``--help`` does not wait for the sections of all handlers.
        from streams.settings.model import load_settings

        return load_settings(overlay)


_FIRST_PAUSE_SECONDS, _PAUSE_SECONDS = 4.0, 60.0


def run_with_kafka(command: str, settings: Settings, work: Coroutine[Any, Any, int]) -> int:
    """Returns what the work returns; 1 after a line on standard error for trouble with Kafka; 130 after Ctrl-C."""
    # aiokafka logs each failed connection attempt; the line below reports it once.
    logging.getLogger("aiokafka").setLevel(logging.CRITICAL)
    try:
        return asyncio.run(_work(command, settings, work))
    except KeyboardInterrupt:
        return 130


async def _work(command: str, settings: Settings, work: Coroutine[Any, Any, int]) -> int:
    try:
        from aiokafka.errors import KafkaError

        from streams.kafka.topics import TopicsError
        from streams.kafka.trouble import explain_trouble
    except ModuleNotFoundError:
        work.close()
        raise
    # `run` and `top` show it themselves, and `demo` can have a cluster of its own.
    looked_at = settings.kafka.bootstrap_servers and command not in ("run", "top")
    looking = asyncio.create_task(_report_silence(command, settings.kafka)) if looked_at else None
    try:
        return await work
    except BrokenPipeError:
        raise
    except (KafkaError, TopicsError, OSError, ValueError) as error:
        if _status_of(error) is not None:
            raise
        return tell(command, await explain_trouble(error, settings.kafka), 1)
    finally:
        if looking is not None:
            looking.cancel()


async def answered(kafka: KafkaSettings, seconds: float, work: Awaitable[T]) -> T | str:
    """What the work returns, or why Kafka does not answer it within so many seconds."""
    from aiokafka.errors import KafkaError

    from streams.kafka.trouble import explain_trouble

    try:
        async with asyncio.timeout(seconds):
            return await work
    except TimeoutError:
        return f"Kafka at {kafka.bootstrap_servers} does not answer"
    except (KafkaError, OSError, ValueError) as error:
        return await explain_trouble(error, kafka)


async def _report_silence(command: str, kafka: KafkaSettings) -> None:
    """Reports a cluster that does not answer: the clients wait for it for a minute and longer."""
    from streams.kafka.trouble import find_causes

    pause, before = _FIRST_PAUSE_SECONDS, list[str]()
    while True:
        await asyncio.sleep(pause)
        causes = await find_causes(kafka, (), ())
        if causes and causes != before:
            tell(command, f"waiting: {'; '.join(causes)}")
        pause, before = _PAUSE_SECONDS, causes


def stop_on_signals() -> asyncio.Event:
    """An event that the first SIGTERM or Ctrl-C sets; the second ends the process at once with status 1."""
    stop = asyncio.Event()

    def asked() -> None:
        if stop.is_set():
            tell("", "stopping at once; uncommitted records will be processed again")
            os._exit(1)
        stop.set()

    loop = asyncio.get_running_loop()
    for name in (signal.SIGTERM, signal.SIGINT):
        loop.add_signal_handler(name, asked)
    return stop
