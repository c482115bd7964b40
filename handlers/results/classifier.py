"""The classifier as one object under one configuration: a result in, a classified result out (R-040).

It reads a result once, has the cues weighed, and puts the score into the band of the type. Usable by itself, without
a batch.
"""

from __future__ import annotations

from handlers.html.reading import PageReadingSection
from handlers.html.refusals import PageRefusalsSection, Refusals
from handlers.listings.page_shape import PageShape
from handlers.listings.page_text import page_of, with_page
from handlers.listings.rows import find_rows
from handlers.results.actionable import actionable_score
from handlers.results.address import read_address
from handlers.results.measures import page_measures, text_measures
from handlers.results.offers import find_offers
from handlers.results.page_type import Cue, Observed, cue_sums, find_cues, weigh
from handlers.results.sections import ClassificationSection
from handlers.results.text_shape import measure_text
from handlers.results.titles import read_title
from handlers.results.trained import Forest, ResultTrees
from handlers.text.dates import origin_of
from handlers.text.evidence import find_evidence
from handlers.text.language import find_language, is_defined, languages_of, plural_of
from handlers.text.patterns import Patterns, compile_patterns, split_words
from handlers.text.words import fold
from schemas.retrieval import ClassifiedResult, ResultType, RetrievedContent

_TITLE_CHARACTERS = 500
_NAMED_CHARACTERS = 1000


class ResultClassifier:
    """Tells results apart under one configuration; its patterns are compiled when it is made."""

    def __init__(
        self,
        section: ClassificationSection,
        patterns: Patterns,
        reading: PageReadingSection,
        refusals: PageRefusalsSection,
        trees: ResultTrees,
    ) -> None:
        """Compiles the packs.

        Args:
            section: What is read, how cues weigh, and the bands of the score.
            patterns: How details, addresses and titles are written, by language.
            reading: Limits within which a page is parsed.
            refusals: Which results are no content.
            trees: What was trained; where there is nothing the cues decide alone.
        """
        self._section = section
        self.patterns = compile_patterns(patterns)
        self._reading = reading
        self._refusals = Refusals(refusals, self.patterns.details)
        self._on_page = Forest(trees.page) if trees.page else None
        self._on_text = Forest(trees.text) if trees.text else None
        self._on_short = Forest(trees.short) if trees.short else None

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
        cues = find_cues(observed, self._section)
        trained = self._trained(observed, cues)
        result_type, confidence, because = weigh(
            cues,
            self._section,
            trained,
            # A page shows what it lists; a title and a snippet have to be sure.
            least_listing_confidence=self._section.least_listing_confidence if observed.page is None else 0.0,
        )
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
        """Reads a result: its address, title, text, and page where there is one.

        A page without links that shows next to nothing of the text, for scripts write it or it is cut off before, is
        left aside.
        """
        return self._observe(*self._with_page(result))

    def _with_page(self, result: RetrievedContent) -> tuple[RetrievedContent, PageShape | None]:
        """The result with title and text of its page where those say more; the page, if it counts."""
        section = self._section
        page = page_of(
            result.html,
            result.url if read_address(result.url, self.patterns).readable else "",
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
        reach = section.lead_characters if result.content_kind == "full" else len(text)
        begin = text[: section.lead_characters]
        read, shown = read_title(title, patterns), fold(text[:_NAMED_CHARACTERS])
        name, words = read.name, split_words(shown)
        languages = languages_of([*read.words, *words], patterns)
        return Observed(
            url=url,
            title=read,
            address=address,
            # How a text is built shows in its beginning, and texts of one length can be compared.
            text=measure_text(begin, patterns),
            page=page,
            evidence=evidence,
            kinds=frozenset(detail.kind for detail in evidence if detail.start < reach),
            # Where the title has the same words, it also has the prepositions between them.
            address_plural="" if set(address.name) <= set(name) else plural_of(address.name, languages, patterns),
            title_plural=plural_of(name, languages, patterns),
            defined=is_defined(name, words, patterns),
            rows=find_rows(begin, evidence, patterns),
            offers=find_offers(read, shown, words, patterns),
            refusal=self._refusals.why_no_content((title,), text),
        )

    def measures(self, observed: Observed) -> dict[str, float]:
        """A result in numbers, as the trees ask for it."""
        found = text_measures(observed, observed.url, self.patterns, self._section.lead_characters)
        return found | page_measures(observed.page) if observed.page is not None else found

    def _trained(self, observed: Observed, cues: tuple[Cue, ...]) -> list[float] | None:
        """The scores of trees and cues together; None where there are no trees, or nothing for them to see."""
        section, words = self._section, observed.text.words
        mixtures = section.trained
        on_long, on_short = (self._on_text, self._on_short) if observed.page is None else (self._on_page, None)
        share = mixtures.share_of_long(words) if on_long is not None else 0.0
        if not words or (not share and on_short is None):
            return None
        measures = self.measures(observed)
        by_cues = cue_sums(cues, section.bias, section.cues)
        short = long = by_cues
        if on_short is not None and share < 1.0:
            short = mixtures.short.of(on_short.scores(measures), by_cues)
        if on_long is not None and share:
            long = mixtures.long.of(on_long.scores(measures), by_cues)
        return [low + share * (high - low) for low, high in zip(short, long, strict=True)]
