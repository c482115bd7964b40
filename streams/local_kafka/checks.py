"""The checks of ``assay doctor`` of the local broker: Java, Kafka's jars, and the folders of both and of its data."""

from __future__ import annotations

import tempfile
from collections.abc import Iterator
from importlib.util import find_spec
from pathlib import Path

from streams.local_kafka.install import KAFKA_VERSION, BrokerUnavailable, are_cached, cache_folder, find_java
from streams.runtime.checks import Check, CheckState, check_folder
from streams.runtime.extras import install_line


def check_installation(*, needed: bool) -> Iterator[Check]:
    """Whether a local broker can start. If none is needed, a missing part gets a warning."""
    state: CheckState = "fail" if needed else "warn"
    try:
        yield Check("Java", "ok", find_java())
    except BrokerUnavailable as error:
        yield Check("Java", state, str(error))
    cache = cache_folder()
    if are_cached(cache):
        yield Check("local Kafka", "ok", f"{KAFKA_VERSION} in {cache}")
    elif find_spec("jgo") is not None:
        yield Check("local Kafka", "warn", f"not in {cache} yet", "the first start fetches it (45 MB)")
    else:
        yield Check("local Kafka", state, f"not in {cache}, nothing to fetch it with", install_line("local"))


def check_folders(*, needed: bool) -> Iterator[Check]:
    yield check_folder("cache", cache_folder(), "ASSAY_CACHE_DIR")
    if needed:
        yield check_folder("local data", Path(tempfile.gettempdir()), "TMPDIR")
