"""What was served, joined with what people did with it.

In: ``RankingFeedback`` and ``RankingCompleted`` events, each with its identity, in the order in which they were
written; feedback first, for of all that was served only what somebody answered to is kept. Out: for each request the
features as they were served (never computed again: point in time) with what was done with each result, and a count of
everything that was left out, with the reason.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from datetime import UTC, datetime
from enum import StrEnum

import numpy as np
from numpy.typing import NDArray

from handlers.ranking.manifest import FEATURES_OF
from schemas.ranking import RankingCompleted, RankingFeedback


class LeftOut(StrEnum):
    """Why something read is not trained on."""

    DUPLICATE_FEEDBACK = "duplicate_feedback"
    UNKNOWN_REQUEST = "unknown_request"
    NOT_SHOWN = "not_shown"
    DUPLICATE_ANSWER = "duplicate_answer"
    LATER_ANSWER = "later_answer"
    OTHER_VERSION = "other_version"
    TOO_FEW_FEATURES = "too_few_features"
    WITHOUT_FEATURES = "without_features"


MEANINGS: Mapping[LeftOut, str] = {
    LeftOut.DUPLICATE_FEEDBACK: "feedback events that came twice",
    LeftOut.UNKNOWN_REQUEST: "feedback events whose request was not answered",
    LeftOut.NOT_SHOWN: "feedback events for results that were not shown",
    LeftOut.DUPLICATE_ANSWER: "answers that came twice",
    LeftOut.LATER_ANSWER: "later answers to a request that had one",
    LeftOut.OTHER_VERSION: "answers whose features follow a version that is not known",
    LeftOut.TOO_FEW_FEATURES: "answers with fewer features than the model takes",
    LeftOut.WITHOUT_FEATURES: "results that were shown without features",
}


@dataclass(slots=True)
class Signals:
    """What was done with one result: clicks and stays add up, the last grade wins."""

    events: int = 0
    clicked: bool = False
    dwell_ms: int | None = None
    grade: int | None = None
    graded_at: datetime | None = None

    def add(self, feedback: RankingFeedback) -> None:
        """Takes in one event more."""
        self.events += 1
        self.clicked = self.clicked or bool(feedback.clicked)
        if feedback.dwell_ms is not None:
            self.dwell_ms = (self.dwell_ms or 0) + feedback.dwell_ms
        given_at = _in_utc(feedback.given_at)
        overtaken = given_at is not None and self.graded_at is not None and given_at < self.graded_at
        if feedback.grade is not None and not overtaken:
            self.grade, self.graded_at = feedback.grade, given_at or self.graded_at


@dataclass(frozen=True, slots=True, kw_only=True)
class ServedRequest:
    """One request that somebody gave feedback on, as it was answered.

    Attributes:
        at: When it was asked, else answered; None where neither is known.
        ranks: Of the results, from 1, ascending.
        features: A row for each result, as wide as the served version; NaN is a missing value.
        signals: For each result what was done with it; None where nothing is known.
        config_version: The configuration it was answered under.
    """

    request_id: str
    query: str
    at: datetime | None
    ranks: tuple[int, ...]
    features: NDArray[np.float32]
    signals: tuple[Signals | None, ...]
    config_version: str = ""

    @property
    def labelled(self) -> int:
        """Results with feedback."""
        return sum(signals is not None for signals in self.signals)


@dataclass(frozen=True, slots=True)
class Joined:
    """What there is to train on, and what was left out."""

    requests: tuple[ServedRequest, ...]
    left_out: Mapping[LeftOut, int]
    other_versions: Mapping[str, int]

    @property
    def labelled(self) -> int:
        """Results with feedback."""
        return sum(request.labelled for request in self.requests)


@dataclass(slots=True)
class FeedbackLog:
    """Feedback as it is read: one entry for each result of a request."""

    events: int = 0
    left_out: Counter[LeftOut] = field(default_factory=Counter)
    _seen: set[str] = field(default_factory=set)
    _signals: dict[str, dict[str, Signals]] = field(default_factory=dict)

    def add(self, feedback: RankingFeedback, identity: str) -> None:
        """Takes in one event.

        Args:
            feedback: What was done.
            identity: Of the event; one that was read already counts no second time.
        """
        if identity in self._seen:
            self.left_out[LeftOut.DUPLICATE_FEEDBACK] += 1
            return
        self._seen.add(identity)
        self.events += 1
        self._signals.setdefault(feedback.request_id, {}).setdefault(feedback.url, Signals()).add(feedback)

    def of(self, request_id: str) -> Mapping[str, Signals]:
        """What was done with the results of a request, by address."""
        return self._signals.get(request_id, {})

    def beyond(self, request_ids: Iterable[str]) -> int:
        """Events about any other request."""
        known = set(request_ids)
        others = (signals for request, signals in self._signals.items() if request not in known)
        return sum(its.events for signals in others for its in signals.values())


@dataclass(slots=True)
class ServedLog:
    """Answers as they are read; of those nobody gave feedback on, nothing is kept."""

    feedback: FeedbackLog
    events: int = 0
    left_out: Counter[LeftOut] = field(default_factory=Counter)
    _other_versions: Counter[str] = field(default_factory=Counter)
    _answered: dict[str, str] = field(default_factory=dict)
    _seen: set[str] = field(default_factory=set)
    _requests: list[ServedRequest] = field(default_factory=list)

    def add(self, completed: RankingCompleted, identity: str, at: datetime | None = None) -> None:
        """Takes in one event.

        The first answer to a request is what its reader saw; a later one, of a replay for instance, is left out.

        Args:
            completed: The answer.
            identity: Of the event.
            at: When it was written, where the request does not say when it was made.
        """
        self.events += 1
        signals = self.feedback.of(completed.request_id)
        if not signals:
            return
        if (first := self._answered.setdefault(completed.request_id, identity)) != identity:
            self.left_out[LeftOut.LATER_ANSWER] += 1
        elif identity in self._seen:
            self.left_out[LeftOut.DUPLICATE_ANSWER] += 1
        else:
            self._seen.add(first)
            self._take(completed, signals, at)

    def joined(self) -> Joined:
        """Everything so far, by query and request, so that the order of reading decides nothing."""
        left_out = self.feedback.left_out + self.left_out
        if unanswered := self.feedback.beyond(self._answered):
            left_out[LeftOut.UNKNOWN_REQUEST] = unanswered
        requests = tuple(sorted(self._requests, key=lambda request: (request.query, request.request_id)))
        return Joined(requests, dict(sorted(left_out.items())), dict(sorted(self._other_versions.items())))

    def _take(self, completed: RankingCompleted, signals: Mapping[str, Signals], at: datetime | None) -> None:
        shown = {result.url for result in completed.results}
        self.left_out[LeftOut.NOT_SHOWN] += sum(its.events for url, its in signals.items() if url not in shown)
        version = completed.features_version
        served = [result for result in completed.results if result.features is not None] if version else []
        self.left_out[LeftOut.WITHOUT_FEATURES] += len(completed.results) - len(served)
        if version is None or not served:
            return
        names = FEATURES_OF.get(version)
        if names is None or any(len(result.features or ()) != len(names) for result in served):
            self.left_out[LeftOut.OTHER_VERSION] += 1
            self._other_versions[version] += 1
        else:
            served.sort(key=lambda result: result.rank)
            request = ServedRequest(
                request_id=completed.request_id,
                query=completed.query,
                at=_in_utc(completed.requested_at or at),
                ranks=tuple(result.rank for result in served),
                features=as_floats([result.features or () for result in served]),
                signals=tuple(signals.get(result.url) for result in served),
                config_version=completed.config_version,
            )
            if request.labelled:
                self._requests.append(request)


def as_floats(rows: Sequence[Sequence[float | None]]) -> NDArray[np.float32]:
    """Features as they travel, as a matrix in the 32 bits in which trees compare; what is missing is NaN."""
    largest = np.finfo(np.float32).max
    table = np.array([[np.nan if value is None else value for value in row] for row in rows], dtype=np.float64)
    return np.clip(table, -largest, largest).astype(np.float32)


def _in_utc(instant: datetime | None) -> datetime | None:
    return instant.replace(tzinfo=UTC) if instant is not None and instant.tzinfo is None else instant
