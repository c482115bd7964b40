"""What a screen of the console is, and what it gets: the store, the topics, the rules for requests, the templates."""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Sequence
from contextlib import AbstractAsyncContextManager, AsyncExitStack
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, TypeVar

from jinja2 import Environment, FileSystemLoader, StrictUndefined
from starlette.requests import Request
from starlette.responses import HTMLResponse
from starlette.routing import BaseRoute

from streams.console import words
from streams.console.follow import Feed, Flow, Follower
from streams.console.guard import Guard
from streams.console.lists import FILTERS
from streams.console.objects import Records
from streams.console.store import Store
from streams.query.engine import Queries
from streams.runtime.clock import Clock
from streams.runtime.process import installed_version
from streams.settings.model import Settings
from streams.topology import Handler

T = TypeVar("T")
_TEMPLATES = Path(__file__).parent / "templates"


def make_environment() -> Environment:
    """The templates: every value is escaped, and a value that is missing is an error."""
    lines: dict[str, Any] = {"trim_blocks": True, "lstrip_blocks": True, "auto_reload": False}
    environment = Environment(loader=FileSystemLoader(_TEMPLATES), autoescape=True, undefined=StrictUndefined, **lines)
    environment.filters |= words.FILTERS
    return environment


@dataclass(frozen=True, slots=True)
class Screen:
    """A screen, the path of its link in the navigation, the letter that opens it after ``g``, and its routes."""

    title: str
    path: str
    key: str
    about: str
    routes: Callable[[Context], Sequence[BaseRoute]]


@dataclass(slots=True)
class Context:
    """The parts of a console, shared by its screens. ``resources`` are closed when the console ends."""

    settings: Settings
    store: Store
    feed: Feed
    records: Records
    follower: Follower
    flow: Flow
    guard: Guard
    clock: Clock
    queries: Queries | None = None
    screens: Sequence[Screen] = ()
    resources: AsyncExitStack = field(default_factory=AsyncExitStack)
    environment: Environment = field(default_factory=make_environment)
    _versions: dict[str, str] = field(default_factory=dict)
    _made: dict[object, Any] = field(default_factory=dict)
    _making: asyncio.Lock = field(default_factory=asyncio.Lock)

    async def once(self, kind: type[T], make: Callable[[], AbstractAsyncContextManager[T]]) -> T:
        """What the first call for this kind makes; it ends with the console."""
        async with self._making:
            if kind not in self._made:
                self._made[kind] = await self.resources.enter_async_context(make())
            made: T = self._made[kind]
            return made

    def render(self, request: Request, template: str, status: int = 200, **values: Any) -> HTMLResponse:
        """The page or fragment of a template, with these values and those that every page has."""
        shared = {
            "screens": self.screens,
            "filters": FILTERS,
            "path": request.url.path,
            "may_act": self.guard.may_act(request),
            "has_token": self.guard.has_token,
            "follower": self.follower,
            "version": installed_version(),
            "records_kept": self.store.count,
        }
        return HTMLResponse(self.environment.get_template(template).render(shared | values), status)

    def other_rules(self, handler: Handler | None, version: str | None) -> str:
        """The version of a handler's present rules, if a decision was made under others; else ""."""
        if handler is None or not version:
            return ""
        present = self._versions.get(handler.name)
        if present is None:
            present = self._versions[handler.name] = self.settings.rules(handler.rules).config_version
        return "" if present == version else present

    def missing(self, request: Request, title: str, what: str) -> HTMLResponse:
        return self.render(request, "missing.html", 404, title=title, what=what)
