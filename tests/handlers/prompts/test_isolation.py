"""In every prompt untrusted text is only in JSON strings, and no string has the form of our label."""

import re
from collections.abc import Callable, Mapping
from functools import cache
from typing import Any

import pytest
from hypothesis import given, settings

from handlers.classify_results import ClassifyResultsRules, classify_results
from handlers.decontextualize_claim import DecontextualizeClaimRules, decontextualize_claim, read_judgment
from handlers.evaluate_retrieval import EvaluateRetrievalRules, evaluate_retrieval
from handlers.evaluate_search import EvaluateSearchRules, evaluate_search
from handlers.judge_relevance import JudgeRelevanceRules, judge_relevance
from handlers.prompts import untrusted
from handlers.rank_results import RankResultsRules, rank_results
from handlers.reasoning.answer import AnswerRules
from handlers.reasoning.context import ROLES, Finding, Role, context_of, order_sources, role_messages, source_blocks
from schemas.claims import ExtractedClaim
from schemas.llm import CallOutcome, LlmCall
from schemas.needs import Ask, AskModel, Message, ToolCall
from schemas.outcome import Emit
from schemas.queries import RankingCandidate, RankingRequested
from schemas.relevance import RelevanceRequested
from schemas.replies import ModelReply, VectorHit, VectorsReply
from schemas.retrieval import ResultsClassified, RetrievalBatch, RetrievedContent
from tests.handlers.prompts.attacks import ANY_ATTACK, HONEST, attacks
from tests.handlers.reasoning.results import result
from tests.rendered import LABEL_LINE, blocks_of, label_forms, problems
from tests.rules import PROMPTS, shipped_rules
from tests.samples import instance
from tests.tables import tables

CALL = LlmCall(judged_by="model", model="m", prompt_version="p", temperature=0.0, outcome=CallOutcome.OK)
LABELS = ("HIGH", "MEDIUM", "LOW")
_rules = cache(shipped_rules)


def prompts_of(task: str, text: str) -> list[str]:
    """The prompts of a task in which every untrusted field is ``text``."""
    return _PROMPTS[task](text)


def _asked(answered: Any) -> AskModel:
    assert isinstance(answered, Ask)
    assert isinstance(answered.need, AskModel)
    return answered.need


def _shown(messages: tuple[Message, ...]) -> list[str]:
    return [message.content for message in messages if message.role != "assistant"]


def _batch(text: str) -> RetrievalBatch:
    first = RetrievedContent(url="https://a.example/1", title="", content="", cts_score=10)
    hostile = first.model_copy(
        update={"url": "https://a.example/" + text.replace("\0", ""), "title": text, "content": text}
    )
    other = RetrievedContent(url="https://b.example/1", title="Dam", content="The dam was closed in May.", cts_score=90)
    batch = RetrievalBatch(batch_id="b", query="dam", goal="dam", retrieved_content=())
    fields = {"query": f"dam {text}", "goal": f"dam {text}", "required_fields": (text, "price")}
    return batch.model_copy(update=fields | {"retrieved_content": (hostile, other)})


def _retrieval(text: str) -> list[str]:
    classified = instance(Emit, classify_results(_batch(text), _rules(ClassifyResultsRules)))
    [event] = [event for event in classified.events if isinstance(event, ResultsClassified)]
    return _shown(_asked(evaluate_retrieval(event, _rules(EvaluateRetrievalRules))).messages)


def _search(text: str) -> list[str]:
    return _shown(_asked(evaluate_search(_batch(text), _rules(EvaluateSearchRules))).messages)


def _relevance(text: str) -> list[str]:
    source = RelevanceRequested(request_id="r", query="dam", url="https://a.example/1", title="Dam", content="Dam.")
    hostile = source.model_copy(update={"query": text, "title": f"Dam {text}", "content": f"The dam is closed. {text}"})
    return _shown(_asked(judge_relevance(hostile, _rules(JudgeRelevanceRules))).messages)


def _claim(text: str) -> list[str]:
    claim = ExtractedClaim(claim_id="c", claim_text="It opened.", source_text="")
    claim = claim.model_copy(update={"claim_text": f"It opened. {text}", "source_text": text})
    rules = _rules(DecontextualizeClaimRules)
    first = _asked(decontextualize_claim(claim, rules))
    call = ModelReply("", (ToolCall("1", first.tools[0].name, '{"query": "dam"}'),), CALL)
    hits = VectorsReply((VectorHit(0.9, {"source_id": text, "text": text, "context": text}),))
    return _shown(_asked(read_judgment(claim, (call, hits), rules)).messages)


def _ranking(text: str) -> list[str]:
    candidate = RankingCandidate(url="https://a.example/1", title="Dam", content="The dam is closed.")
    hostile = candidate.model_copy(
        update={"title": f"Dam {text}", "content": f"dam {text}", "date": text[:100], "publisher": text[:1000]}
    )
    other = candidate.model_copy(update={"url": "https://b.example/1"})
    request = RankingRequested(request_id="r", query="dam").model_copy(
        update={"query": f"dam {text}"[:4000], "candidates": (hostile, other)}
    )
    return _shown(_asked(rank_results(request, _rules(RankResultsRules))).messages)


