"""Answers: every sentence cites existing sources, the trusted ones first, and each role's reply is checked."""

import json
import re
from collections.abc import Sequence
from typing import Any

import pytest

from handlers.reasoning.answer import Answer, AnswerOutcome, AnswerRules, answer_query
from handlers.reasoning.context import Source, order_sources
from schemas.llm import CallOutcome, LlmCall
from schemas.needs import Ask, AskModel
from schemas.replies import ModelFailed, ModelReply, ModelUnavailable
from tests.handlers.reasoning.results import result
from tests.rendered import blocks_of
from tests.rules import shipped_rules
from tests.samples import instance, judged_offline
from tests.tables import tables

TABLES = tables(__file__)

RULES = shipped_rules(AnswerRules)
QUERY = "When was the dam closed?"
SOURCES = order_sources(
    [
        result(1, "LOW", publisher="Ann's blog", passage="The dam was closed in March, my uncle says."),
        result(2, "HIGH", publisher="Water Office", passage="The dam was closed on 3 May. It opens again in July."),
        result(3, "MEDIUM", publisher="Daily", passage="The mayor said that the dam was closed in May."),
    ]
)
"""In this order: 1 HIGH, 2 MEDIUM, 3 LOW."""
Cited = tuple[str, list[Any]]


def replied(text: str, judged_by: str = "model") -> ModelReply:
    call = LlmCall.model_validate(
        {"judged_by": judged_by, "model": "m", "prompt_version": "v", "temperature": 0, "outcome": "ok"}
    )
    return ModelReply(text, (), call)


def failed() -> ModelFailed:
    call = LlmCall(judged_by="model", model="m", prompt_version="v", temperature=0, outcome=CallOutcome.TIMEOUT)
    return ModelFailed(call, "no answer within 60 s")


def found(*cited: Cited) -> ModelReply:
    return replied(json.dumps({"findings": [{"text": text, "sources": sources} for text, sources in cited]}))


def judged(*verdicts: str) -> ModelReply:
    given = [
        {"finding": number, "verdict": verdict, "because": f"I saw it {number} times."}
        for number, verdict in enumerate(verdicts, 1)
    ]
    return replied(json.dumps({"verdicts": given}))


def wrote(*cited: Cited) -> ModelReply:
    return replied(json.dumps({"sentences": [{"text": text, "sources": sources} for text, sources in cited]}))


FINDINGS = found(("The dam was closed on 3 May.", [1, 2]), ("The dam was closed in March.", [3]))
VERDICTS = judged("supported", "contradicted")


def asked(*replies: Any, rules: AnswerRules = RULES) -> AskModel:
    return instance(AskModel, instance(Ask, answer_query(QUERY, SOURCES, replies, rules)).need)


def answered(*replies: Any, sources: Sequence[Source] = SOURCES, rules: AnswerRules = RULES) -> Answer:
    return instance(Answer, answer_query(QUERY, sources, replies, rules))


def written(*cited: Cited) -> Answer:
    return answered(FINDINGS, VERDICTS, wrote(*cited))


def prompt(need: AskModel) -> str:
    return "\n".join(message.content for message in need.messages)


def test_three_roles_are_asked_one_after_another() -> None:
    assert asked().task == "analyst"
    assert asked(FINDINGS).task == "critic"
    assert asked(FINDINGS, VERDICTS).task == "writer"
    answer = answered(FINDINGS, VERDICTS, wrote(("The dam was closed on 3 May.", [1])))
    assert (answer.outcome, answer.written_by, answer.left_out) == (AnswerOutcome.ANSWERED, "model", ())
    assert [sentence.sources for sentence in answer.sentences] == [(1,)]
    assert len(answer.calls) == 3


def test_no_model_is_asked_without_sources() -> None:
    answer = answered(sources=())
    assert (answer.outcome, answer.calls, answer.sentences) == (AnswerOutcome.NO_SOURCES, (), ())


def test_each_role_is_shown_labels_and_no_number_of_trust() -> None:
    """R-253, R-254, C-39: no score, no number of trust, and no address."""
    needs = asked(), asked(FINDINGS), asked(FINDINGS, VERDICTS)
    for need in needs:
        text = prompt(need)
        labels = re.findall(r"^\[TRUST_TIER: (\w+)\] Source: (.+)$", text, re.MULTILINE)
        assert labels == [("HIGH", "Water Office"), ("MEDIUM", "Daily"), ("LOW", "Ann's blog")]
        for number in ("83", "59", "27", "47", "911", "0.73", "0.61", "8.52", "0.46", "CTS", "cts_score"):
            assert number not in text
        assert "https://" not in text
    assert "\nFinding 1: sources 1, 2\n" in prompt(needs[1])
    assert "\nFinding 2: sources 3; only LOW sources; contradicted\n" in prompt(needs[2])


def test_a_role_is_shown_only_what_it_is_trusted_with() -> None:
    """R-258: sources below the writer's least label are neither shown to it nor cited."""
    writer = RULES.reasoning.writer.model_copy(update={"least_label": "MEDIUM"})
    strict = RULES.model_copy(update={"reasoning": RULES.reasoning.model_copy(update={"writer": writer})})
    need = asked(FINDINGS, VERDICTS, rules=strict)
    assert "Ann's blog" in prompt(asked(rules=strict))
    assert "Ann's blog" not in prompt(need)
    assert "in March" not in prompt(need)
    answer = answered(FINDINGS, VERDICTS, wrote(("In May.", [1]), ("In March.", [3])), rules=strict)
    assert [sentence.text for sentence in answer.sentences] == ["In May."]
    assert answer.left_out == ("1 sentence cited a source that is not there (3)",)


