"""The classifier: the type of a result, its confidence, reasons and actionable score (R-020, R-040).

A type's score is that of the trees, its confidence its share under softmax. The reasons are the measures without which
the decision would be least sure.
"""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from functools import cached_property

from handlers.html.content import PageFacts
from handlers.html.links import NO_WEB_PAGE, page_id_of
from handlers.html.read_page import PageRules
from handlers.html.state import CONTENT, PageState
from handlers.listings.page_shape import PageShape, with_page
from handlers.results.address import read_address
from handlers.results.features import REASONS, ClassificationSection, Observed, ResultTrees, measures_of, reasons_of
from handlers.results.wording import find_offers, languages_of, measure_text, plural_of, read_title
from handlers.text.dates import origin_of
from handlers.text.evidence import find_evidence
from handlers.text.scripts import find_language
from handlers.text.words import fold, split_words
from handlers.trees.forest import Forest
from schemas.retrieval import ClassifiedResult, ResultType, RetrievedContent
from schemas.states import State

TYPES = (ResultType.SPECIFIC_CONTENT, ResultType.AGGREGATOR, ResultType.NAVIGATION)
_ITEM, _LISTING, _NAVIGATION = range(3)
_TITLE_CHARACTERS = 500
_NAMED_CHARACTERS = 1000
_MOST_REASONS = 4
_SMALL_PAGE = 500


class ResultClassifier:
    """Classifies results under one configuration; its patterns are compiled when it is made."""

    def __init__(self, section: ClassificationSection, rules: PageRules, trees: ResultTrees) -> None:
        self._section, self._reading = section, rules.page_reading
        self.patterns, self._pages = rules.compiled_patterns, rules.pages
        self._on_page, self._on_text = Forest(trees.page), Forest(trees.text)

    def classify(self, result: RetrievedContent) -> ClassifiedResult:
        """The result with exactly one type (R-020), a score in its band (R-030), confidence and reasons (R-041).

        A missing title, address or text is no error (R-038, R-042); a page that must not be parsed is left aside. A
        result that is no content, such as "not found", is NAVIGATION with the score 0: no other one has it.
        """
        return self.read(result)[1]

    def read(self, result: RetrievedContent) -> tuple[RetrievedContent, ClassifiedResult, PageFacts | None]:
        """The result as it was read (``with_page``), classified, and the facts of its page.

        Offsets of the evidence are into the text of the result as it was read.
        """
        read, page, refused = self._with_page(result)
        title, text = (read.title or "")[:_TITLE_CHARACTERS], result.content[: self._section.max_characters]
        is_full = result.content_kind == "full"
        state, facts = self._pages.read_result(result.html, title, text, result.url, is_full=is_full)
        observed = self._observe(read, page, state)
        result_type, confidence, reasons = self._decide(observed)
        if refused:
            reasons = (*reasons, f"the page is not read: {refused}")
        if (page_id := page_id_of(result.url)) is None:
            reasons = (*reasons, NO_WEB_PAGE)
            read = read.model_copy(update={"cts_score": None}) if result.url.strip() else read
        classified = ClassifiedResult(
            url=result.url,
            page_id=page_id,
            state=observed.state.kind,
            result_type=result_type,
            actionable_score=actionable_score(result_type, observed, self._section),
            confidence=confidence,
            content_kind=read.content_kind,
            reasons=reasons,
            evidence=observed.evidence if observed.state.is_content else (),
        )
        return read, classified, facts

    def measures(self, result: RetrievedContent) -> dict[str, float]:
        """All measures of a result."""
        return measures_of(self._observe(*self._with_page(result)[:2], CONTENT), self.patterns)

    def _decide(self, observed: Observed) -> tuple[ResultType, float, tuple[str, ...]]:
        if not observed.state.is_content:
            return ResultType.NAVIGATION, 1.0, (str(observed.state),)
        measures = measures_of(observed, self.patterns)
        forests = self._forests_of(observed.page)
        scores = _mean(forests, measures)
        ordered = sorted(range(len(TYPES)), key=lambda index: -scores[index])
        # Listings are fetched. A page shows its items, while a title and a snippet need some confidence.
        is_sure = observed.page is not None or _share(scores, _LISTING) >= self._section.least_listing_confidence
        winner = next(index for index in ordered if index != _LISTING or is_sure)
        if observed.page is None and not observed.title.words and not observed.text["text_words"]:
            # An address alone shows no thing, and there is nothing to act on.
            winner = _NAVIGATION
        confidence = _share(scores, winner)
        losses = {
            name: confidence - _share(_mean(forests, {**measures, name: 0.0}), winner)
            for name in REASONS
            if measures.get(name)
        }
        carried = sorted((name for name, loss in losses.items() if loss > 0), key=lambda name: -losses[name])
        because = reasons_of(carried[:_MOST_REASONS], observed, measures) or ("no single measure decides it",)
        return TYPES[winner], round(confidence, 4), because

    def _forests_of(self, page: PageShape | None) -> tuple[Forest, ...]:
        if page is None:
            return (self._on_text,)
        # The labelled pages are long; a small one is little more than its text.
        return (self._on_page, self._on_text) if page.characters < _SMALL_PAGE else (self._on_page,)

    def _with_page(self, result: RetrievedContent) -> tuple[RetrievedContent, PageShape | None, str]:
        """The result read with its page, and why the page is refused; no page where it shows next to nothing.

        Scripts write a page without links that has next to nothing of the text, or it is cut off before its text.
        """
        section = self._section
        read, page = with_page(
            result, self.patterns, self._reading, max_html=section.max_html_characters, max_text=section.max_characters
        )
        if isinstance(page, str):
            return read, None, page
        least = section.least_page_share * len(read.content[: section.max_characters])
        is_bare = page.characters < least and not page.measures.get("page_all_links")
        return read, None if is_bare else page, ""

    def _observe(self, result: RetrievedContent, page: PageShape | None, state: PageState) -> Observed:
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
        named = find_evidence(title, patterns.details, section.max_evidence, origin)
        read, shown = read_title(title, patterns), fold(text[:_NAMED_CHARACTERS])
        words = split_words(shown)
        languages = languages_of([*read.words, *words], patterns)
        # Where the title has the words of the address, it also has the prepositions between them.
        name = () if set(address.name) <= set(read.name) else address.name
        return Observed(
            title=read,
            address=address,
            # How a text is built shows in its beginning, and texts of one length can be compared.
            text=measure_text(begin, patterns),
            page=page,
            evidence=evidence,
            kinds=frozenset(detail.kind for detail in (*named, *own)),
            title_plural=plural_of(read.name, languages, patterns),
            address_plural=plural_of(name, languages, patterns),
            offers=find_offers(read, shown, words, patterns),
            state=state,
        )


