"""The conversation with a judge about one claim, replayed from its replies: where it stands and what comes next.

The claim, the rules and all replies so far go in; the next question comes out, or how it ended. Tries, rounds of tools
and searches are bounded, and nothing that a judge or a tool says is believed beyond its form.
"""

from __future__ import annotations

import json
from collections.abc import Generator, Sequence
from dataclasses import dataclass, field
from typing import Any

from handlers.claims.quality import parse_score
from handlers.claims.sections import ClaimsSection, ToolMapping
from handlers.prompts.model_tasks import ModelTask
from handlers.prompts.template import Template, quoted, render
from schemas.claims import ClaimStatus, ExtractedClaim, ToolOutcome, ToolUse
from schemas.llm import LlmCall
from schemas.needs import Ask, AskModel, Message, SearchVectors, ToolCall, ToolSpec
from schemas.replies import ModelFailed, ModelReply, Reply, VectorHit, VectorsReply

TASK = "decontextualize_claim"
ABSTENTIONS = {
    "unknown language": (ClaimStatus.UNKNOWN_LANGUAGE, "no word lists for the claim's language"),
    "undecided": (ClaimStatus.UNDECIDED, "the wording does not show whether who, when or where is missing"),
}
"""What the offline judge replies where it can't judge; from a model it is a reply outside of the protocol."""
_MOST_CALLS = 8
"""Calls of one reply that are answered."""
_MOST_USES = 40
_HIT_CHARACTERS = 500
_ID_CHARACTERS = 1000
_ARGUMENT_CHARACTERS = 4000


@dataclass(frozen=True, slots=True)
class Setting:
    """What a conversation is held under."""

    template: Template
    task: ModelTask
    tools: tuple[ToolMapping, ...]
    section: ClaimsSection
    most_tries: int
    wording: dict[str, Any]


@dataclass(frozen=True, slots=True)
class Verdict:
    """How a conversation ended; ``score`` is None unless ``status`` is ``success``."""

    score: float | None
    status: ClaimStatus
    detail: str
    tries: int
    uses: tuple[ToolUse, ...]
    calls: tuple[LlmCall, ...]


@dataclass(slots=True)
class _Record:
    """What the conversation has used so far."""

    searches: int = 0
    uses: list[ToolUse] = field(default_factory=list)
    calls: list[LlmCall] = field(default_factory=list)

    def note(self, name: str, outcome: ToolOutcome, hits: int = 0, times: int = 1) -> None:
        """Records a tool call, up to a limit."""
        room = max(0, min(times, _MOST_USES - len(self.uses)))
        self.uses += [ToolUse(name=name.replace("\x00", ""), outcome=outcome, hits=hits)] * room


def converse(claim: ExtractedClaim, replies: Sequence[Reply], setting: Setting) -> Ask | Verdict:
    """What comes after these replies: a question to the judge, a search, or the verdict (R-148 to R-157).

    A text without a letter or a digit has no claim, so the judge is not asked.
    """
    if not any(sign.isalnum() for sign in claim.claim_text):
        return Verdict(None, ClaimStatus.NO_CLAIM, "there is no claim", 0, (), ())
    conversation = _conversation(claim, setting)
    try:
        need = next(conversation)
        for reply in replies:
            need = conversation.send(reply)
    except StopIteration as end:
        verdict: Verdict = end.value
        return verdict
    return Ask(need)


def _conversation(claim: ExtractedClaim, setting: Setting) -> Generator[AskModel | SearchVectors, Reply, Verdict]:
    record = _Record()
    for number in range(1, setting.most_tries + 1):
        score, status, detail = yield from _try(claim, number, record, setting)
        if status not in (ClaimStatus.MALFORMED, ClaimStatus.MODEL_FAILED):
            break
    return Verdict(score, status, detail[:500], number, tuple(record.uses), tuple(record.calls))


def _try(
    claim: ExtractedClaim, number: int, record: _Record, setting: Setting
) -> Generator[AskModel | SearchVectors, Reply, tuple[float | None, ClaimStatus, str]]:
    """One try, which begins anew: questions to the judge until it says something else than calls of tools."""
    messages = _opening(claim, setting)
    rounds = setting.section.tool_rounds if _offered(setting) else 0
    while True:
        reply = yield _question(claim, messages, setting, number, with_tools=rounds > 0)
        if isinstance(reply, ModelReply | ModelFailed):
            record.calls.append(reply.call)
        if not isinstance(reply, ModelReply):
            return None, ClaimStatus.MODEL_FAILED, reply.detail if isinstance(reply, ModelFailed) else ""
        if not (reply.tool_calls and rounds):
            return _read(reply)
        rounds -= 1
        calls = _bounded(reply.tool_calls)
        record.note("", ToolOutcome.OVER_LIMIT, times=len(reply.tool_calls) - len(calls))
        messages += (Message("assistant", reply.text[:_ARGUMENT_CHARACTERS], calls),)
        for call in calls:
            text = yield from _answer(claim, call, record, setting)
            messages += (Message("tool", text, tool_call_id=call.id),)


