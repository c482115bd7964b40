"""``assay generate``: writes the files that derive from the topology, or reports drift and incompatibility."""

from __future__ import annotations

import os
import sys
from collections.abc import Callable
from importlib.metadata import version
from pathlib import Path
from typing import Annotated

from pydantic import ValidationError
from typer import BadParameter, Option

from streams.cli.command import AsJson, Config, load_settings
from streams.cli.output import say, show, tell
from streams.generate.json_schemas import incompatible, lost, release
from streams.generate.kubernetes import Installation, manifests
from streams.generate.monitoring import prometheus as prometheus_of
from streams.generate.outputs import drift, write
from streams.generate.pages import plain_text
from streams.settings.model import Settings, explain

CHECKOUT = Path(__file__).parents[2]
_THERE = "Write {} there instead, for the settings in force."
_DONE = {"drifted": "written anew", "missing": "written", "stale": "removed"}


def generate(
    check: Annotated[bool, Option("--check", help="Only report files that have drifted.")] = False,
    release: Annotated[bool, Option("--release", help="Store today's schemas as those of this version.")] = False,
    prometheus: Annotated[Path | None, Option(metavar="FOLDER", help=_THERE.format("Prometheus's files"))] = None,
    kubernetes: Annotated[Path | None, Option(metavar="FOLDER", help=_THERE.format("the Kubernetes manifests"))] = None,
    graph: Annotated[bool, Option("--graph", help="Print the topology, and write nothing.")] = False,
    as_json: AsJson = False,
    config: Config = None,
) -> int:
    if graph:
        say(*plain_text().split("\n"))
        return 0
    if check and release:
        raise BadParameter("it cannot be used with --check", param_hint="'--release'")
    for option, folder, files in (
        ("--prometheus", prometheus, prometheus_files),
        ("--kubernetes", kubernetes, kubernetes_files),
    ):
        if folder is not None:
            if check or release:
                raise BadParameter("it cannot be used with --check or --release", param_hint=f"'{option}'")
            return _write_files(files, load_settings(config), folder, as_json=as_json)
    if config is not None:
        raise BadParameter("the files of the checkout derive from its own config/", param_hint="'--config'")
    return run_generate(check=check, as_json=as_json, keep=release)


def run_generate(*, check: bool, as_json: bool, root: Path = CHECKOUT, keep: bool = False) -> int:
    """Writes the generated files of a checkout, or with ``check`` compares them; ``keep`` stores the schemas."""
    if not (root / "pyproject.toml").is_file():
        return tell("generate", f"it works on a checkout of Assay, and {root} is not one", 2)
    if variable := _set_elsewhere(root):
        todo = "unset it, or write Prometheus's files for it with `assay generate --prometheus FOLDER`"
        here = f"{variable} would not be in the checkout's files, which derive from its config/"
        return tell("generate", f"{here}; {todo}", 2)
    try:
        for path in release(root, version("assay")) if keep else ():
            say(f"kept: {path.as_posix()}", to=sys.stderr)
        found = drift(root) if check else write(root)
    except ValueError as error:
        return _refused(error)
    kinds = {kind: [path.as_posix() for path, how in found.items() if how == kind] for kind in _DONE}
    gone, broken = lost(root), incompatible(root)
    lines = [f"{kind if check else _DONE[kind]}: {name}" for kind, names in kinds.items() for name in names]
    show(as_json, {**kinds, "lost": gone, "incompatible": broken}, *(lines or ["everything generated is up to date"]))
    if found and check and not as_json:
        say("run `assay generate` and commit what it writes", to=sys.stderr)
    for line in (*gone, *(f"breaks readers of released events: {line}" for line in broken)):
        tell("generate", line)
    return 1 if (check and found) or gone or broken else 0


def prometheus_files(settings: Settings) -> dict[Path, str]:
    document = settings.model_dump(include={"alerts", "pipeline"})
    return {Path(path.name): text for path, text in prometheus_of(document).items()}


def kubernetes_files(settings: Settings) -> dict[Path, str]:
    return manifests(Installation.in_force(settings.model_dump(include=set(Installation.model_fields))))


def _write_files(
    files: Callable[[Settings], dict[Path, str]], settings: Settings, folder: Path, *, as_json: bool
) -> int:
    written = []
    try:
        for path, text in files(settings).items():
            (folder / path).parent.mkdir(parents=True, exist_ok=True)
            (folder / path).write_text(text, "utf-8")
            written.append((folder / path).as_posix())
    except ValueError as error:
        return _refused(error)
    return show(as_json, {"written": written}, *(f"written: {path}" for path in written))


def _refused(error: ValueError) -> int:
    return tell("generate", explain(error) if isinstance(error, ValidationError) else str(error), 1)


def _set_elsewhere(root: Path) -> str:
    """A variable whose alert settings the checkout's configuration does not have; "" if there is no such variable."""
    if names := [name for name in sorted(os.environ) if name.upper().split("__")[0] == "ASSAY_ALERTS"]:
        return names[0]
    named = os.environ.get("ASSAY_CONFIG_DIR")
    return "ASSAY_CONFIG_DIR" if named and Path(named).resolve() != (root / "config").resolve() else ""
