"""The conversation with a judge about one claim, replayed from its replies: where it stands and what comes next.

The claim, the rules and all replies so far go in; the next question comes out, or how it ended. Tries, rounds of tools
and searches are bounded, and nothing that a judge or a tool says is believed beyond its form.
"""

from __future__ import annotations

import json
from collections.abc import Sequence
from dataclasses import dataclass, field, replace
from typing import Any

from handlers.claims.quality import parse_score
from handlers.claims.sections import ClaimsSection, ToolMapping
from handlers.prompts.model_tasks import ModelTask
from handlers.prompts.template import Template, quoted, render
from schemas.claims import ClaimStatus, ExtractedClaim, ToolOutcome, ToolUse
from schemas.llm import LlmCall
from schemas.needs import Ask, AskModel, Message, SearchVectors, ToolCall, ToolSpec
from schemas.replies import ModelFailed, ModelReply, Reply, VectorHit, VectorsReply, VectorsUnavailable

TASK = "decontextualize_claim"
ABSTENTIONS = {
    "unknown language": (ClaimStatus.UNKNOWN_LANGUAGE, "no word lists for the claim's language"),
    "undecided": (ClaimStatus.UNDECIDED, "the wording does not show whether who, when or where is missing"),
}
"""What the offline judge replies where it can't judge; from a model it is a reply outside of the protocol."""
_MOST_CALLS = 8
"""Calls of one reply that are answered; what a storm of them says beyond is left out."""
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
    signs: dict[str, Any]


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
class _State:
    messages: tuple[Message, ...]
    tries: int = 1
    rounds: int = 0
    searches: int = 0
    open_calls: list[ToolCall] = field(default_factory=list)
    uses: list[ToolUse] = field(default_factory=list)
    calls: list[LlmCall] = field(default_factory=list)


def converse(claim: ExtractedClaim, replies: Sequence[Reply], setting: Setting) -> Ask | Verdict:
    """What comes after these replies: a question to the judge, a search, or the verdict (R-148 to R-157).

    A text without a letter or a digit states nothing, and nobody is asked about it.
    """
    if not any(sign.isalnum() for sign in claim.claim_text):
        return Verdict(None, ClaimStatus.NO_CLAIM, "there is no claim", 0, (), ())
    state = _State(_opening(claim, setting))
    step: Ask | Verdict = _ask(claim, state, setting)
    for reply in replies:
        if isinstance(step, Verdict):
            break
        if isinstance(reply, ModelReply | ModelFailed):
            state.calls.append(reply.call)
        if isinstance(reply, ModelReply):
            step = _after_reply(claim, reply, state, setting)
        elif isinstance(reply, ModelFailed):
            step = _failed(claim, ClaimStatus.MODEL_FAILED, reply.detail, state, setting)
        elif isinstance(reply, VectorsReply | VectorsUnavailable):
            _hear(claim, state.open_calls.pop(0), reply, state, setting)
            step = _next(claim, state, setting)
    return step


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


def _ask(claim: ExtractedClaim, state: _State, setting: Setting) -> Ask:
    section = setting.section
    tools = _offered(setting) if state.rounds < section.tool_rounds else ()
    return Ask(
        AskModel(
            task=TASK,
            prompt_version=setting.template.version,
            messages=state.messages,
            facts={
                "claim_text": claim.claim_text[: section.claim_characters],
                "source_text": claim.source_text[: section.source_characters],
                "signs": setting.signs,
            },
            max_tokens=setting.task.max_tokens,
            temperature=setting.task.temperature,
            tools=tuple(_spec(tool) for tool in tools),
            try_number=state.tries,
        )
    )


def _spec(tool: ToolMapping) -> ToolSpec:
    query = {"type": "string", "description": "The text whose like is looked for, usually the claim."}
    parameters = {"type": "object", "properties": {"query": query}, "required": ["query"]}
    return ToolSpec(tool.name, tool.description, parameters)


