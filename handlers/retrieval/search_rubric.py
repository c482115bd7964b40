"""The rubric of a search: points for results, required fields, domains and words; gaps and refinements (R-102).

It needs no model: it is evidence for a judge, and the opinion if no judge is configured or its answer failed.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from itertools import zip_longest
from typing import Literal, NamedTuple, Self

from pydantic import Field, model_validator

from handlers.html.citations import CitationWords, is_wire_report
from handlers.html.links import registrable_domain
from handlers.html.names import NameWords
from handlers.retrieval.copies import Group, group_copies
from handlers.retrieval.facets import Facet, answers, is_about, is_named, met, repeats, unmet
from handlers.retrieval.query import QueryReader
from handlers.retrieval.seen_result import SeenResult
from handlers.text.patterns import WordList as Words
from handlers.text.words import TERM, Kind, fold
from schemas.event import Score
from schemas.retrieval import RetrievalBatch
from schemas.rules import Section
from schemas.search import Rubric

_STROKE = re.compile(r"[/|／]")
_FIELD_CHARACTERS = 80
_LEAST_SUBJECTS = 3
"""Words of the subject from which on the first one may be the task."""
Texts = tuple[str, ...]


class CountPoints(Section):
    """Points for the number of results (R-084); each bound belongs to the higher part (C-12)."""

    none: float = Field(default=-0.4, description="No result.")
    few: float = Field(default=-0.2, description="Below acceptable_from.")
    acceptable: float = Field(default=0.1, description="From acceptable_from on.")
    many: float = Field(default=0.2, description="From many_from on.")
    acceptable_from: int = Field(default=3, ge=1, description="Results that are acceptable.")
    many_from: int = Field(default=5, ge=1, description="Results that are many.")


class FieldRule(Section):
    """How a required field is found in results (R-085)."""

    names: Words = Field(min_length=1, description="How requests call the field, in lower case.")
    part: Literal["title", "url", "text", "author"] | Kind = Field(
        default="text",
        description="What of a result has it: title or url if there is one; author if a line credits a person; a "
        "detail of a kind; text if one of the words is in it.",
    )
    words: Words = Field(default=(), description="Words and signs that show the field in a text, in lower case.")
    offer: bool = Field(default=False, description="Whether only something on offer has it.")
    refinements: Texts = Field(default=(), description="What to suggest where it is missing; none: missing_field.")


class DiversityPoints(Section):
    """Points for where results come from (R-087)."""

    domains: float = Field(default=0.1, description="Enough registrable domains.")
    domains_from: int = Field(default=3, ge=1, description="Registrable domains that are enough.")
    retailer_types: float = Field(default=0.1, description="At least two kinds of shops.")
    one_domain: float = Field(default=-0.1, description="All results from one domain.")


class RelevancePoints(Section):
    """Points for what results say (R-088)."""

    keywords: float = Field(default=0.1, description="Enough results are about the goal.")
    keywords_coverage: Score = Field(
        default=0.5, description="Share of what the goal asks for that a result must have."
    )
    keywords_share: Score = Field(default=0.5, description="Share of results that are enough.")
    transactional: float = Field(default=0.1, description="Some result sells.")
    most_off_goal: Score = Field(
        default=0.3, description="Total at most where too few results are about the goal; below bands.acceptable."
    )
    irrelevant: float = Field(default=-0.1, description="More than half are reviews, forums or general knowledge.")


class Bands(Section):
    """Where a quality score leads, half-open: each bound belongs to the band above it (R-089, C-15)."""

    high: Score = Field(default=0.8, description="From here on the search is done.")
    acceptable: Score = Field(default=0.6, description="From here on it is done unless something specific is missing.")
    marginal: Score = Field(default=0.4, description="From here on a refined query; below it another one altogether.")

    @model_validator(mode="after")
    def _in_order(self) -> Self:
        if not self.marginal <= self.acceptable <= self.high:
            raise ValueError("bands are not in order")
        return self


class Refinements(Section):
    """Suggestions for each weakness (R-090 to R-093)."""

    another_query: Texts = Field(default=(), description="A poor score.")
    low_count: Texts = Field(default=(), description="Too few results.")
    missing_field: Texts = Field(default=(), description="A field is missing; {field} is replaced by its name.")
    poor_relevance: Texts = Field(default=(), description="Results miss the goal.")
    low_diversity: Texts = Field(default=(), description="Results come from too few places.")
    low_diversity_shopping: Texts = Field(default=(), description="The same, where the goal is to buy.")


class SearchEvaluationSection(Section):
    """The ``search_evaluation`` section."""

    count: CountPoints = Field(default=CountPoints(), description="Points for the number of results.")
    coverage: float = Field(default=0.4, ge=0, description="Points where all required fields are found.")
    fields: dict[str, FieldRule] = Field(default_factory=dict, description="Required fields that can be checked.")
    diversity: DiversityPoints = Field(default=DiversityPoints(), description="Points for where results come from.")
    relevance: RelevancePoints = Field(default=RelevancePoints(), description="Points for what results say.")
    bands: Bands = Field(default=Bands(), description="Where a quality score leads.")
    transactional_words: Words = Field(default=(), description="Words and signs of offers.")
    shopping_goal_words: Words = Field(default=(), description="Words of a goal to buy something.")
    retailer_types: dict[str, Words] = Field(default_factory=dict, description="Hosts of each kind of shop.")
    beside_hosts: Words = Field(default=(), description="Hosts of forums, reviews and general knowledge.")
    beside_words: Words = Field(default=(), description="Words in titles of reviews and forums.")
    no_gaps: Words = Field(default=(), description="Replies that mean that nothing is missing.")
    refinements: Refinements = Field(default=Refinements(), description="Suggestions for each weakness.")
    max_refinements: int = Field(default=5, ge=1, le=50, description="Suggestions at most.")
    max_gaps_characters: int = Field(default=1000, ge=50, le=10_000, description="Of the gaps in words.")
    max_refinement_characters: int = Field(default=200, ge=20, le=2000, description="Of one suggestion.")
    max_results: int = Field(default=20, ge=1, le=200, description="Results that a judge is shown.")
    max_snippet_characters: int = Field(default=300, ge=20, le=5000, description="Of each result's text there.")
    max_html_characters: int = Field(default=1_000_000, ge=0, description="HTML of each result that is parsed.")
    max_text_characters: int = Field(default=5000, ge=100, description="Of each result's text that is counted in.")

    @model_validator(mode="after")
    def _off_goal_is_never_acceptable(self) -> Self:
        if self.relevance.most_off_goal >= self.bands.acceptable:
            raise ValueError("relevance.most_off_goal must be below bands.acceptable")
        return self


@dataclass(frozen=True, slots=True)
class Assessment:
    """The rubric of a batch and its findings.

    Attributes:
        lacking: Required fields that no result has, as the request calls them, and their rules.
        unchecked: Required fields without a rule; only a model can judge them, so none counts as found (C-14).
        unmet: What the goal states and no result has.
        copies: Groups of results with one text, which counts once, the likely origin first.
        off_goal: Whether too few results are about the goal, or most are off-topic; False without results.
        narrow: Whether the results come from too few domains for points.
    """

    rubric: Rubric
    lacking: Mapping[str, FieldRule]
    unchecked: tuple[str, ...]
    unmet: tuple[str, ...]
    copies: tuple[Group, ...]
    results: int
    few: bool
    off_goal: bool
    narrow: bool
    shopping: bool

    @property
    def missing(self) -> tuple[str, ...]:
        """Required fields that no result has."""
        return tuple(self.lacking)


class Credits(NamedTuple):
    """Reads where a text comes from: the person or the agency that a line of it credits."""

    names: NameWords
    agencies: CitationWords


def assess(
    batch: RetrievalBatch, section: SearchEvaluationSection, reader: QueryReader, credits: Credits
) -> Assessment:
    """The rubric of a batch with distinct results (R-084 to R-088).

    The total is the sum of the parts within [0, 1], 0 without a result, and at most ``relevance.most_off_goal`` if too
    few results are about the goal. A goal without shopping can reach 0.8, the upper band, without any shop.
    """
    goal = (batch.goal or "").strip() or batch.query
    longest = section.max_text_characters
    contents = batch.retrieved_content
    all_results = [reader.see(content.title, content.content[:longest], url=content.url) for content in contents]
    groups = [
        replace(group, places=tuple(sorted(group.places, key=lambda place: _origin(all_results[place], credits))))
        for group in group_copies(contents)
    ]
    results = [all_results[group.places[0]] for group in groups]
    wanted, points = _fields(batch.required_fields or (), section), section.relevance
    checked = {name: rule for name, rule in wanted.items() if rule is not None}
    lacking = {
        name: rule for name, rule in checked.items() if not any(_has(result, rule, credits) for result in all_results)
    }
    covered = (len(checked) - len(lacking)) / len(wanted) if wanted else 1.0
    on_goal, lacks = _on_goal(reader.read(goal, batch.requested_at), all_results, points)
    sells = any(_mentions(seen.folded, section.transactional_words, seen.terms) for seen in results)
    shopping = _mentions(goal.lower(), section.shopping_goal_words) or any(rule.offer for rule in checked.values())
    beside = (shopping or not on_goal) and _beside(goal, results, section)
    diversity, narrow = _diversity(results, section)
    relevance = points.keywords * on_goal + points.transactional * sells + points.irrelevant * beside
    parts = {
        "count": _count(len(results), section.count),
        "coverage": round(section.coverage * covered, 4) if results else 0.0,
        "diversity": diversity,
        "relevance": round(relevance, 4),
    }
    most = 1.0 if on_goal and not lacks else points.most_off_goal
    total = round(min(most, max(0.0, sum(parts.values()))), 4) if results else 0.0
    return Assessment(
        rubric=Rubric(**parts, total=total),
        lacking=lacking,
        unchecked=tuple(name for name, rule in wanted.items() if rule is None),
        unmet=lacks,
        copies=tuple(group for group in groups if len(group.places) > 1),
        results=len(results),
        few=len(results) < section.count.acceptable_from,
        off_goal=bool(results) and (beside or not on_goal),
        narrow=narrow,
        shopping=shopping,
    )


def gaps_of(found: Assessment, section: SearchEvaluationSection) -> str:
    """The gaps of a search in words (R-100).

    Few results and few sites are only named if the score is low: in the acceptable band, a gap would keep the search
    going for something that was not asked for (C-15).
    """
    if not found.results:
        return "There are no results."
    low = found.rubric.total < section.bands.acceptable
    copied = sum(len(group.places) - 1 for group in found.copies)
    differing = [figure for group in found.copies for figure in group.differing]
    gaps = {
        f"No result has: {_listed(found.missing)}.": found.missing,
        f"No result meets the condition: {_listed(found.unmet)}.": found.unmet,
        f"Not checked: {_listed(found.unchecked)}.": found.unchecked,
        "The results are mostly beside the goal.": found.off_goal,
        "There are few results.": low and found.few,
        f"{copied} of them are copies of others.": low and copied,
        f"Copies of one text differ in: {_listed(tuple(differing))}.": differing,
        "They come from few sites.": low and found.narrow,
    }
    return " ".join(gap for gap, holds in gaps.items() if holds)


def refinements_of(found: Assessment, section: SearchEvaluationSection) -> tuple[str, ...]:
    """The next queries to try: first wider ones (R-090), then the suggestions for each weakness in turn."""
    lists = section.refinements
    diversity = lists.low_diversity_shopping if found.shopping else lists.low_diversity
    if not found.results:
        return _first([*lists.low_count, *lists.another_query, *diversity], section)
    wider = lists.low_count if found.few else ()
    weaknesses: list[Sequence[str]] = [diversity] if found.few and found.narrow else []
    if found.off_goal and found.rubric.total < section.bands.marginal:
        weaknesses.append(lists.another_query)
    for name in (*found.missing, *found.unchecked):
        own = found.lacking[name].refinements if name in found.lacking else ()
        weaknesses.append(own or [text.replace("{field}", name[:_FIELD_CHARACTERS]) for text in lists.missing_field])
    if found.off_goal:
        weaknesses.append(lists.poor_relevance)
    if found.narrow and not found.few:
        weaknesses.append(diversity)
    turns = zip_longest(*weaknesses)
    return _first([*wider, *(text for turn in turns for text in turn if text is not None)], section)


def _first(suggestions: Iterable[str], section: SearchEvaluationSection) -> tuple[str, ...]:
    return tuple(dict.fromkeys(suggestions))[: section.max_refinements]


def _listed(names: tuple[str, ...]) -> str:
    return ", ".join(name[:_FIELD_CHARACTERS] for name in names)


def _origin(seen: SeenResult, credits: Credits) -> tuple[bool, str]:
    """Orders copies of one text: an agency's line first, then the earliest day that a copy names."""
    days = [day.date for day in seen.dates if day.precision == "day" and day.date]
    return not is_wire_report(seen.content, credits.agencies), min(days, default="9999")


