"""A batch of results: distinct results, the verdict on it, and how its listings share the pages it may cost."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from decimal import ROUND_DOWN, Decimal
from typing import Self

from pydantic import Field, model_validator

from handlers.html.links import canonical_url
from schemas.event import Score
from schemas.retrieval import ClassifiedResult, ResultCounts, ResultType, RetrievalEvaluated, RetrievedContent
from schemas.rules import Section

_ROUNDING = 1e-9
MOST_TEXT_CHARACTERS = 1_000_000


class ExtractionSection(Section):
    """The ``extraction`` section of the configuration."""

    hop_limit: int = Field(default=1, ge=0, le=99, description="Attempts that may still trigger an extraction.")
    max_details: int = Field(default=5, ge=1, le=100, description="Detail pages fetched for one listing at most.")
    max_listing_pages: int = Field(
        default=2, ge=1, le=10, description="Pages of one listing that are read while details are still wanted."
    )
    batch_budget: int = Field(
        default=60, ge=2, le=1000, description="Pages that one batch may cost, its listings shared out."
    )
    max_text_characters: int = Field(
        default=20_000,
        ge=100,
        le=MOST_TEXT_CHARACTERS,
        description="Text of a page or a result that is read, and of a fetched page that events carry.",
    )


class Dimensions(Section):
    """A number for each of the four dimensions, under their wire names; by default their thresholds."""

    contextRecall: Score = Field(default=0.5, description="How much of the question the batch covers.")  # noqa: N815 - the key's name comes from the source document
    contextPrecision: Score = Field(default=0.5, description="How much of the batch is to the point.")  # noqa: N815
    sourceQuality: Score = Field(default=0.5, description="How good its sources are.")  # noqa: N815
    actionableInformation: Score = Field(default=0.6, description="How much of it is the thing itself.")  # noqa: N815


_WEIGHTS = Dimensions(contextRecall=0.3, contextPrecision=0.25, sourceQuality=0.2, actionableInformation=0.25)


class RetrievalEvaluationSection(Section):
    """The ``retrievalEvaluation`` section; its keys are camelCase as in the source document (R-059)."""

    dimensionThresholds: Dimensions = Field(  # noqa: N815
        default=Dimensions(), description="From which value on a dimension is passed."
    )
    weights: Dimensions = Field(default=_WEIGHTS, description="Shares in the overall score, which sum to 1.")
    severeFailureBelow: Score = Field(default=0.5, description="Overall score below which a failure is severe.")  # noqa: N815
    coverageThreshold: Score = Field(  # noqa: N815
        default=0.5,
        description="Share of what the query asks for from which on a result counts as relevant, without a judge.",
    )
    unknownSourceQuality: Score = Field(  # noqa: N815
        default=0.5, description="Quality of a batch in which no trust score is known, without a judge."
    )
    maxSources: int = Field(default=20, ge=1, le=200, description="Results that a judge is shown.")  # noqa: N815
    maxSourceCharacters: int = Field(  # noqa: N815
        default=800, ge=20, le=20_000, description="Of each one's text that a judge is shown."
    )

    @model_validator(mode="after")
    def _weights_sum_to_one(self) -> Self:
        total = sum(self.weights.model_dump().values())
        if abs(total - 1.0) > _ROUNDING:
            raise ValueError(f"the weights sum to {total:g}, not to 1")
        return self


def distinct_results(contents: Iterable[RetrievedContent]) -> tuple[RetrievedContent, ...]:
    """Merges results with the same canonical address into the first of them; the order stays.

    The merged result has the address of the first, the longest text (a full text before any snippet), and of title,
    HTML and trust score the first that is there. An address that has no canonical form is compared as written. Results
    without an address are merged only where title and text are the same too.

    >>> twice = [RetrievedContent(url="https://a.example/x?utm_source=mail"), RetrievedContent(url="https://a.example/x")]
    >>> [result.url for result in distinct_results(twice)]
    ['https://a.example/x?utm_source=mail']
    """
    found: dict[tuple[str, ...], RetrievedContent] = {}
    for content in contents:
        url = content.url.strip()
        key = (canonical_url(url) or url,) if url else ("", content.title or "", content.content)
        found[key] = _merged(found[key], content) if key in found else content
    return tuple(found.values())


def _merged(first: RetrievedContent, other: RetrievedContent) -> RetrievedContent:
    fuller = max(first, other, key=_fullness)
    return first.model_copy(
        update={
            "title": first.title or other.title,
            "content": fuller.content,
            "content_kind": fuller.content_kind,
            "html": first.html or other.html,
            "cts_score": other.cts_score if first.cts_score is None else first.cts_score,
        }
    )


def _fullness(content: RetrievedContent) -> tuple[bool, int]:
    text = content.content.strip()
    return bool(text) and content.content_kind == "full", len(text)


@dataclass(frozen=True, slots=True)
class Verdict:
    """Statistics of a batch. All are 0 for an empty one, which needs no extraction (R-042).

    ``extraction_reason`` says why listings should be followed; None where they should not.
    """

    counts: ResultCounts
    actionable_information: float
    confidence: float
    extraction_reason: str | None


def judge_batch(results: Sequence[ClassifiedResult], threshold: float) -> Verdict:
    """The verdict on classified results, against the threshold of actionable information."""
    types = Counter(result.result_type for result in results)
    counts = ResultCounts(
        specific_content=types[ResultType.SPECIFIC_CONTENT],
        aggregator=types[ResultType.AGGREGATOR],
        navigation=types[ResultType.NAVIGATION],
    )
    actionable = _mean([result.actionable_score for result in results])
    needed = actionable < threshold and 2 * counts.aggregator > len(results)
    return Verdict(
        counts=counts,
        actionable_information=actionable,
        confidence=_mean([result.confidence for result in results]),
        extraction_reason=extraction_reason(counts.aggregator, len(results), actionable, threshold) if needed else None,
    )


def extraction_reason(aggregators: int, total: int, actionable: float, threshold: float) -> str:
    """The reason in the words of R-057.

    >>> extraction_reason(1, 1, 0.2, 0.6)  # doctest: +ELLIPSIS
    'Retrieved content is mostly aggregator pages (1/1). Average actionable score: 0.20 < 0.6. Web fetch ...'
    """
    shown = f"{actionable:.2f}"
    if float(shown) >= threshold:
        # 0.5972 is below 0.6, and must not be shown as 0.60.
        shown = str(Decimal(str(actionable)).quantize(Decimal("0.01"), ROUND_DOWN))
    return (
        f"Retrieved content is mostly aggregator pages ({aggregators}/{total}). "
        f"Average actionable score: {shown} < {threshold:g}. "
        "Web fetch extraction recommended to get specific content."
    )


def _mean(values: Sequence[float]) -> float:
    return round(sum(values) / len(values), 4) if values else 0.0


def share_details(listings: int, limits: ExtractionSection) -> tuple[int, ...]:
    """How many details each of a batch's listings may fetch, so that all of them stay within the batch's budget.

    Where there are too many, each is given fewer; where there are more than the budget has for one detail each, beside
    the listing's own pages, the last ones get 0: they are not fetched at all.

    >>> limits = ExtractionSection(max_details=5, max_listing_pages=1, batch_budget=10)
    >>> share_details(1, limits), share_details(4, limits), share_details(6, limits)
    ((5,), (2, 2, 1, 1), (1, 1, 1, 1, 1, 0))
    """
    followed = min(listings, limits.batch_budget // (limits.max_listing_pages + 1))
    if not followed:
        return (0,) * listings
    each, more = divmod(limits.batch_budget - followed * limits.max_listing_pages, followed)
    shares = [min(limits.max_details, each + (position < more)) for position in range(followed)]
    return (*shares, *[0] * (listings - followed))


def dimension_reasons(event: RetrievalEvaluated, thresholds: Dimensions) -> tuple[str, ...]:
    """What no result has, and each dimension with its threshold, those that miss it first."""
    lines = [(False, f"no result has: {gap}") for gap in event.gaps]
    for name, least in thresholds.model_dump(by_alias=False).items():
        score = event.scores.to_wire()[name]
        lines.append((score >= least, f"{name} {score:.2f} {'reaches' if score >= least else 'is below'} {least:g}"))
    return tuple(line for _, line in sorted(lines, key=lambda line: line[0]))
