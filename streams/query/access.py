"""Where a command's queries are answered: in this process where the index can be had, else by whoever owns it.

A server is searched directly. Embedded files belong to one process: where they are free this one opens them, where an
application has them it is asked over HTTP. Reading makes nothing: where there is no index yet, that is what is said.
"""

from __future__ import annotations

from collections.abc import AsyncIterator
from contextlib import asynccontextmanager

from streams.index.embedded import has_collection
from streams.index.ports import IndexDownError, IndexOwnedError, IndexSettingsError
from streams.query.engine import Queries, QueryEngine
from streams.query.gate import is_loopback
from streams.query.remote import RemoteQueries
from streams.settings import HttpSettings, Settings
from streams.world import LiveWorld


class NoQueriesError(Exception):
    """Nobody can be asked; the message says what to do."""


@asynccontextmanager
async def open_queries(
    settings: Settings, *, app: str = "", own_candidates: bool = False, world: LiveWorld | None = None
) -> AsyncIterator[Queries]:
    """Who answers queries, for as long as the block runs.

    Args:
        settings: The configuration.
        app: Address of an application that is to answer (``check_address``); "" to find out who can.
        own_candidates: Whether requests bring their candidates, so that no index is needed.
        world: Answers what the handler asks for in this process; one is made, and closed again, where None.

    Raises:
        NoQueriesError: There is no index, or it can't be used.
        SettingsError: Sections of the configuration don't go together.
    """
    token = settings.http.token.get_secret_value()
    if app:
        yield RemoteQueries(app, token, settings.query.seconds)
        return
    own = world or LiveWorld(settings, at_once=True)
    try:
        owner = "" if own_candidates else await _owner(settings, own)
        if owner:
            yield RemoteQueries(application_url(settings.http), token, settings.query.seconds, owner)
        else:
            yield QueryEngine(settings, own)
    finally:
        if world is None:
            await own.aclose()


def application_url(http: HttpSettings) -> str:
    """Where the application of these settings is asked from this machine."""
    host = http.host if is_loopback(http.host) else "127.0.0.1"
    return f"http://[{host}]:{http.port}" if ":" in host else f"http://{host}:{http.port}"


async def _owner(settings: Settings, world: LiveWorld) -> str:
    """Nothing where this process has the index now; else what to do if its owner can't be asked."""
    index = settings.index
    otherwise = "; name its address with --app or ASSAY_HTTP__PORT, or a Qdrant server for both with ASSAY_INDEX__URL"
    if not index.url:
        if index.path is None:
            return f": the index is in the memory of the application{otherwise}"
        if not has_collection(index):
            raise NoQueriesError(
                f"there is no index at {index.path.resolve()} yet: `assay run` fills one from the pages it is given "
                "(docs/tutorial.md); another one is named with ASSAY_INDEX__PATH or ASSAY_INDEX__URL, an application "
                "with --app"
            )
    try:
        await world.open_index(make=False)
    except IndexOwnedError:
        return f": another process owns the index at {index.path}{otherwise}"
    except IndexDownError as error:
        where = f"is the server at {index.url} up, and is that its address (ASSAY_INDEX__URL)?" if index.url else ""
        raise NoQueriesError(f"the index can't be read: {error} {where}".rstrip()) from error
    except IndexSettingsError as error:
        raise NoQueriesError(str(error)) from error
    return ""
