"""``assay doctor``: checks the machine and the configuration, and says what to do about each problem."""

from __future__ import annotations

from dataclasses import asdict
from typing import Annotated

from rich.text import Text
from typer import Option

from streams.cli.command import AsJson, Config, load_settings
from streams.cli.output import say_json
from streams.doctor.examination import examine
from streams.views.screen import Screen

_MARKS = {"ok": ("✓", "green"), "warn": ("!", "yellow"), "fail": ("✗", "red")}


def doctor(
    models: Annotated[bool, Option("--models", help="Also ask the model server for its list of models.")] = False,
    as_json: AsJson = False,
    config: Config = None,
) -> int:
    findings, console = [], Screen(soft_wrap=True)
    for finding in examine(load_settings(config), ask_models=models):
        findings.append(finding)
        if not as_json:
            mark, style = _MARKS[finding.state]
            todo = f"; {finding.todo}" if finding.todo else ""
            console.print(Text.assemble((mark, style), " ", (f"{finding.what:13}", "bold"), " ", finding.detail, todo))
    well = all(finding.state != "fail" for finding in findings)
    if as_json:
        say_json({"well": well, "findings": [asdict(finding) for finding in findings]})
    return 0 if well else 1  # a warning is no failure
