"""What a screen of the console is."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass

from starlette.routing import BaseRoute

from streams.console.context import Context


@dataclass(frozen=True, slots=True)
class Screen:
    """A screen and its place in the navigation.

    Attributes:
        title: In the navigation.
        path: The address of the navigation's link; one of the screen's routes.
        key: The letter that opens it after ``g``.
        about: What it shows, for the list of keys.
        routes: Makes its routes, fragments and actions included.
    """

    title: str
    path: str
    key: str
    about: str
    routes: Callable[[Context], Sequence[BaseRoute]]
