"""All checks of ``assay doctor`` in their order, and those of this machine: packages, Java, Kafka's files, a port."""

from __future__ import annotations

import errno
import platform
import re
import socket
import tempfile
from collections.abc import Iterator
from importlib import metadata
from importlib.util import find_spec
from pathlib import Path

from handlers.ranking.model import ModelMismatchError
from streams.llm.checks import Check, CheckState
from streams.local_kafka.install import KAFKA_VERSION, BrokerUnavailable, are_cached, cache_folder, find_java
from streams.runtime.extras import install_line, missing_extra
from streams.runtime.settings_files import config_dir
from streams.settings.model import HttpSettings, Settings

_DISTRIBUTION = "assay"


def examine(settings: Settings, *, ask_models: bool) -> Iterator[Check]:
    named = bool(settings.kafka.bootstrap_servers)
    yield Check("Python", "ok", platform.python_version())
    yield check_packages()
    yield Check("configuration", "ok", f"every key of {config_dir()} is known and valid")
    yield check_java(needed=not named)
    yield check_jars(cache_folder(), needed=not named)
    # Imported after the check of packages, which reports a broken one.
    try:
        from streams.doctor.kafka import check_kafka

        yield from check_kafka(settings)
    except ModuleNotFoundError as error:
        yield _absent("Kafka", error)
    yield from check_trees(settings)
    yield check_port(settings.http)
    try:
        from streams.doctor.services import check_fetching, check_folder, check_index, check_models

        yield check_index(settings.index, settings.http)
        yield from check_fetching(settings.fetch)
        yield from check_models(settings, ask=ask_models)
        yield check_folder("cache", cache_folder(), "ASSAY_CACHE_DIR")
        if not named:
            yield check_folder("local data", Path(tempfile.gettempdir()), "TMPDIR")
    except ModuleNotFoundError as error:
        yield _absent("services", error)


def _absent(what: str, error: ModuleNotFoundError) -> Check:
    if (remedy := missing_extra(error)) is None:
        raise error
    return Check(what, "warn", *remedy.split(": ", 1))


def check_packages() -> Check:
    fix = "run `make setup`, or install assay again with its constraints.txt"
    try:
        names = _required(_DISTRIBUTION)
    except metadata.PackageNotFoundError:
        return Check("packages", "fail", "assay is not installed", fix)
    if missing := [name for name in names if not _is_installed(name)]:
        return Check("packages", "fail", f"{', '.join(missing)} is not installed", fix)
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
    return Check("local Kafka", state, f"not in {cache}, nothing to fetch it with", install_line("local"))


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


def _is_installed(name: str) -> bool:
    try:
        metadata.distribution(name)
    except metadata.PackageNotFoundError:
        return False
    return True


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
