"""A terminal with styles. Its styles are ours: no text is read as markup, and none steers the terminal."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

from rich.console import Console, ConsoleOptions, RenderableType  # noqa: TID251 - the guarded one derives from it
from rich.segment import Segment
from typing_extensions import override

from streams.runtime.terminal import printable


class Screen(Console):
    def __init__(self, **options: Any) -> None:
        super().__init__(highlight=False, markup=False, emoji=False, **options)

    @override
    def render(self, renderable: RenderableType, options: ConsoleOptions | None = None) -> Iterable[Segment]:
        for part in super().render(renderable, options):
            yield part if part.control else Segment(printable(part.text, keep="\n"), part.style)