def _count(results: int, points: CountPoints) -> float:
    if results == 0:
        return points.none
    if results < points.acceptable_from:
        return points.few
    return points.acceptable if results < points.many_from else points.many


def _fields(required: Sequence[str], section: SearchEvaluationSection) -> dict[str, FieldRule | None]:
    """Each required field once, with its rule if there is one."""
    rules = {name: rule for rule in section.fields.values() for name in rule.names}
    wanted: dict[int | str, tuple[str, FieldRule | None]] = {}
    for name in filter(None, (" ".join(field.split()) for field in required)):
        key = name.lower().replace("_", " ")
        rule = _rule_of(key, rules)
        wanted.setdefault(id(rule) if rule else key, (name, rule))
    return dict(wanted.values())


def _rule_of(name: str, rules: Mapping[str, FieldRule]) -> FieldRule | None:
    """The rule for a field's name; for names divided by strokes, such as URL/Link, where all known ones mean one."""
    if name in rules:
        return rules[name]
    known = [rules[part] for part in map(str.strip, _STROKE.split(name)) if part in rules]
    return known[0] if known and all(rule is known[0] for rule in known) else None


def _has(seen: SeenResult, rule: FieldRule, credits: Credits) -> bool:
    match rule.part:
        case "text":
            return _mentions(seen.folded, rule.words, seen.terms)
        case "title":
            return bool(seen.title.strip())
        case "url":
            return bool(seen.host)
        case "author":
            return any(map(credits.names.line_names, seen.text.splitlines()))
        case kind:
            return seen.has(kind)


