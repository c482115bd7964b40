"""The classifier: the type of a result, its confidence, reasons and actionable score (R-020, R-040).

A type's score is that of the trees plus the weights of some measures, its confidence its share under softmax. The
reasons are the measures without which the decision would be least sure.
"""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence

from handlers.html.reading import PageReadingSection
from handlers.html.refusals import PageRefusalsSection, Refusals
from handlers.listings.page_shape import PageShape, page_of, with_page
from handlers.results.address import read_address
from handlers.results.features import Observed, measures_of, reasons_of
from handlers.results.sections import ClassificationSection
from handlers.results.text_shape import measure_text
from handlers.results.trained import Forest, ResultTrees
from handlers.results.wording import find_offers, read_title
from handlers.text.dates import origin_of
from handlers.text.evidence import find_evidence
from handlers.text.patterns import Patterns, compile_patterns, split_words
from handlers.text.scripts import find_language, languages_of, plural_of
from handlers.text.words import fold
from schemas.retrieval import ClassifiedResult, ResultType, RetrievedContent

TYPES = (ResultType.SPECIFIC_CONTENT, ResultType.AGGREGATOR, ResultType.NAVIGATION)
_ITEM, _LISTING, _NAVIGATION = range(3)
_TITLE_CHARACTERS = 500
_NAMED_CHARACTERS = 1000
_REASONS = 4


class ResultClassifier:
    """Classifies results under one configuration; its patterns are compiled when it is made."""

    def __init__(
        self,
        section: ClassificationSection,
        patterns: Patterns,
        reading: PageReadingSection,
        refusals: PageRefusalsSection,
        trees: ResultTrees,
    ) -> None:
        self._section = section
        self.patterns = compile_patterns(patterns)
        self._reading = reading
        self._refusals = Refusals(refusals, self.patterns.details)
        self._on_page, self._on_text = Forest(trees.page), Forest(trees.text)
        self._weights = {
            name: (weight.specific, weight.aggregator, weight.navigation) for name, weight in section.weights.items()
        }
        self._bias = (section.bias.specific, section.bias.aggregator, section.bias.navigation)

    def classify(self, result: RetrievedContent) -> ClassifiedResult:
        """The result with exactly one type (R-020), a score in its band (R-030), confidence and reasons (R-041).

        A missing title, address or text is no error (R-038, R-042); a page that must not be parsed is left aside. A
        result that is no content, such as "not found", is NAVIGATION with the score 0: no other one has it.
        """
        return self.read(result)[1]

    def read(self, result: RetrievedContent) -> tuple[RetrievedContent, ClassifiedResult]:
        """The result as it was read, and classified.

        As it was read, a result has no HTML. It has the title of its page where it had none, and its text is followed
        by that of its page where the page says more. Offsets of the evidence are into this text.
        """
        read, page = self._with_page(result)
        observed = self._observe(read, page)
        if (refusal := observed.refusal) is not None:
            return read, ClassifiedResult(
                url=result.url,
                result_type=ResultType.NAVIGATION,
                actionable_score=0.0,
                confidence=1.0,
                content_kind=read.content_kind,
                because=(f"no content, {refusal.reason}: {refusal.words!r}",),
            )
        result_type, confidence, because = self._decide(observed)
        return read, ClassifiedResult(
            url=result.url,
            result_type=result_type,
            actionable_score=actionable_score(result_type, observed, self._section),
            confidence=confidence,
            content_kind=read.content_kind,
            because=because,
            evidence=observed.evidence,
        )

    def observe(self, result: RetrievedContent) -> Observed:
        """Reads a result: its address, title, text, and page where there is one."""
        return self._observe(*self._with_page(result))

    def measures(self, observed: Observed) -> dict[str, float]:
        """A result in numbers."""
        return measures_of(observed, self.patterns, self._section)

    def _decide(self, observed: Observed) -> tuple[ResultType, float, tuple[str, ...]]:
        measures = self.measures(observed)
        forest = self._on_text if observed.page is None else self._on_page
        scores = self._scores(measures, forest)
        winner = max(range(len(TYPES)), key=lambda index: (scores[index], index))
        # A page shows what it lists; a title and a snippet have to be sure: what is taken for a listing is fetched.
        is_sure = observed.page is not None or _share(scores, winner) >= self._section.least_listing_confidence
        if winner == _LISTING and not is_sure:
            winner = max((_ITEM, _NAVIGATION), key=lambda index: (scores[index], index))
        confidence = _share(scores, winner)
        carried = []
        for name, reason in reasons_of(observed).items():
            if measures.get(name):
                loss = confidence - _share(self._scores({**measures, name: 0.0}, forest), winner)
                if loss > 0:
                    carried.append((loss, reason))
        carried.sort(key=lambda pair: -pair[0])
        reasons = tuple(reason for _, reason in carried[:_REASONS])
        return TYPES[winner], round(confidence, 4), reasons or ("no single measure decides it",)

    def _scores(self, measures: Mapping[str, float], forest: Forest) -> list[float]:
        scores = [score + bias for score, bias in zip(forest.scores(measures), self._bias, strict=True)]
        for name, weights in self._weights.items():
            if value := measures[name]:
                scores = [score + value * weight for score, weight in zip(scores, weights, strict=True)]
        return scores

    def _with_page(self, result: RetrievedContent) -> tuple[RetrievedContent, PageShape | None]:
        """The result with title and text of its page where those say more; the page, if it counts.

        A page without links that shows next to nothing of the text, for scripts write it or it is cut off before, is
        left aside.
        """
        section = self._section
        page = page_of(
            result.html,
            self.patterns,
            self._reading,
            max_html=section.max_html_characters,
            max_text=section.max_characters,
        )
        read = with_page(result, page, section.max_characters)
        text = read.content[: section.max_characters]
        if page is not None and not page.all_links and page.text_characters < section.least_page_share * len(text):
            return read, None
        return read, page

    def _observe(self, result: RetrievedContent, page: PageShape | None) -> Observed:
        section, patterns = self._section, self.patterns
        url, address = result.url, read_address(result.url, patterns)
        if not address.readable and page is not None:
            url, address = page.canonical, read_address(page.canonical, patterns)
        title = (result.title or "")[:_TITLE_CHARACTERS]
        text = result.content[: section.max_characters]
        origin = origin_of(
            url, page.languages if page else (), find_language("", text, patterns.details.small_words), patterns.details
        )
        evidence = find_evidence(text, patterns.details, section.max_evidence, origin)
        # A full text mentions dates and prices of everything around it: only those of its beginning are its own.
        begin = text[: section.lead_characters]
        own = [detail for detail in evidence if result.content_kind != "full" or detail.start < len(begin)]
        read, shown = read_title(title, patterns), fold(text[:_NAMED_CHARACTERS])
        words = split_words(shown)
        languages = languages_of([*read.words, *words], patterns)
        # Where the title has the words of the address, it also has the prepositions between them.
        name = () if set(address.name) <= set(read.name) else address.name
        return Observed(
            url=url,
            title=read,
            address=address,
            # How a text is built shows in its beginning, and texts of one length can be compared.
            text=measure_text(begin, patterns),
            page=page,
            evidence=evidence,
            kinds=frozenset(detail.kind for detail in own),
            title_plural=plural_of(read.name, languages, patterns),
            address_plural=plural_of(name, languages, patterns),
            offers=find_offers(read, shown, words, patterns),
            refusal=self._refusals.why_no_content((title,), text),
        )