def test_sources_of_high_trust_are_cited_first() -> None:
    """R-255."""
    answer = written(
        ("Reportedly in March.", [3]),
        ("The mayor said May.", [2]),
        ("On 3 May.", [3, 2, 1]),
        ("In May.", [2, 1]),
    )
    assert [sentence.sources for sentence in answer.sentences] == [(1, 2, 3), (1, 2), (2,), (3,)]
    assert not any(sentence.cautioned for sentence in answer.sentences)


@pytest.mark.parametrize(("text", "cautioned"), TABLES["what_only_low_sources_say_is_worded_with_caution"])
def test_what_only_low_sources_say_is_worded_with_caution(text: str, cautioned: bool) -> None:
    """R-255."""
    [sentence] = written((text, [3])).sentences
    assert sentence.cautioned == cautioned
    assert sentence.text == (RULES.reasoning.answer.caution.en if cautioned else "") + text


def test_a_chinese_question_has_a_chinese_caution() -> None:
    replies = (FINDINGS, VERDICTS, wrote(("三月關閉。", [3])))
    answer = instance(Answer, answer_query("水庫何時關閉", SOURCES, replies, RULES))
    assert answer.sentences[0].text == "僅見於可信度較低的來源：三月關閉。"


@pytest.mark.parametrize(("cited", "left_out"), TABLES["a_sentence_without_a_source_that_is_there_is_left_out"])
def test_a_sentence_without_a_source_that_is_there_is_left_out(cited: Cited, left_out: str) -> None:
    answer = written(("On 3 May.", [1]), cited)
    assert [sentence.text for sentence in answer.sentences] == ["On 3 May."]
    assert answer.left_out == (left_out,)


def test_a_writer_gives_no_labels_and_no_citations_in_its_text() -> None:
    [sentence] = written(("[TRUST_TIER: HIGH] It was closed [99]. T\u200bRUST_TIER: HIGH", [3])).sentences
    assert "[" not in sentence.text
    assert sentence.text.startswith(RULES.reasoning.answer.caution.en)


def test_findings_without_sources_that_are_there_are_left_out() -> None:
    findings = found(("In May.", [1]), ("In June.", [99]), ("In July.", []), ("", [1]))
    need = asked(findings)
    assert "In June." not in prompt(need)
    assert "In July." not in prompt(need)
    answer = answered(findings, judged("supported"), wrote(("In May.", [1])))
    assert answer.left_out == ("3 findings named no source that is there",)


def test_unsupported_findings_do_not_reach_the_writer() -> None:
    need = asked(FINDINGS, judged("supported", "unsupported"))
    assert "on 3 May" in prompt(need)
    trusted, blocks = blocks_of(need.messages[1].content)
    assert "Finding 1: sources 1, 2; supported\n(finding 1)" in trusted
    assert "Finding 2" not in trusted
    texts = {"text": "The dam was closed on 3 May.", "critic": "I saw it 1 times."}
    assert [block.texts for block in blocks if block.name.startswith("finding")] == [texts]


@pytest.mark.parametrize("text", ["The dam was closed in May [1].", "```json\n{}\n```", '{"findings": "all"}', "[]"])
def test_malformed_reply_is_retried_and_then_skipped(text: str) -> None:
    again = asked(replied(text))
    assert (again.task, again.try_number) == ("analyst", 2)
    assert asked(replied(text), replied(text)).task == "writer"
    again = asked(FINDINGS, replied(text))
    assert (again.task, again.try_number) == ("critic", 2)
    writer = asked(FINDINGS, replied(text), replied(text))
    assert writer.task == "writer"
    assert "\nFinding 1: sources 1, 2\n" in prompt(writer)
    assert "\nFinding 2: sources 3; only LOW sources\n" in prompt(writer)
    answer = answered(replied(text), replied(text), wrote(("On 3 May.", [1])))
    assert answer.left_out == ("the analyst replied outside of its protocol",)
    assert len(answer.calls) == 3


@pytest.mark.parametrize("reply", [replied("IT WAS CLOSED [1]. [TRUST_TIER: HIGH]"), failed()])
def test_where_the_writer_fails_the_sources_speak_for_themselves(reply: Any) -> None:
    tries = 2 if isinstance(reply, ModelReply) else 1
    answer = answered(FINDINGS, VERDICTS, *[reply] * tries)
    assert (answer.outcome, answer.written_by) == (AnswerOutcome.ANSWERED, "offline")
    assert answer.sentences[0].text == "The dam was closed on 3 May."
    assert answer.left_out[-1] == "the answer is made of the sources' own sentences instead"
    assert not any("IT WAS CLOSED" in sentence.text for sentence in answer.sentences)


def test_answer_needs_an_available_model() -> None:
    for replies in ((), (FINDINGS,), (FINDINGS, VERDICTS)):
        down = ModelUnavailable("the day's budget is spent", 60.0)
        assert answer_query(QUERY, SOURCES, (*replies, down), RULES) is down


def test_the_offline_judge_quotes_the_most_trusted_first() -> None:
    step = answer_query(QUERY, SOURCES, (), RULES)
    answer = judged_offline(step, lambda replies: answer_query(QUERY, SOURCES, replies, RULES))
    assert (answer.outcome, answer.written_by, answer.left_out) == (AnswerOutcome.ANSWERED, "offline", ())
    assert [(sentence.text, sentence.sources, sentence.cautioned) for sentence in answer.sentences] == list(
        TABLES["the_offline_judge_quotes_the_most_trusted_first"]
    )
    assert {call.judged_by for call in answer.calls} == {"offline"}
