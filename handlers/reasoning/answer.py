"""From sources to an answer with citations: analyst, critic and writer are asked in turn, and none of them is believed.

In: a query, labelled sources, and the replies so far. Out: the next question, or the answer. A sentence counts only
with sources that are there; its citations and its place follow their trust; what LOW sources alone say is worded with
caution. A role that fails is done without, and that is said; where the writer fails, sentences of the sources answer.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Generator, Iterable, Sequence
from dataclasses import dataclass
from enum import StrEnum
from functools import cached_property
from typing import Any, Literal, TypeVar

from handlers.offline.answer_query import writer as offline_writer
from handlers.prompts.model_tasks import ModelTasks
from handlers.prompts.template import Prompts
from handlers.reasoning.context import Source, language_of
from handlers.reasoning.replies import CitedText, plain, read_findings, read_sentences, read_verdicts
from handlers.reasoning.roles import Finding, Role, ask_role, seen_by
from handlers.reasoning.sections import ReasoningSection
from handlers.text.patterns import Patterns, joined_words
from handlers.trust.labels import LABELS, Language
from schemas.llm import LlmCall
from schemas.needs import Ask, AskModel
from schemas.replies import ModelFailed, ModelReply, ModelUnavailable
from schemas.rules import Rules

_Reply = ModelReply | ModelFailed
_Read = TypeVar("_Read")
_NUMBERS_TOLD = 10


class AnswerRules(Rules):
    """Everything that an answer depends on."""

    reasoning: ReasoningSection
    patterns: Patterns
    model_tasks: ModelTasks
    prompts: Prompts

    @cached_property
    def stop_words(self) -> frozenset[str]:
        """Words of a query that say nothing of its subject, in all languages."""
        return joined_words(self.patterns, "stop_words") | joined_words(self.patterns, "question_fillers")


class AnswerOutcome(StrEnum):
    """What came of it."""

    ANSWERED = "answered"
    NO_SOURCES = "no_sources"
    NOT_ANSWERED = "not_answered"


@dataclass(frozen=True, slots=True)
class Sentence:
    """A sentence of the answer.

    Attributes:
        text: As shown, caution included.
        sources: Numbers of its sources, the most trusted first.
        cautioned: The caution is ours, for it rests on LOW sources alone and said so nowhere.
    """

    text: str
    sources: tuple[int, ...]
    cautioned: bool


@dataclass(frozen=True, slots=True, kw_only=True)
class Answer:
    """An answer, or why there is none.

    Attributes:
        outcome: What came of it.
        written_by: ``model``, or ``offline`` where the sentences are the sources' own; None where there are none.
        language: Of the source lines.
        sentences: Those with a HIGH source first.
        sources: All that were there, by number.
        left_out: What was thrown away of the writer's sentences or went wrong on the way, for people.
        calls: Each call of a judge, in order.
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
) -> Ask | Answer | ModelUnavailable:
    """Goes on with the replies so far (R-254, R-255, R-258).

    Args:
        query: What is to be answered.
        sources: As ``order_sources`` has them.
        replies: To the questions asked so far, in their order.
        rules: What roles are shown and told.

    Returns:
        The next question; the answer; or, where no model can be asked now, that.
    """
    talk = _talk(query, sources, rules)
    try:
        need = next(talk)
        for reply in replies:
            if isinstance(reply, ModelUnavailable):
                return reply
            need = talk.send(reply)
    except StopIteration as done:
        answer: Answer = done.value
        return answer
    return Ask(need)


def _talk(query: str, sources: Sequence[Source], rules: AnswerRules) -> Generator[AskModel, _Reply, Answer]:
    """The whole conversation."""
    language = language_of(query, rules.reasoning)
    if not sources:
        return Answer(outcome=AnswerOutcome.NO_SOURCES, language=language)
    desk = _Desk(query, tuple(sources), rules)
    findings: tuple[Finding, ...] = yield from desk.find()
    if findings:
        findings = yield from desk.judge(findings)
    written, written_by = yield from desk.write(findings)
    sentences = desk.checked(written, language)
    return Answer(
        outcome=AnswerOutcome.ANSWERED if sentences else AnswerOutcome.NOT_ANSWERED,
        written_by=written_by if sentences else None,
        language=language,
        sentences=sentences,
        sources=desk.sources,
        left_out=tuple(desk.left_out),
        calls=tuple(desk.calls),
    )