def _diversity(results: Sequence[SeenResult], section: SearchEvaluationSection) -> tuple[float, bool]:
    """Points for domains and kinds of shops, and whether there are too few domains for points."""
    points = section.diversity
    domains = {registrable_domain(seen.host) for seen in results}
    kinds = {kind for seen in results for kind, hosts in section.retailer_types.items() if _is_of(seen.host, hosts)}
    earned = points.retailer_types * (len(kinds) > 1)
    enough = len(domains - {""}) >= points.domains_from
    if enough:
        earned += points.domains
    elif len(domains) == 1 and "" not in domains:
        earned += points.one_domain
    return round(earned, 4), not enough


def _on_goal(
    facets: Sequence[Facet], results: Sequence[SeenResult], points: RelevancePoints
) -> tuple[bool, tuple[str, ...]]:
    """Whether enough results are about the goal, and what it states and none of these has."""
    if not facets or not results:
        return False, ()
    scores = [
        [0.0 if is_empty else met(facet, seen) for facet in facets]
        for seen in results
        for is_empty in [repeats(facets, seen)]
    ]
    task = _task_word(facets, scores)
    facets = [facet for place, facet in enumerate(facets) if place != task]
    scores = [[score for place, score in enumerate(found) if place != task] for found in scores]
    least = points.keywords_coverage
    about = [found for found in scores if is_about(facets, found, least)]
    if not about or len(about) < points.keywords_share * len(results):
        return False, unmet(facets, scores)
    # A place or name alone is not what is looked for.
    if any(answers(facets, found, least) and is_named(facets, found) for found in about):
        return True, ()
    return True, unmet(facets, about) or tuple(facet.text for facet in facets if facet.is_condition or facet.is_subject)