class ClassifierRules(PageRules):
    """Rules of a handler that tells results apart."""

    classification: ClassificationSection
    result_trees: ResultTrees = ResultTrees()

    @cached_property
    def classifier(self) -> ResultClassifier:
        """Tells whether a result is the thing itself, a listing or navigation."""
        return ResultClassifier(self.classification, self, self.result_trees)


def _mean(forests: Sequence[Forest], measures: Mapping[str, float]) -> list[float]:
    return [sum(each) / len(forests) for each in zip(*(forest.scores(measures) for forest in forests), strict=True)]


def _share(scores: Sequence[float], index: int) -> float:
    return 1.0 / sum(math.exp(min(700.0, score - scores[index])) for score in scores)


def actionable_score(result_type: ResultType, observed: Observed, section: ClassificationSection) -> float:
    """How far a result can be acted on, in [0, 1] inside the band of its type (R-030), never between two (C-05).

    An item is rich from three kinds of detail on (date, time, place, price): 0.9 to 1.0; with fewer it is minimal: 0.6
    to 0.8. A listing of mostly links has 0.0 to 0.2, falling with its link density; one with some content 0.3 to 0.5,
    rising with the share of its text that is content. Navigation has 0.4. A page without content has 0.0, but for a
    log-in page.
    """
    bands = section.bands
    match result_type:
        case _ if not observed.state.is_content and observed.state.kind is not State.LOGIN:
            score = 0.0
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
    if page is not None and page.characters:
        least, density = section.mostly_links_page, page.measures["page_link_density"]
        if density >= least:
            return bands.listing_links * (1.0 - (density - least) / (1.0 - least))
        return bands.listing_content + bands.listing_content_range * (1.0 - density)
    many = text["text_link_phrases"] >= section.min_link_phrases
    # Without anchors there is no excess to measure; a listing without any text is nothing but its links.
    if not text["text_words"] or (many and text["text_link_share"] >= section.mostly_links_text):
        return bands.listing_links
    return bands.listing_content + bands.listing_content_range * text["text_content_share"]
