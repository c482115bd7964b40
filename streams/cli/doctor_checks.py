"""The checks of ``assay doctor`` of this machine: packages, Java, folders, the HTTP port, fetching."""

from __future__ import annotations

import errno
import importlib
import os
import re
import shutil
import socket
import sqlite3
from collections.abc import Iterator
from contextlib import closing
from importlib import metadata
from importlib.util import find_spec
from pathlib import Path

from handlers.ranking.model import ModelMismatchError
from streams.fetch.cache import STEPS, VARIABLE
from streams.fetch.settings import FetchSettings
from streams.llm.checks import Check, CheckState
from streams.local_kafka.install import KAFKA_VERSION, BrokerUnavailable, are_cached, find_java
from streams.runtime.files import refuse_newer
from streams.settings.model import HttpSettings, Settings

_DISTRIBUTION = "assay"
_SLOW = frozenset({"faststream", "openai", "qdrant-client"})
"""The packages whose import takes most of a second."""
FREE_BYTES = 1024**3
"""Free space below which a folder gets a warning."""


def check_folder(name: str, folder: Path, variable: str) -> Check:
    """Whether a folder exists or could be made, can be written, and has space; makes nothing."""
    there = next(path for path in (folder, *folder.parents) if path.exists())
    if not there.is_dir() or not os.access(there, os.W_OK | os.X_OK):
        return Check(name, "fail", f"{folder} can't be written", f"name another place with {variable}")
    free = shutil.disk_usage(there).free
    found = f"{folder}, {free / 1024**3:.1f} GiB free"
    if free < FREE_BYTES:
        return Check(name, "warn", found, f"make room, or name another place with {variable}")
    return Check(name, "ok", found)


def check_packages() -> Check:
    """Whether the packages that Assay needs are installed and can be imported, in the versions it was tested with.

    The packages of ``_SLOW`` are not imported: all their files and requirements must be there. An import that fails
    for another reason is not found.
    """
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
    """Checks the Java for the local Kafka, which is needed if no cluster is configured."""
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
    """Whether the configured ranking trees can be used, and get the features that they were trained on."""
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


def check_fetching(fetch: FetchSettings) -> Iterator[Check]:
    """Which limits on fetching are off, and whether the cache of pages can be written."""
    if fetch.allow_private:
        todo = "unset fetch.allow_private, and permit single hosts with fetch.resolve"
        yield Check("fetching", "warn", "pages from the web can make Assay fetch any address of your network", todo)
    if not fetch.robots:
        yield Check("fetching", "warn", "robots.txt is not obeyed", "unset fetch.robots=false unless the sites agree")
    todo = "identify yourself with ASSAY_FETCH__USER_AGENT before you fetch from other people's sites"
    is_default = fetch.user_agent == FetchSettings().user_agent
    yield Check("fetching", "ok", f"as {fetch.user_agent}", todo if is_default else "")
    for host, place in fetch.resolve.items():
        yield Check("fetching", "ok", f"{host} is reached at {place}, as fetch.resolve permits")
    if fetch.cache_path is None:
        todo = f"name a file with {VARIABLE}"
        yield Check("fetched pages", "warn", "in memory: a restart fetches them again", todo)
    elif problem := _refused(fetch.cache_path):
        todo = f"pages are kept in memory until {VARIABLE} names another file"
        yield Check("fetched pages", "warn", f"{fetch.cache_path}: {problem}", todo)
    else:
        yield check_folder("fetched pages", fetch.cache_path.absolute().parent, VARIABLE)


def _refused(path: Path) -> str:
    """Why the fetch cache cannot use an existing file; "" if it can."""
    try:
        if path.exists():
            with closing(sqlite3.connect(path)) as database:
                refuse_newer(database, STEPS, VARIABLE)
    except sqlite3.Error as error:
        return str(error)
    return ""


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
    declared = metadata.distribution(name).read_text("top_level.txt")
    files = metadata.files(name) or ()
    modules = declared.split() if declared else {file.parts[0].split(".")[0] for file in files if file.suffix == ".py"}
    return {module for module in modules if module.isidentifier() and not module.startswith("_")}


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
