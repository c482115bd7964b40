"""An answer with citations: analyst, critic and writer are asked in turn, and each reply is checked.

A sentence counts only if it cites sources that exist. The trust of its sources decides its place and the order of its
citations. A sentence that cites only LOW sources begins with a caution. If a role fails, the answer is made without it
and says so. If the writer fails, sentences of the sources are the answer.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Generator, Iterable, Iterator, Sequence
from dataclasses import asdict, dataclass, replace
from datetime import datetime
from enum import StrEnum
from typing import Literal, NamedTuple, TypeVar

from handlers.offline.judges import writer as offline_writer
from handlers.prompts.replies import schema_of
from handlers.prompts.template import AskingRules
from handlers.prompts.untrusted import for_model
from handlers.reasoning.context import (
    AnswerSection,
    Finding,
    Language,
    ReasoningSection,
    Role,
    Source,
    language_of,
    role_messages,
    seen_by,
)
from handlers.reasoning.replies import REPLIES, CitedText, plain, read_findings, read_sentences, read_verdicts
from handlers.retrieval.facets import Facet, share_of, told
from handlers.retrieval.query import QueryReader, QueryRules
from handlers.retrieval.seen_result import SeenResult
from handlers.text.sentences import count_words, sentences
from handlers.trust.labels import LABELS, Label
from schemas.llm import LlmCall
from schemas.needs import Ask, AskModel
from schemas.replies import ModelFailed, ModelReply, ModelUnavailable

_QUESTION_MARKS = ("?", "？")
_Read = TypeVar("_Read")
_Asking = Generator[AskModel, ModelReply | ModelFailed, _Read]
_NUMBERS_TOLD = 10


class AnswerRules(AskingRules, QueryRules):
    """All rules of an answer."""

    reasoning: ReasoningSection


class AnswerOutcome(StrEnum):
    """Whether there is an answer."""

    ANSWERED = "answered"
    NO_SOURCES = "no_sources"
    NOT_ANSWERED = "not_answered"


@dataclass(frozen=True, slots=True)
class Sentence:
    """A sentence with the numbers of its sources, the most trusted first; ``cautioned``: with a caution of ours."""

    text: str
    sources: tuple[int, ...]
    cautioned: bool


@dataclass(frozen=True, slots=True, kw_only=True)
class Answer:
    """An answer, or the reason why no answer was possible.

    Attributes:
        written_by: ``offline`` if the sentences are the sources' own; None without an answer.
        language: Of the source lines.
        sentences: In the order of their trust.
        left_out: The discarded output and the failures of roles, for people.
    """

    outcome: AnswerOutcome
    written_by: Literal["model", "offline"] | None = None
    language: Language
    sentences: tuple[Sentence, ...] = ()
    sources: tuple[Source, ...] = ()
    left_out: tuple[str, ...] = ()
    calls: tuple[LlmCall, ...] = ()


def answer_query(
    query: str,
    sources: Sequence[Source],
    replies: Sequence[ModelReply | ModelFailed | ModelUnavailable],
    rules: AnswerRules,
    asked_at: datetime | None = None,
) -> Ask | Answer | ModelUnavailable:
    """The next question after the replies so far, or the answer (R-254, R-255, R-258).

    Args:
        query: The question.
        sources: As ``order_sources`` returns them.
        replies: To the questions so far, in their order. ``ModelUnavailable`` ends the run and is returned.
        rules: What the roles are shown and told.
        asked_at: When the question was asked; without it, "today" asks for any day.
    """
    if not sources:
        return Answer(outcome=AnswerOutcome.NO_SOURCES, language=language_of(query, rules.reasoning))
    run = _Run(query, tuple(sources), rules, asked_at).answer()
    try:
        need = next(run)
        for reply in replies:
            if isinstance(reply, ModelUnavailable):
                return reply
            need = run.send(reply)
    except StopIteration as done:
        answer: Answer = done.value
        return answer
    return Ask(need)


class _Run:
    """State of one answer: query, sources, calls, discarded output."""

    def __init__(self, query: str, sources: tuple[Source, ...], rules: AnswerRules, asked_at: datetime | None) -> None:
        self.query = query
        self.asked_at = asked_at
        self.sources = sources
        self.rules = rules
        self.section = rules.reasoning.answer
        self.left_out: list[str] = []
        self.calls: list[LlmCall] = []

    def answer(self) -> _Asking[Answer]:
        """The whole conversation."""
        findings = yield from self._find()
        if findings:
            findings = yield from self._judge(findings)
        written, written_by = yield from self._write(findings)
        language = language_of(self.query, self.rules.reasoning)
        sentences = self._checked(written, language)
        return Answer(
            outcome=AnswerOutcome.ANSWERED if sentences else AnswerOutcome.NOT_ANSWERED,
            written_by=written_by if sentences else None,
            language=language,
            sentences=sentences,
            sources=self.sources,
            left_out=tuple(self.left_out),
            calls=tuple(self.calls),
        )

    def _find(self) -> _Asking[tuple[Finding, ...]]:
        """The analyst's findings that cite only sources that exist."""
        read = yield from self._asked("analyst", (), read_findings)
        found = read.findings if read else []
        known = self._numbers("analyst")
        findings = [
            Finding(text, tuple(dict.fromkeys(cited.sources)))
            for cited in found
            if cited.sources and known.issuperset(cited.sources) and (text := self._plain(cited.text))
        ]
        self._leave_out(len(found) - len(findings), "finding", "named no source that is there")
        return tuple(findings[: self.section.max_findings])

    def _judge(self, findings: tuple[Finding, ...]) -> _Asking[tuple[Finding, ...]]:
        """The findings with the critic's verdicts, without the unsupported ones."""
        read = yield from self._asked("critic", findings, lambda text: read_verdicts(text, len(findings)))
        if read is None:
            return findings
        verdicts = sorted(read.verdicts, key=lambda verdict: verdict.finding)
        kept = tuple(
            Finding(finding.text, finding.sources, judged.verdict, self._plain(judged.because))
            for finding, judged in zip(findings, verdicts, strict=True)
            if judged.verdict != "unsupported"
        )
        self._leave_out(len(findings) - len(kept), "finding", "unsupported, says the critic")
        return kept

    def _write(self, findings: tuple[Finding, ...]) -> _Asking[tuple[list[CitedText], Literal["model", "offline"]]]:
        """The sentences of the writer, or of the sources if the writer fails, and the author."""
        known = self._numbers("writer")
        shown = [finding for finding in findings if known.intersection(finding.sources)]
        read = yield from self._asked("writer", shown, read_sentences)
        if read is not None:
            return read.sentences, self.calls[-1].judged_by
        self.left_out.append("the answer is made of the sources' own sentences instead")
        own = read_sentences(offline_writer(self._ask("writer", shown, 1).facts))
        return (own.sentences if own else []), "offline"

    def _checked(self, written: Iterable[CitedText], language: Language) -> tuple[Sentence, ...]:
        """The sentences that cite only sources that exist, in the order of their trust."""
        known = self._numbers("writer")
        good: list[Sentence] = []
        unknown: list[set[int]] = []
        without = 0
        for cited in written:
            text = self._plain(cited.text)
            if not cited.sources or not text:
                without += 1
            elif others := set(cited.sources) - known:
                unknown.append(others)
            else:
                good.append(self._sentence(text, set(cited.sources), language))
        self._leave_out(without, "sentence", "cited no source")
        numbers = ", ".join(map(str, sorted(set().union(*unknown))[:_NUMBERS_TOLD]))
        self._leave_out(len(unknown), "sentence", f"cited a source that is not there ({numbers})")
        good.sort(key=lambda sentence: LABELS.index(self._label(sentence.sources[0])))
        most = self.section.max_sentences
        self._leave_out(len(good) - most, "sentence", "more than an answer may have")
        return tuple(good[:most])

    def _sentence(self, text: str, numbers: Iterable[int], language: Language) -> Sentence:
        sources = tuple(sorted(numbers))  # The lower the number, the more trusted.
        if self._label(sources[0]) != "LOW" or self._is_cautious(text):
            return Sentence(text, sources, cautioned=False)
        caution = self.section.caution
        return Sentence(f"{caution.zh if language == 'zh' else caution.en}{text}", sources, cautioned=True)

    def _is_cautious(self, text: str) -> bool:
        folded = text.casefold()
        return any(
            re.search(rf"(?<![a-z]){re.escape(word.casefold())}(?![a-z])", folded)
            for word in self.section.caution.words
        )

    def _asked(
        self, role: Role, findings: Sequence[Finding], read: Callable[[str], _Read | None]
    ) -> _Asking[_Read | None]:
        """A role's reply as its reader returns it; None if the role fails."""
        why = ""
        for try_number in range(1, self.section.tries + 1):
            reply = yield self._ask(role, findings, try_number)
            self.calls.append(reply.call)
            if isinstance(reply, ModelFailed):
                why = f"failed: {reply.call.outcome}"
                break
            if (said := read(reply.text)) is not None:
                return said
            why = "replied outside of its protocol"
        self.left_out.append(f"the {role} {why}")
        return None

    def _ask(self, role: Role, findings: Sequence[Finding], try_number: int) -> AskModel:
        rules = self.rules
        sources = [
            replace(source, **for_model({"title": source.title, "passage": source.passage}))
            for source in seen_by(role, self.sources, rules.reasoning)
        ]
        quotes = quotes_of(self.query, self.asked_at, sources, self.section, rules.queries) if role != "critic" else {}
        facts = {
            "sources": [asdict(source) for source in sources],
            "findings": [asdict(finding) for finding in findings],
            "quotes": [{"text": text, "sources": sorted(set(numbers))} for text, numbers in quotes.items()],
        }
        return AskModel(
            role,
            rules.prompts[role].version,
            role_messages(role, self.query, self.sources, findings, rules.reasoning, rules.prompts),
            facts,
            rules.model_tasks[role].max_tokens,
            rules.model_tasks[role].temperature,
            schema=schema_of(REPLIES[role]),
            try_number=try_number,
        )

    def _numbers(self, role: Role) -> frozenset[int]:
        return frozenset(source.number for source in seen_by(role, self.sources, self.rules.reasoning))

    def _label(self, number: int) -> Label:
        return self.sources[number - 1].label

    def _plain(self, text: str) -> str:
        return plain(text, self.section.max_characters)

    def _leave_out(self, count: int, what: str, why: str) -> None:
        if count > 0:
            self.left_out.append(f"{count} {what}{'' if count == 1 else 's'} {why}")


class Quote(NamedTuple):
    """A sentence that may answer; ``covered``: the share of the question's words in it, or also in what it follows."""

    source: int
    trust: int
    text: str
    covered: float


def quotes_of(
    query: str, asked_at: datetime | None, sources: Sequence[Source], section: AnswerSection, reader: QueryReader
) -> dict[str, list[int]]:
    """The best sentences with the numbers of their sources, word for word: the answer without a model.

    A question for a price, a date, a time, a place, a person or a number is only answered by a sentence that has one.
    Its subject may be named by the title or by the sentence before it: "The fair is on the green. It opens at eight."
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
