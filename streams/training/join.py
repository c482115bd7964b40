"""Joins served answers with the feedback on them.

Feedback is read first, because only answers with feedback are kept. Features are those that were served, never computed
again (point in time). Everything that is left out is counted by reason.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from datetime import datetime
from enum import StrEnum

import numpy as np
from numpy.typing import NDArray

from handlers.ranking.model import FEATURES_OF
from schemas.event import Event
from schemas.outcome import Dead
from schemas.ranking import RankingCompleted, RankingFeedback


class LeftOut(StrEnum):
    """Why something read is not trained on, with its meaning for people."""

    meaning: str

    def __new__(cls, value: str, meaning: str) -> LeftOut:
        reason = str.__new__(cls, value)
        reason._value_ = value
        reason.meaning = meaning
        return reason

    DUPLICATE_FEEDBACK = "duplicate_feedback", "feedback events that came twice"
    UNKNOWN_REQUEST = "unknown_request", "feedback events whose request was not answered"
    NOT_SHOWN = "not_shown", "feedback events for results that were not shown"
    DUPLICATE_ANSWER = "duplicate_answer", "answers that came twice"
    LATER_ANSWER = "later_answer", "later answers to a request that had one"
    OTHER_VERSION = "other_version", "answers whose features follow a version that is not known"
    TOO_FEW_FEATURES = "too_few_features", "answers with fewer features than the model takes"
    WITHOUT_FEATURES = "without_features", "results that were shown without features"


@dataclass(slots=True)
class Signals:
    """The feedback on one result: clicks and stays add up, the last grade wins."""

    events: int = 0
    clicked: bool = False
    dwell_ms: int | None = None
    grade: int | None = None
    graded_at: datetime | None = None

    def add(self, feedback: RankingFeedback) -> None:
        self.events += 1
        self.clicked = self.clicked or bool(feedback.clicked)
        if feedback.dwell_ms is not None:
            self.dwell_ms = (self.dwell_ms or 0) + feedback.dwell_ms
        given_at = feedback.given_at
        overtaken = given_at is not None and self.graded_at is not None and given_at < self.graded_at
        if feedback.grade is not None and not overtaken:
            self.grade, self.graded_at = feedback.grade, given_at or self.graded_at


@dataclass(frozen=True, slots=True, kw_only=True)
class ServedRequest:
    """One request with feedback, as it was answered: a rank from 1, a row of features and the feedback for each result.

    It has the time when it was asked, else answered. NaN is a missing value of a feature.
    """

    request_id: str
    query: str
    at: datetime | None
    ranks: tuple[int, ...]
    features: NDArray[np.float32]
    signals: tuple[Signals | None, ...]
    config_version: str = ""


@dataclass(frozen=True, slots=True)
class Joined:
    requests: tuple[ServedRequest, ...]
    left_out: Mapping[LeftOut, int]
    other_versions: Mapping[str, int]

    @property
    def signals(self) -> list[Signals]:
        return [signals for request in self.requests for signals in request.signals if signals is not None]

    @property
    def labelled(self) -> int:
        return len(self.signals)


@dataclass(slots=True)
class ServedLog:
    """Feedback and then answers as they are read; answers without feedback are not kept."""

    unreadable: list[str] = field(default_factory=list)  # places of what is no such event, with the reason
    _left_out: Counter[LeftOut] = field(default_factory=Counter)
    _signals: dict[str, dict[str, Signals]] = field(default_factory=dict)
    _seen: set[str] = field(default_factory=set)
    _other_versions: Counter[str] = field(default_factory=Counter)
    _answered: dict[str, str] = field(default_factory=dict)
    _requests: list[ServedRequest] = field(default_factory=list)

    def add(self, event: Event | Dead, place: str, identity: str, at: datetime | None) -> None:
        if isinstance(event, RankingFeedback):
            self.add_feedback(event, identity)
        elif isinstance(event, RankingCompleted):
            self.add_answer(event, identity, at)
        elif isinstance(event, Dead):
            self.unreadable.append(f"{place}: {event.detail}")

    def add_feedback(self, feedback: RankingFeedback, identity: str) -> None:
        if identity in self._seen:
            self._left_out[LeftOut.DUPLICATE_FEEDBACK] += 1
            return
        self._seen.add(identity)
        self._signals.setdefault(feedback.request_id, {}).setdefault(feedback.url, Signals()).add(feedback)

    def add_answer(self, completed: RankingCompleted, identity: str, at: datetime | None = None) -> None:
        """Adds one event that was written at a time. The first answer to a request was seen; a replay's comes later."""
        signals = self._signals.get(completed.request_id)
        if not signals:
            return
        first = self._answered.get(completed.request_id)
        if first is None:
            self._answered[completed.request_id] = identity
            self._take(completed, signals, at)
        else:
            self._left_out[LeftOut.DUPLICATE_ANSWER if first == identity else LeftOut.LATER_ANSWER] += 1

    def joined(self) -> Joined:
        """Everything so far, by query and request: the order of reading has no influence."""
        others = (signals for request, signals in self._signals.items() if request not in self._answered)
        unanswered = sum(signal.events for signals in others for signal in signals.values())
        left_out = self._left_out + Counter({LeftOut.UNKNOWN_REQUEST: unanswered})
        requests = tuple(sorted(self._requests, key=lambda request: (request.query, request.request_id)))
        return Joined(requests, dict(sorted(left_out.items())), dict(sorted(self._other_versions.items())))

    def _take(self, completed: RankingCompleted, signals: Mapping[str, Signals], at: datetime | None) -> None:
        shown = {result.url for result in completed.results}
        self._left_out[LeftOut.NOT_SHOWN] += sum(signal.events for url, signal in signals.items() if url not in shown)
        version = completed.features_version
        served = [result for result in completed.results if result.features is not None] if version else []
        self._left_out[LeftOut.WITHOUT_FEATURES] += len(completed.results) - len(served)
        if version is None or not served:
            return
        names = FEATURES_OF.get(version)
        if names is None or any(len(result.features or ()) != len(names) for result in served):
            self._left_out[LeftOut.OTHER_VERSION] += 1
            self._other_versions[version] += 1
            return
        served.sort(key=lambda result: result.rank)
        request = ServedRequest(
            request_id=completed.request_id,
            query=completed.query,
            at=completed.requested_at or at,
            ranks=tuple(result.rank for result in served),
            features=as_floats([result.features or () for result in served]),
            signals=tuple(signals.get(result.url) for result in served),
            config_version=completed.config_version,
        )
        if any(request.signals):
            self._requests.append(request)


def as_floats(rows: Sequence[Sequence[float | None]]) -> NDArray[np.float32]:
    """Features as a matrix in the 32 bits in which trees compare; a missing value is NaN."""
    largest = np.finfo(np.float32).max
    return np.clip(np.array(rows, dtype=np.float64), -largest, largest).astype(np.float32)
