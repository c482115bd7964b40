"""All checks of ``assay doctor`` in their order, and those of no package: Python, installed packages, ranking trees."""

from __future__ import annotations

import platform
import re
from collections.abc import Iterator
from importlib import metadata
from pathlib import Path

from handlers.ranking.model import ModelMismatchError
from streams.http.checks import ask_index, check_port
from streams.local_kafka.checks import check_folders, check_installation
from streams.runtime.checks import Check
from streams.runtime.extras import missing_extra
from streams.runtime.settings_files import config_dir
from streams.settings.model import Settings
from streams.topology import HANDLERS


def examine(settings: Settings, *, ask_models: bool) -> Iterator[Check]:
    named = bool(settings.kafka.bootstrap_servers)
    yield Check("Python", "ok", platform.python_version())
    yield check_packages()
    yield Check("configuration", "ok", f"every key of {config_dir()} is known and valid")
    yield from check_installation(needed=not named)
    # Imported after the check of packages, which reports a broken one.
    try:
        from streams.kafka.checks import check_kafka

        kafka = settings.with_kafka().kafka
        yield from check_kafka(kafka, lambda handler: settings.rules(handler.rules).config_version, named=named)
    except ModuleNotFoundError as error:
        yield _absent("Kafka", error)
    yield from check_trees(settings)
    yield check_port(settings.http)
    try:
        from streams.fetch.checks import check_fetching
        from streams.index.checks import check_index
        from streams.llm.checks import check_models
        from streams.query.access import application_url

        yield check_index(settings.index, application_url(settings.http), ask_index)
        yield from check_fetching(settings.fetch)
        models = {handler.name: settings.model_of(handler.name) for handler in HANDLERS if handler.asks_models}
        yield from check_models(settings.llm, settings.models, models, ask=ask_models)
        yield from check_folders(needed=not named)
    except ModuleNotFoundError as error:
        yield _absent("services", error)


def _absent(what: str, error: ModuleNotFoundError) -> Check:
    if (remedy := missing_extra(error)) is None:
        raise error
    return Check(what, "warn", *remedy.split(": ", 1))


def check_packages() -> Check:
    fix = "run `make setup`, or install assay again with its constraints.txt"
    try:
        required = [text for text in metadata.requires("assay") or () if ";" not in text]
    except metadata.PackageNotFoundError:
        return Check("packages", "fail", "assay is not installed", fix)
    names = [re.split(r"[^A-Za-z0-9._-]", text, maxsplit=1)[0] for text in required]
    if missing := [name for name in names if not any(metadata.Distribution.discover(name=name))]:
        return Check("packages", "fail", f"{', '.join(missing)} is not installed", fix)
    if others := list(_other_versions(names)):
        return Check("packages", "warn", ", ".join(others), "tested versions are in constraints.txt")
    return Check("packages", "ok", f"all {len(names)} are there")


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