class _Desk:
    """What is on the desk while an answer is made."""

    def __init__(self, query: str, sources: tuple[Source, ...], rules: AnswerRules) -> None:
        self.query = query
        self.sources = sources
        self.rules = rules
        self.section = rules.reasoning.answer
        self.left_out: list[str] = []
        self.calls: list[LlmCall] = []

    def find(self) -> Generator[AskModel, _Reply, tuple[Finding, ...]]:
        """The analyst's findings; those whose sources are not there are left out."""
        read = yield from self._asked("analyst", (), read_findings)
        found = read.findings if read else []
        known = self._numbers("analyst")
        findings = [
            Finding(text, tuple(dict.fromkeys(cited.sources)))
            for cited in found
            if cited.sources and known.issuperset(cited.sources) and (text := self._plain(cited.text))
        ]
        if len(findings) < len(found):
            self.left_out.append(f"{_many(len(found) - len(findings), 'finding')} named no source that is there")
        return tuple(findings[: self.section.max_findings])

    def judge(self, findings: tuple[Finding, ...]) -> Generator[AskModel, _Reply, tuple[Finding, ...]]:
        """The findings with the critic's verdicts; unsupported ones are left out."""
        read = yield from self._asked("critic", findings, lambda text: read_verdicts(text, len(findings)))
        if read is None:
            return findings
        verdicts = {verdict.finding: verdict for verdict in read.verdicts}
        judged = [
            Finding(finding.text, finding.sources, verdicts[number].verdict, self._plain(verdicts[number].because))
            for number, finding in enumerate(findings, 1)
        ]
        kept = tuple(finding for finding in judged if finding.verdict != "unsupported")
        if len(kept) < len(judged):
            self.left_out.append(f"{_many(len(judged) - len(kept), 'finding')} unsupported, says the critic")
        return kept

    def write(self, findings: tuple[Finding, ...]) -> Generator[AskModel, _Reply, tuple[list[CitedText], Any]]:
        """The writer's sentences; the sources' own where the writer's reply can't be used. And who wrote them."""
        known = self._numbers("writer")
        known_findings = tuple(finding for finding in findings if known.intersection(finding.sources))
        read = yield from self._asked("writer", known_findings, read_sentences)
        if read is not None:
            return read.sentences, self.calls[-1].judged_by
        self.left_out.append("the answer is made of the sources' own sentences instead")
        own = read_sentences(offline_writer(self._ask("writer", known_findings, 1).facts))
        return (own.sentences if own else []), "offline"

    def checked(self, written: Iterable[CitedText], language: Language) -> tuple[Sentence, ...]:
        """The sentences whose sources are there, in the order of their trust."""
        known = self._numbers("writer")
        labels = {source.number: source.label for source in self.sources}
        good: list[Sentence] = []
        without, strange = 0, []
        for cited in written:
            text = self._plain(cited.text)
            if not cited.sources or not text:
                without += 1
            elif unknown := set(cited.sources) - known:
                strange.append(unknown)
            else:
                good.append(self._sentence(text, sorted(set(cited.sources)), labels, language))
        if without:
            self.left_out.append(f"{_many(without, 'sentence')} cited no source")
        if strange:
            numbers = ", ".join(map(str, sorted(set().union(*strange))[:_NUMBERS_TOLD]))
            self.left_out.append(f"{_many(len(strange), 'sentence')} cited a source that is not there ({numbers})")
        good.sort(key=lambda sentence: LABELS.index(labels[sentence.sources[0]]))
        if (more := len(good) - self.section.max_sentences) > 0:
            self.left_out.append(f"{_many(more, 'sentence')} more than an answer may have")
        return tuple(good[: self.section.max_sentences])

    def _sentence(self, text: str, numbers: Sequence[int], labels: dict[int, Any], language: Language) -> Sentence:
        sources = tuple(sorted(numbers, key=lambda number: (LABELS.index(labels[number]), number)))
        if labels[sources[0]] != "LOW" or self._is_cautious(text):
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
    ) -> Generator[AskModel, _Reply, _Read | None]:
        """A role's reply as its reader has it; None where it can't be used, which is said."""
        why = ""
        for number in range(1, self.section.tries + 1):
            reply = yield self._ask(role, findings, number)
            self.calls.append(reply.call)
            if isinstance(reply, ModelFailed):
                why = f"failed: {reply.call.outcome}"
                break
            if (said := read(reply.text)) is not None:
                return said
            why = "replied outside of its protocol"
        self.left_out.append(f"the {role} {why}")
        return None

    def _ask(self, role: Role, findings: Sequence[Finding], number: int) -> AskModel:
        rules = self.rules
        lowered = self.query.casefold()
        ignored = sorted(word for word in rules.stop_words if word in lowered)
        return ask_role(
            role,
            self.query,
            self.sources,
            findings,
            rules.reasoning,
            rules.prompts,
            rules.model_tasks,
            ignored,
            number,
        )

    def _numbers(self, role: Role) -> frozenset[int]:
        return frozenset(source.number for source in seen_by(role, self.sources, self.rules.reasoning))

    def _plain(self, text: str) -> str:
        return plain(text, self.section.max_characters)


def _many(count: int, what: str) -> str:
    return f"{count} {what}{'' if count == 1 else 's'}"