def _read(reply: ModelReply) -> tuple[float | None, ClaimStatus, str]:
    """What a reply without a round of tools says."""
    if reply.call.judged_by == "offline" and reply.text in ABSTENTIONS:
        return None, *ABSTENTIONS[reply.text]
    if reply.tool_calls:
        return None, ClaimStatus.MALFORMED, "the reply wanted tools beyond the limit"
    if (score := parse_score(reply.text)) is None:
        return None, ClaimStatus.MALFORMED, "the reply was no single number in [0, 1]"
    return score, ClaimStatus.SUCCESS, ""


def _opening(claim: ExtractedClaim, setting: Setting) -> tuple[Message, ...]:
    section = setting.section
    told = [f"- `{tool.name}`: {tool.description}" for tool in _offered(setting)]
    tools = "\n".join(["\nYou may call these tools before you answer, or not:", *told, ""]) if told else ""
    return render(
        setting.template,
        {"tools": tools},
        {
            "claim": claim.claim_text[: section.claim_characters],
            "source": claim.source_text[: section.source_characters],
        },
    )


def _offered(setting: Setting) -> tuple[ToolMapping, ...]:
    return setting.tools if setting.section.tool_rounds and setting.section.searches else ()


def _question(
    claim: ExtractedClaim, messages: tuple[Message, ...], setting: Setting, number: int, *, with_tools: bool
) -> AskModel:
    section = setting.section
    return AskModel(
        task=TASK,
        prompt_version=setting.template.version,
        messages=messages,
        facts={
            "claim_text": claim.claim_text[: section.claim_characters],
            "source_text": claim.source_text[: section.source_characters],
            "wording": setting.wording,
        },
        max_tokens=setting.task.max_tokens,
        temperature=setting.task.temperature,
        tools=tuple(_spec(tool) for tool in _offered(setting) if with_tools),
        try_number=number,
    )


def _spec(tool: ToolMapping) -> ToolSpec:
    query = {"type": "string", "description": "The text whose like is looked for, usually the claim."}
    parameters = {"type": "object", "properties": {"query": query}, "required": ["query"]}
    return ToolSpec(tool.name, tool.description, parameters)


def _bounded(calls: Sequence[ToolCall]) -> tuple[ToolCall, ...]:
    return tuple(
        ToolCall(call.id[:100] or f"call_{place}", call.name[:100], call.arguments[:_ARGUMENT_CHARACTERS])
        for place, call in enumerate(calls[:_MOST_CALLS])
    )


def _answer(
    claim: ExtractedClaim, call: ToolCall, record: _Record, setting: Setting
) -> Generator[SearchVectors, Reply, str]:
    """What the judge is told about a call. A search that failed does not fail the claim (R-156)."""
    tool = next((tool for tool in setting.tools if tool.name == call.name), None)
    query = _query(call.arguments)
    hits: list[VectorHit] = []
    if tool is None:
        outcome, text = ToolOutcome.UNKNOWN_TOOL, "There is no such tool."
    elif not query:
        outcome, text = ToolOutcome.INVALID_ARGUMENTS, 'The arguments have to be {"query": "a text"}.'
    elif record.searches >= setting.section.searches:
        outcome, text = ToolOutcome.OVER_LIMIT, "No more searches; judge by what you have."
    else:
        record.searches += 1
        reply = yield SearchVectors(tool.collection, query[: setting.section.claim_characters], tool.limit)
        if isinstance(reply, VectorsReply):
            # The claim itself is in the collection if it was judged before.
            hits = [hit for hit in reply.hits if hit.payload.get("utterance_id") != utterance_id_of(claim)]
        if not isinstance(reply, VectorsReply):
            outcome, text = ToolOutcome.UNAVAILABLE, "The search is not available now; judge without it."
        elif not hits:
            outcome, text = ToolOutcome.NOTHING_FOUND, "Nothing was found; judge without it."
        else:
            outcome, text = ToolOutcome.FOUND, quoted(setting.template, "found", "\n".join(map(_shown, hits)))
    record.note(call.name, outcome, len(hits))
    return text


def _query(arguments: str) -> str | None:
    """The text to look for; None where the arguments are none."""
    try:
        value = json.loads(arguments)
    except (ValueError, RecursionError):
        return None
    query = value.get("query") if isinstance(value, dict) else None
    return query.strip() or None if isinstance(query, str) else None


def utterance_id_of(claim: ExtractedClaim) -> str:
    """Under which id a claim is recorded as an utterance."""
    return f"claim:{claim.claim_id}"[:_ID_CHARACTERS]


def _shown(hit: VectorHit) -> str:
    kept = {name: str(hit.payload.get(name) or "") for name in ("source_id", "url", "text", "context")}
    source = (kept["source_id"] or kept["url"])[:100]
    context = f" (in: {kept['context'][:_HIT_CHARACTERS]})" if kept["context"] else ""
    return " ".join(f"- {hit.score:.2f} from {source}: {kept['text'][:_HIT_CHARACTERS]}{context}".split())