def _task_word(facets: Sequence[Facet], scores: Sequence[Sequence[float]]) -> int | None:
    """The place of a word for the task at the beginning of a goal, which no result has: find, kupić."""
    subject = [place for place, facet in enumerate(facets) if facet.is_subject]
    if len(subject) < _LEAST_SUBJECTS or facets[subject[0]].is_condition or any(found[subject[0]] for found in scores):
        return None
    return subject[0]


def _beside(goal: str, results: Sequence[SeenResult], section: SearchEvaluationSection) -> bool:
    """Whether more than half are reviews, forums or general knowledge, and the goal isn't after just these."""
    if _mentions(goal.lower(), section.beside_words):
        return False
    beside = sum(
        _is_of(seen.host, section.beside_hosts) or _mentions(fold(seen.title), section.beside_words) for seen in results
    )
    return 2 * beside > len(results)


def _is_of(host: str, hosts: Sequence[str]) -> bool:
    """Whether a host is one of these, or below one. A name without a dot is that of a domain under any suffix."""
    label = registrable_domain(host).partition(".")[0]
    return any(host == name or host.endswith(f".{name}") or label == name for name in hosts)


def _mentions(text: str, words: Sequence[str], its_words: frozenset[str] | None = None) -> bool:
    """Whether one of the words is in a text: a single word as a whole word, a sign, phrase or ideograph anywhere.

    >>> _mentions("from $849", ("$",)), _mentions("shopping", ("shop",)), _mentions("特價 三百元", ("元",))
    (True, False, True)
    """
    known = frozenset(TERM.findall(text)) if its_words is None else its_words
    return any(word in known if word.isascii() and word.isalnum() else word in text for word in words)
