"""``assay doctor``: checks the machine and the configuration, and says what to do about each problem."""

from __future__ import annotations

import errno
import importlib
import platform
import re
import socket
import tempfile
from collections.abc import Iterator
from dataclasses import asdict
from importlib import metadata
from importlib.util import find_spec
from pathlib import Path
from typing import Annotated

from rich.text import Text
from typer import Option

from handlers.ranking.model import ModelMismatchError
from streams.cli.doctor_kafka import check_kafka
from streams.cli.output import AsJson, Config, load_settings, say_json
from streams.llm.checks import Check, CheckState
from streams.local_kafka.install import KAFKA_VERSION, BrokerUnavailable, are_cached, cache_folder, find_java
from streams.runtime.settings_files import config_dir
from streams.settings.model import HttpSettings, Settings
from streams.views.screen import Screen

_DISTRIBUTION = "assay"
_SLOW = frozenset({"faststream", "openai", "qdrant-client"})  # the packages whose import takes most of a second
_MARKS = {"ok": ("✓", "green"), "warn": ("!", "yellow"), "fail": ("✗", "red")}


def doctor(
    models: Annotated[bool, Option("--models", help="Also ask the model server for its list of models.")] = False,
    as_json: AsJson = False,
    config: Config = None,
) -> int:
    return run_doctor(load_settings(config), as_json=as_json, ask_models=models)


def run_doctor(settings: Settings, *, as_json: bool, ask_models: bool = False) -> int:
    """Runs all checks and prints the findings; returns 1 if one failed. Warnings are not failures."""
    findings = []
    console = Screen(soft_wrap=True)
    for finding in examine(settings, ask_models=ask_models):
        findings.append(finding)
        if not as_json:
            mark, style = _MARKS[finding.state]
            todo = f"; {finding.todo}" if finding.todo else ""
            console.print(Text.assemble((mark, style), " ", (f"{finding.what:13}", "bold"), " ", finding.detail, todo))
    well = all(finding.state != "fail" for finding in findings)
    if as_json:
        say_json({"well": well, "findings": [asdict(finding) for finding in findings]})
    return 0 if well else 1


def examine(settings: Settings, *, ask_models: bool) -> Iterator[Check]:
    named = bool(settings.kafka.bootstrap_servers)
    yield Check("Python", "ok", platform.python_version())
    yield check_packages()
    yield Check("configuration", "ok", f"every key of {config_dir()} is known and valid")
    yield check_java(needed=not named)
    yield check_jars(cache_folder(), needed=not named)
    yield from check_kafka(settings)
    # After the check of packages: a broken package must be reported before an import here fails.
    from streams.cli.doctor_services import check_fetching, check_folder, check_index, check_models

    yield check_index(settings.index, settings.http)
    yield from check_trees(settings)
    yield check_port(settings.http)
    yield from check_fetching(settings.fetch)
    yield from check_models(settings, ask=ask_models)
    yield check_folder("cache", cache_folder(), "ASSAY_CACHE_DIR")
    if not named:
        yield check_folder("local data", Path(tempfile.gettempdir()), "TMPDIR")


def check_packages() -> Check:
    fix = "run `make setup`, or install assay again with its constraints.txt"
    try:
        names = _required(_DISTRIBUTION)
    except metadata.PackageNotFoundError:
        return Check("packages", "fail", "assay is not installed", fix)
    if problems := [problem for name in names if (problem := _problem(name))]:
        return Check("packages", "fail", "; ".join(problems), fix)
    if others := list(_other_versions(names)):
        return Check("packages", "warn", ", ".join(others), "tested versions are in constraints.txt")
    return Check("packages", "ok", f"all {len(names)} are there")


def check_java(*, needed: bool) -> Check:
    try:
        return Check("Java", "ok", find_java())
    except BrokerUnavailable as error:
        return Check("Java", "fail" if needed else "warn", str(error))


def check_jars(cache: Path, *, needed: bool) -> Check:
    if are_cached(cache):
        return Check("local Kafka", "ok", f"{KAFKA_VERSION} in {cache}")
    if find_spec("jgo") is not None:
        return Check("local Kafka", "warn", f"not in {cache} yet", "the first start fetches it (45 MB)")
    state: CheckState = "fail" if needed else "warn"
    return Check("local Kafka", state, f"not in {cache}, nothing to fetch it with", "pip install 'assay[local]'")


def check_trees(settings: Settings) -> Iterator[Check]:
    if (model := settings.ranking_model) is None:
        return
    try:
        model.ready()
    except ModelMismatchError as error:
        yield Check("ranking trees", "fail", str(error))
    else:
        warning = model.other_config(settings.ranking)
        fits = f"{model.manifest.name} {model.manifest.version} fits the features of today"
        yield Check("ranking trees", "warn" if warning else "ok", warning or fits)


def check_port(http: HttpSettings) -> Check:
    where = f"{http.host}:{http.port}"
    if not http.enabled:
        return Check("HTTP port", "ok", "off")
    try:
        family = socket.AF_INET6 if ":" in http.host else socket.AF_INET
        socket.create_server((http.host, http.port), family=family).close()
    except OSError as error:
        if error.errno != errno.EADDRINUSE:
            return Check("HTTP port", "fail", f"{where}: {error.strerror}", "set ASSAY_HTTP__HOST, ASSAY_HTTP__PORT")
        if "port" in http.model_fields_set:
            return Check("HTTP port", "warn", f"{where} is taken, maybe by `assay run`", "else set ASSAY_HTTP__PORT")
        return Check("HTTP port", "ok", f"{where} is taken, `assay run` would take a free port")
    return Check("HTTP port", "ok", f"{where} is free")


def _required(distribution: str) -> list[str]:
    required = [text for text in metadata.requires(distribution) or () if ";" not in text]
    return [re.split(r"[^A-Za-z0-9._-]", text, maxsplit=1)[0] for text in required]


def _problem(name: str) -> str:
    try:
        if _normal(name) not in _SLOW:
            for module in _modules(name):
                importlib.import_module(module)
            return ""
        missing = next((file for file in metadata.files(name) or () if not Path(file.locate()).exists()), None)
        if missing is not None:
            return f"{name} lacks its file {missing}"
        for needed in _required(name):
            metadata.version(needed)
    except metadata.PackageNotFoundError as error:
        return f"{error.name} is not installed"
    except Exception as error:  # a broken package may raise anything, and the next one is checked too
        return f"{name} can't be imported ({type(error).__name__}: {error})"
    return ""


def _modules(name: str) -> set[str]:
    """The top packages and modules of a distribution; some list more in their metadata than they install."""
    files = metadata.files(name) or ()
    packages = {file.parts[0] for file in files if file.name == "__init__.py" and len(file.parts) == 2}
    modules = {file.stem for file in files if file.suffix == ".py" and len(file.parts) == 1}
    return {name for name in packages | modules if not name.startswith("_")}


def _other_versions(names: list[str]) -> Iterator[str]:
    """Packages whose version is not the pinned one; none without a checkout, which has the pins."""
    pins = Path(__file__).parent.parent.parent / "constraints.txt"
    if not pins.is_file():
        return
    lines = (line.split("==") for line in pins.read_text("utf-8").splitlines() if line.count("==") == 1)
    tested = {_normal(name): version.strip() for name, version in lines}
    for name in names:
        has, pin = metadata.version(name), tested.get(_normal(name))
        if pin is not None and has != pin:
            yield f"{name} {has} (tested with {pin})"


def _normal(name: str) -> str:
    return re.sub(r"[-_.]+", "-", name.strip()).lower()
