"""The sentences of sources that answer a question, word for word: the answer without a model.

A question for a price, a date, a time, a place, a person or a number is only answered by a sentence that has one. Its
subject may be named by the title or by the sentence before it: "The fair is on the green. It opens at eight."
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from datetime import datetime
from typing import NamedTuple

from handlers.reasoning.context import AnswerSection, Source
from handlers.retrieval.facets import Facet, share_of, told
from handlers.retrieval.query import QueryReader
from handlers.retrieval.seen_result import SeenResult
from handlers.text.sentences import count_words, sentences
from handlers.trust.labels import LABELS

_QUESTION_MARKS = ("?", "？")


class Quote(NamedTuple):
    """A sentence that may answer; ``covered``: the share of the question's words in it, or also in what it follows."""

    source: int
    trust: int
    text: str
    covered: float


def quotes_of(
    query: str, asked_at: datetime | None, sources: Sequence[Source], section: AnswerSection, reader: QueryReader
) -> dict[str, list[int]]:
    """The best sentences with the numbers of their sources.

    A sentence is compared with those of equally or more trusted sources only, so that a less trusted page cannot
    displace it.
    """
    facets, limits = reader.read(query, asked_at), section.quotes
    quotes = [quote for source in sources for quote in _best(source, facets, section, reader)]
    found: dict[str, list[int]] = {}
    for quote in quotes:
        best = max(other.covered for other in quotes if other.trust <= quote.trust)
        if quote.covered >= limits.of_the_best * best:
            found.setdefault(quote.text, []).append(quote.source)
    return dict(list(found.items())[: limits.sentences])


def _best(source: Source, facets: Sequence[Facet], section: AnswerSection, reader: QueryReader) -> list[Quote]:
    """The best sentences of one source that may answer, in the order of the text."""
    limits = section.quotes
    subject = [facet for facet in facets if facet.is_subject]
    stated = [facet for facet in facets if facet.is_condition and not facet.is_detail and not facet.is_subject]
    wanted = [facet for facet in facets if facet.is_detail]
    whole = reader.see(source.title, source.passage)
    # A single word, such as a town's name, occurs on pages about anything; a page about it has it in its title.
    is_elsewhere = len(subject) == 1 and source.title and not told(subject[0], reader.see(source.title, ""))
    if not facets or is_elsewhere or not all(told(facet, whole) for facet in subject if facet.is_condition):
        return []
    least = max(min(limits.least_shared, len(subject)), limits.least_covered * len(subject))
    least_alone = limits.least_in_sentence * len(subject)
    direct: list[Quote] = []
    following: list[Quote] = []
    before, shared_before = "", 0.0
    for text in _sentences(source.passage, source.title):
        own, near = reader.see("", text), reader.see(source.title, f"{before} {text}")
        follows, alone = bool(wanted) and shared_before >= least_alone, _shared(subject, own)
        before, shared_before = text, alone
        if len(text) > section.max_characters or text.endswith(_QUESTION_MARKS):
            continue
        if count_words(text) < limits.least_words or not all(told(facet, own) for facet in wanted):
            continue
        if _shared(subject, near) < least or not all(told(facet, near) for facet in stated):
            continue
        is_direct = alone >= least_alone and _shared(subject, reader.see(source.title, text)) >= least
        if is_direct or follows:
            share = share_of(subject, [told(facet, own if is_direct else near) for facet in subject])
            quote = Quote(source.number, LABELS.index(source.label), text, share)
            (direct if is_direct else following).append(quote)
    quotes = direct or following
    best = sorted(quotes, key=lambda quote: -quote.covered)[: limits.of_one_source]
    return [quote for quote in quotes if quote in best]


def _shared(subject: Sequence[Facet], seen: SeenResult) -> float:
    """How many words of the question a text has."""
    return sum(told(facet, seen) for facet in subject)


def _sentences(passage: str, title: str) -> Iterator[str]:
    """The sentences of a passage without its heading."""
    rest = passage.removeprefix(title)
    is_heading = rest[:1].isspace() and not rest.lstrip()[:1].islower()
    return (" ".join(text.split()) for text in sentences(rest if is_heading else passage))
