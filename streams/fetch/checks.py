"""The checks of ``assay doctor`` of fetching: relaxed rules, the name that servers see, and the cache of pages."""

from __future__ import annotations

import sqlite3
from collections.abc import Iterator
from contextlib import closing
from pathlib import Path

from streams.fetch.cache import STEPS, VARIABLE
from streams.fetch.settings import FetchSettings
from streams.runtime.checks import Check, check_folder
from streams.runtime.files import refuse_newer


def check_fetching(fetch: FetchSettings) -> Iterator[Check]:
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
        path = fetch.cache_path.absolute()
        yield check_folder("fetched pages", path.parent, VARIABLE, [path])


def _refused(path: Path) -> str:
    try:
        if path.exists():
            with closing(sqlite3.connect(path)) as database:
                refuse_newer(database, STEPS, VARIABLE)
    except sqlite3.Error as error:
        return str(error)
    return ""
