"""``assay doctor``: checks the machine and the configuration, and says what to do about each problem.

The command creates, fetches and changes nothing.
"""

from __future__ import annotations

import json
import platform
import tempfile
from collections.abc import Iterator
from dataclasses import asdict
from pathlib import Path
from typing import Annotated

import typer
from rich.console import Console
from rich.text import Text

from streams.cli.doctor_checks import (
    check_fetching,
    check_folder,
    check_jars,
    check_java,
    check_packages,
    check_port,
    check_trees,
)
from streams.cli.doctor_kafka import check_kafka
from streams.cli.options import AsJson, Config, load_settings
from streams.llm.checks import Check
from streams.local_kafka.install import cache_folder
from streams.runtime.settings_files import config_dir
from streams.settings.model import Settings

_MARKS = {"ok": ("✓", "green"), "warn": ("!", "yellow"), "fail": ("✗", "red")}


def doctor(
    models: Annotated[bool, typer.Option("--models", help="Also ask the model server for its list of models.")] = False,
    as_json: AsJson = False,
    config: Config = None,
) -> int:
    """Check the machine, the configuration and Kafka, and say what to do."""
    return run_doctor(load_settings(config), as_json=as_json, ask_models=models)


def run_doctor(settings: Settings, *, as_json: bool, ask_models: bool = False) -> int:
    """Runs all checks and prints the findings; returns 1 if one failed. Warnings are not failures."""
    findings = []
    console = Console(highlight=False, soft_wrap=True)
    for finding in examine(settings, ask_models=ask_models):
        findings.append(finding)
        if not as_json:
            mark, style = _MARKS[finding.state]
            todo = f"; {finding.todo}" if finding.todo else ""
            console.print(Text.assemble((mark, style), " ", (f"{finding.what:13}", "bold"), " ", finding.detail, todo))
    well = all(finding.state != "fail" for finding in findings)
    if as_json:
        print(json.dumps({"well": well, "findings": [asdict(finding) for finding in findings]}, ensure_ascii=False))
    return 0 if well else 1


def examine(settings: Settings, *, ask_models: bool) -> Iterator[Check]:
    """The findings in order, each as soon as it is known."""
    named = bool(settings.kafka.bootstrap_servers)
    yield Check("Python", "ok", platform.python_version())
    yield check_packages()
    yield Check("configuration", "ok", f"every key of {config_dir()} is known and valid")
    yield check_java(needed=not named)
    yield check_jars(cache_folder(), needed=not named)
    yield from check_kafka(settings)
    # After the check of packages: a broken package must be reported before an import here fails.
    from streams.cli.doctor_services import check_index, check_models

    yield check_index(settings.index, settings.http)
    yield from check_trees(settings)
    yield check_port(settings.http)
    yield from check_fetching(settings.fetch)
    yield from check_models(settings, ask=ask_models)
    yield check_folder("cache", cache_folder(), "ASSAY_CACHE_DIR")
    if not named:
        yield check_folder("local data", Path(tempfile.gettempdir()), "TMPDIR")
