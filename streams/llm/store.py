"""The port of the journal: what keeps answers that were paid for, and what each day cost."""

from __future__ import annotations

from typing import Protocol


class StoreError(Exception):
    """The journal can't be read or written now."""


class AnswerStore(Protocol):
    """Answers by key and costs by day. Every method raises ``StoreError`` where it can't do its work."""

    async def get(self, key: str, now: float) -> str | None:
        """The answer that was kept, as JSON; None where there is none."""
        ...

    async def keep(self, key: str, answer: str, now: float, seconds: float, day: str, usd: float) -> float:
        """Keeps an answer for so long and books costs, both or neither; returns the day's costs then."""
        ...

    async def book(self, day: str, usd: float, most: float | None) -> tuple[bool, float]:
        """Books costs unless the day's would come above ``most``; returns whether, and the day's costs then."""
        ...

    async def aclose(self) -> None:
        """Closes what is open, after what is under way."""
        ...