def _after_reply(claim: ExtractedClaim, reply: ModelReply, state: _State, setting: Setting) -> Ask | Verdict:
    if reply.tool_calls and _offered(setting) and state.rounds < setting.section.tool_rounds:
        state.rounds += 1
        said = tuple(
            replace(
                call,
                id=call.id[:100] or f"call_{place}",
                name=call.name[:100],
                arguments=call.arguments[:_ARGUMENT_CHARACTERS],
            )
            for place, call in enumerate(reply.tool_calls[:_MOST_CALLS])
        )
        state.messages += (Message("assistant", reply.text[:_ARGUMENT_CHARACTERS], said),)
        state.open_calls = list(said)
        _note(state, "", ToolOutcome.OVER_LIMIT, times=len(reply.tool_calls) - len(said))
        return _next(claim, state, setting)
    if reply.call.judged_by == "offline" and reply.text in ABSTENTIONS:
        return _verdict(None, *ABSTENTIONS[reply.text], state)
    score = None if reply.tool_calls else parse_score(reply.text)
    if score is not None:
        return _verdict(score, ClaimStatus.SUCCESS, "", state)
    what = "wanted tools beyond the limit" if reply.tool_calls else "was no single number in [0, 1]"
    return _failed(claim, ClaimStatus.MALFORMED, f"the reply {what}", state, setting)


def _next(claim: ExtractedClaim, state: _State, setting: Setting) -> Ask | Verdict:
    """Answers the calls that need nothing of the world, up to one that does; then the judge is asked again."""
    tools = {tool.name: tool for tool in setting.tools}
    while state.open_calls:
        call = state.open_calls[0]
        tool, query = tools.get(call.name), _query(call.arguments)
        if tool and query and state.searches < setting.section.searches:
            state.searches += 1
            text = query[: setting.section.claim_characters]
            return Ask(SearchVectors(tool.collection, text, tool.limit))
        state.open_calls.pop(0)
        if tool is None:
            _answer(call, ToolOutcome.UNKNOWN_TOOL, "There is no such tool.", state)
        elif not query:
            _answer(call, ToolOutcome.INVALID_ARGUMENTS, 'The arguments have to be {"query": "a text"}.', state)
        else:
            _answer(call, ToolOutcome.OVER_LIMIT, "No more searches; judge by what you have.", state)
    return _ask(claim, state, setting)


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


def _hear(
    claim: ExtractedClaim, call: ToolCall, reply: VectorsReply | VectorsUnavailable, state: _State, setting: Setting
) -> None:
    """Tells the judge what a search found; a search that failed does not fail the claim (R-156).

    A claim that was judged before is in the collection; that it was said once says nothing of it.
    """
    if isinstance(reply, VectorsUnavailable):
        _answer(call, ToolOutcome.UNAVAILABLE, "The search is not available now; judge without it.", state)
        return
    hits = [hit for hit in reply.hits if hit.payload.get("utterance_id") != utterance_id_of(claim)]
    if not hits:
        _answer(call, ToolOutcome.NOTHING_FOUND, "Nothing was found; judge without it.", state)
    else:
        text = "\n".join(_shown(hit) for hit in hits)
        _answer(call, ToolOutcome.FOUND, quoted(setting.template, "found", text), state, len(hits))


def _shown(hit: VectorHit) -> str:
    kept = {name: str(hit.payload.get(name) or "") for name in ("source_id", "url", "text", "context")}
    source = (kept["source_id"] or kept["url"])[:100]
    context = f" (in: {kept['context'][:_HIT_CHARACTERS]})" if kept["context"] else ""
    return " ".join(f"- {hit.score:.2f} from {source}: {kept['text'][:_HIT_CHARACTERS]}{context}".split())


def _answer(call: ToolCall, outcome: ToolOutcome, text: str, state: _State, hits: int = 0) -> None:
    state.messages += (Message("tool", text, tool_call_id=call.id),)
    _note(state, call.name, outcome, hits)


def _note(state: _State, name: str, outcome: ToolOutcome, hits: int = 0, times: int = 1) -> None:
    room = max(0, min(times, _MOST_USES - len(state.uses)))
    state.uses += [ToolUse(name=name.replace("\x00", ""), outcome=outcome, hits=hits)] * room


def _failed(claim: ExtractedClaim, status: ClaimStatus, detail: str, state: _State, setting: Setting) -> Ask | Verdict:
    """A try that brought no score; the next one begins anew."""
    if state.tries >= setting.most_tries:
        return _verdict(None, status, detail, state)
    state.tries += 1
    state.rounds = 0
    state.open_calls = []
    state.messages = _opening(claim, setting)
    return _ask(claim, state, setting)


def _verdict(score: float | None, status: ClaimStatus, detail: str, state: _State) -> Verdict:
    return Verdict(score, status, detail[:500], state.tries, tuple(state.uses), tuple(state.calls))
