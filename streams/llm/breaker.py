"""A circuit breaker for one model: while it fails question after question, nobody else is sent there.

It opens when several *different* questions have failed one after another, or too many of the last ones: a model that
fails four of five is no judge either (C-20). While it is open, askers are told at once how long it rests; after the
pause one of them is let through, whose success closes it and whose failure doubles the pause. What failed before is
remembered then: until enough has been answered, the next failure opens it again, for longer.
"""

from __future__ import annotations

from collections.abc import Callable

from streams.llm.settings import LlmSettings

_REMEMBERED = 1000


class ModelBreaker:
    """Lets questions through to one model, or says how long not."""

    def __init__(
        self, settings: LlmSettings, monotonic: Callable[[], float], on_change: Callable[[bool], None] = lambda _: None
    ) -> None:
        """Starts closed; ``on_change`` is told whenever it opens (True) or closes."""
        self._settings = settings
        self._monotonic = monotonic
        self._on_change = on_change
        self._failed: set[str] = set()
        self._recent: dict[str, bool] = {}
        self._openings = 0
        self._until: float | None = None
        self._probe: str | None = None
        self._answers = 0
        self._refused: dict[str, tuple[int, int]] = {}

    @property
    def closed(self) -> bool:
        """Whether questions go through freely."""
        return self._until is None

    def rest(self) -> float | None:
        """Seconds until a question may be tried; None where it may now."""
        if self._until is None:
            return None
        left = self._until - self._monotonic()
        if left <= 0 and self._probe is None:
            return None
        return max(left, 1.0)

    def enter(self, question: str) -> float | None:
        """As ``rest``; a question that is let through while it is open is the probe until it has ``left``."""
        rest = self.rest()
        if rest is None and self._until is not None:
            self._probe = question
        return rest

    def left(self, question: str) -> None:
        """A question is over, whatever came of it."""
        if self._probe == question:
            self._probe = None

    def succeeded(self, question: str) -> None:
        """The model answered a question."""
        was_open, self._until = self._until is not None, None
        self._failed.clear()
        self._answers += 1
        self._note(question, failed=False)
        if not self._fails_too_often():
            self._openings = 0
        if was_open:
            self._on_change(False)

    def failed(self, question: str) -> None:
        """A question failed in a way that may be the model's."""
        if self._until is not None:
            if self._probe == question:
                self.open(None)
            return
        self._failed.add(question)
        self._note(question, failed=True)
        if len(self._failed) >= self._settings.breaker_failures or self._fails_too_often():
            self.open(None)

    def refused(self, question: str) -> int:
        """The model has no room for a question; how often that was said of it while others were answered in between.

        What is too much by itself would otherwise be taken for an outage again and again.
        """
        times, answers = self._refused.pop(question, (0, -1))
        self._refused[question] = times + (self._answers > answers), self._answers
        if len(self._refused) > _REMEMBERED:
            del self._refused[next(iter(self._refused))]
        return self._refused[question][0]

    def open(self, seconds: float | None) -> None:
        """Rests for the next pause, or for so many seconds if that is longer."""
        settings = self._settings
        if self._until is None:
            self._on_change(True)
        pause = min(settings.breaker_max_seconds, settings.breaker_first_seconds * 2**self._openings)
        self._openings = min(self._openings + 1, 30)
        self._until = self._monotonic() + max(pause, min(seconds or 0.0, settings.breaker_max_seconds))

    def _note(self, question: str, *, failed: bool) -> None:
        """Remembers how the last questions ended, each one once."""
        self._recent.pop(question, None)
        self._recent[question] = failed
        if len(self._recent) > self._settings.breaker_window:
            del self._recent[next(iter(self._recent))]

    def _fails_too_often(self) -> bool:
        window = self._settings.breaker_window
        return len(self._recent) >= window and sum(self._recent.values()) >= self._settings.breaker_share * window