def _role(role: Role, text: str) -> list[str]:
    rules = _rules(AnswerRules)
    findings = [Finding(text, (1, 2), "supported", text), Finding("The dam is closed.", (3,))]
    return _shown(
        role_messages(role, text, _sources(text), () if role == "analyst" else findings, rules.reasoning, rules.prompts)
    )


def _context(text: str) -> list[str]:
    return [context_of([*source_blocks(_sources(text), "en", _rules(AnswerRules).reasoning)])]


def _sources(text: str) -> Any:
    hostile = {"title": text, "passage": text, "publisher": text, "date": text, "url": f"https://{text}.example/{text}"}
    results = [result(rank, label) for rank, label in enumerate(LABELS, 1)]
    results[2] = results[2].model_copy(update=hostile)
    return order_sources(results)


_PROMPTS: Mapping[str, Callable[[str], list[str]]] = {
    "evaluate_retrieval": _retrieval,
    "evaluate_search": _search,
    "judge_relevance": _relevance,
    "decontextualize_claim": _claim,
    "rank_results": _ranking,
    **{role: lambda text, role=role: _role(role, text) for role in ROLES},  # type: ignore[misc]
    "context": _context,
}
TASKS = tuple(_PROMPTS)


TABLES = tables(__file__)

MARK = "zebrafinch"
"""A word that only the untrusted text has."""
ATTACKS = [*attacks()]
SAMPLE = [text for _, text in ATTACKS[:: len(ATTACKS) // 40]] + [text for name, text in ATTACKS[-33:]]
FIELDS = TABLES["fields"]
"""Where a prompt shows the untrusted text."""
LABELLED = {
    "evaluate_retrieval": {"source 1": "LOW", "source 2": "MEDIUM"},
    **{
        task: {"source 1": "HIGH", "source 2": "MEDIUM", "source 3": "LOW"}
        for task in ("analyst", "critic", "writer", "context")
    },
}


def _all(task: str, text: str) -> tuple[str, dict[str, str], dict[str, str]]:
    """The trusted part of a task's prompts, the untrusted texts by field, and the label before each block."""
    parts: list[str] = []
    texts: dict[str, str] = {}
    labels: dict[str, str] = {}
    for prompt in prompts_of(task, text):
        trusted, blocks = blocks_of(prompt)
        parts.append(trusted)
        for block in blocks:
            texts |= {f"{block.name} {field}".strip(): shown for field, shown in block.texts.items()}
            if found := LABEL_LINE.fullmatch(block.before):
                labels[block.name] = found[1]
    return "\n".join(parts), texts, labels


def _problems(task: str, text: str) -> list[str]:
    return [problem for prompt in prompts_of(task, text) for problem in problems(prompt)]


def test_every_prompt_is_tested() -> None:
    assert {path.stem for path in PROMPTS.glob("*.md")} == set(TASKS) - {"context"}


@pytest.mark.parametrize("task", TASKS)
def test_untrusted_text_is_inside_blocks_and_labels_are_outside(task: str) -> None:
    trusted, texts, labels = _all(task, f"{MARK} {MARK}")
    outside = [line for line in trusted.splitlines() if MARK in line]
    assert all(LABEL_LINE.fullmatch(line) for line in outside), outside
    assert {field for field, text in texts.items() if MARK in text} >= FIELDS[task]
    assert labels == LABELLED.get(task, {})


@pytest.mark.parametrize("task", TASKS)
def test_no_attack_has_the_form_of_our_label(task: str) -> None:
    labels = _all(task, MARK)[2]
    for text in SAMPLE:
        assert _problems(task, text) == [], text
        assert _all(task, text)[2] == labels, text


@pytest.mark.parametrize("task", TASKS)
@settings(max_examples=25)
@given(text=ANY_ATTACK)
def test_no_text_leaves_its_block(task: str, text: str) -> None:
    assert _problems(task, f"{MARK} {text}") == []


@pytest.mark.parametrize("task", TASKS)
def test_honest_text_loses_no_word(task: str) -> None:
    for passage in HONEST:
        _, texts, _ = _all(task, passage)
        words = re.findall(r"\w+", passage)
        shown = [text for field, text in texts.items() if re.findall(r"\w+", text)[-len(words) :] == words]
        assert len(shown) >= 1 + ("text" in " ".join(FIELDS[task])), (passage, texts)


def test_no_generated_attack_has_the_form_of_our_label() -> None:
    assert len(ATTACKS) > 5_000
    assert [name for name, text in ATTACKS if [*label_forms(untrusted.sanitize(text))]] == []
    assert sum(any(label_forms(text)) for _, text in ATTACKS) > 0.7 * len(ATTACKS)