def _share(scores: Sequence[float], index: int) -> float:
    return 1.0 / sum(math.exp(min(700.0, score - scores[index])) for score in scores)


def actionable_score(result_type: ResultType, observed: Observed, section: ClassificationSection) -> float:
    """How far a result can be acted on, in [0, 1] inside the band of its type (R-030), never between two (C-05).

    An item is rich from three kinds of detail on (date, time, place, price): 0.9 to 1.0; with fewer it is minimal: 0.6
    to 0.8. A listing of mostly links has 0.0 to 0.2, falling with its link density; one with some content 0.3 to 0.5,
    rising with the share of its text that is content. Navigation has 0.4.
    """
    bands = section.bands
    match result_type:
        case ResultType.NAVIGATION:
            score = bands.navigation
        case ResultType.AGGREGATOR:
            score = _listing_score(observed, section)
        case ResultType.SPECIFIC_CONTENT:
            kinds = len(observed.kinds)
            if kinds < bands.rich_kinds:
                score = bands.minimal + kinds * bands.minimal_each_kind
            else:
                score = bands.rich + (kinds - bands.rich_kinds) * bands.rich_each_kind
                score += bands.rich_identifier if observed.address.identifier else 0.0
                score += bands.rich_markup if observed.page and observed.page.declared_item else 0.0
    return round(score, 4)


def _listing_score(observed: Observed, section: ClassificationSection) -> float:
    bands, page, text = section.bands, observed.page, observed.text
    if page is not None and page.text_characters:
        least = section.mostly_links_page
        if page.link_density >= least:
            return bands.listing_links * (1.0 - (page.link_density - least) / (1.0 - least))
        return bands.listing_content + bands.listing_content_range * (1.0 - page.link_density)
    linked = text.link_phrases >= section.min_link_phrases and text.link_share >= section.mostly_links_text
    # Without anchors there is no excess to measure; a listing without any text is nothing but its links.
    if linked or not text.words:
        return bands.listing_links
    return bands.listing_content + bands.listing_content_range * text.content_share
