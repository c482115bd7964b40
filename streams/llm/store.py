"""The port of the journal: what keeps answers that were paid for, and what each day cost."""

from __future__ import annotations

from typing import Protocol

from streams.llm.usage import Experience, Used


class StoreError(Exception):
    """The journal can't be read or written now."""


class BoundReachedError(StoreError):
    """The call would cost more than is left of a bound that is no day's: a replay's, that waits for somebody."""


class AnswerStore(Protocol):
    """Answers by key, costs by account (a day, or a replay), and what calls took.

    Every method raises ``StoreError`` where it can't do its work.
    """

    async def get(self, key: str, now: float) -> str | None:
        """The answer that was kept, as JSON; None where there is none."""
        ...

    async def keep(
        self, key: str, answer: str, now: float, seconds: float, day: str, usd: float, used: Used | None = None
    ) -> float:
        """Keeps an answer for so long, books costs and notes what the call took, all or nothing.

        Returns:
            The day's costs then.
        """
        ...

    async def book(self, day: str, usd: float, most: float | None) -> tuple[bool, float]:
        """Books costs unless the day's would come above ``most``; returns whether, and the day's costs then."""
        ...

    async def experience(self, task: str, model: str) -> Experience:
        """What the task's calls of the model have taken so far."""
        ...

    async def aclose(self) -> None:
        """Closes what is open, after what is under way."""
        ...
