"""The conversation with a judge about one claim, replayed from its replies; the band and the quality of its score.

Tries, rounds of tools and searches are bounded, and replies are read strictly. A try that brings no score begins anew.
"""

from __future__ import annotations

import json
import math
import re
from collections.abc import Generator, Sequence
from dataclasses import dataclass, field
from typing import Any, Literal

from pydantic import ConfigDict, Field

from handlers.claims.wording import ClaimWording
from handlers.prompts.model_tasks import ModelTask
from handlers.prompts.template import Template, quoted, render
from schemas.claims import ClaimBand, ClaimExclusion, ClaimStatus, ExtractedClaim, ToolOutcome, ToolUse
from schemas.llm import LlmCall
from schemas.needs import Ask, AskModel, Message, SearchVectors, ToolCall, ToolSpec
from schemas.replies import ModelFailed, ModelReply, Reply, VectorHit, VectorsReply
from schemas.rules import Section

TASK = "decontextualize_claim"
ABSTENTIONS = {
    "unknown language": (ClaimStatus.UNKNOWN_LANGUAGE, "no word lists for the claim's language"),
    "undecided": (ClaimStatus.UNDECIDED, "the wording does not show whether who, when or where is missing"),
}
"""Replies of the offline judge without a score. From a model they are outside of the protocol."""
_NUMBER = re.compile(r"[ \t\r\n]{0,100}(0(?:\.[0-9]{1,20})?|1(?:\.0{1,20})?|\.[0-9]{1,20})[ \t\r\n]{0,100}")
_MOST_CALLS = 8
"""Calls of one reply that are answered."""
_MOST_USES = 40
_HIT_CHARACTERS = 500
_ID_CHARACTERS = 1000
_ARGUMENT_CHARACTERS = 4000


class ClaimifySection(Section):
    """Models of the steps that make claims."""

    decontextualization: str = Field(
        default="", max_length=200, description="Model that judges claims; empty: that of the task in model_tasks."
    )


class ModelSection(Section):
    """The ``model`` section (R-147)."""

    claimify: ClaimifySection = Field(default=ClaimifySection(), description="Models of the steps that make claims.")


class ToolMapping(Section):
    """A tool that a judge may call, as it is told of it (R-145)."""

    tool: Literal["vector_search"] = Field(description="What it does.")
    name: str = Field(pattern=r"^[A-Za-z0-9_-]{1,64}$", description="Under which name the model calls it.")
    description: str = Field(min_length=1, max_length=2000, description="What the model is told of it.")
    collection: Literal["utterances", "documents"] = Field(description="What is searched.")
    limit: int = Field(ge=1, le=50, description="Hits that the model is shown.")


class ToolsSection(Section):
    """The ``tools`` section (R-145)."""

    agent_tool_mappings: dict[str, tuple[ToolMapping, ...]] = Field(description="Tools by the role of their user.")


class ThresholdSection(Section):
    """The ``threshold`` section (C-28)."""

    claim_quality: float = Field(ge=0, le=1, description="Quality from which on a claim may be promoted.")


class Retries(Section):
    """As far as a claim's judgment depends on it; how patient the shell is changes no decision."""

    model_config = ConfigDict(extra="ignore", from_attributes=True)

    max_attempts: int = Field(default=3, ge=1, le=20, description="Tries in all, the first included (C-25).")


class ProcessingView(Section):
    """``processing.retries.max_attempts`` alone, of the shell's ``processing`` section."""

    model_config = ConfigDict(extra="ignore", from_attributes=True)

    retries: Retries = Field(default=Retries(), description="How often a score is asked for.")


class ClaimsSection(Section):
    """The ``claims`` section."""

    claim_characters: int = Field(ge=1, le=20_000, description="Of a claim that are judged.")
    source_characters: int = Field(ge=0, le=20_000, description="Of its source that are shown.")
    tool_rounds: int = Field(ge=0, le=3, description="Replies of one try that may be calls of tools.")
    searches: int = Field(ge=0, le=5, description="Searches for one claim at most, all tries together.")
    recorded: bool = Field(
        default=True,
        description="Whether each judged claim is recorded as an utterance, so that later claims find it in a search.",
    )
    wording: ClaimWording = Field(description="What the offline judge looks at.")


@dataclass(frozen=True, slots=True)
class Setting:
    """The configuration of a conversation; ``tools`` are those that the judge may call."""

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


def converse(claim: ExtractedClaim, replies: Sequence[Reply], setting: Setting) -> Ask | Verdict:
    """What comes after these replies: a question to the judge, a search, or the verdict (R-148 to R-157)."""
    if not any(sign.isalnum() for sign in claim.claim_text):
        return Verdict(None, ClaimStatus.NO_CLAIM, "there is no claim", 0, (), ())
    conversation = _Conversation(claim, setting).hold()
    try:
        need = next(conversation)
        for reply in replies:
            need = conversation.send(reply)
    except StopIteration as end:
        verdict: Verdict = end.value
        return verdict
    return Ask(need)


def utterance_id_of(claim: ExtractedClaim) -> str:
    """The id of the claim's utterance."""
    return f"claim:{claim.claim_id}"[:_ID_CHARACTERS]


def parse_score(text: str) -> float | None:
    r"""The score if a reply is a single number in [0, 1] and white space (R-154, C-29).

    >>> parse_score(" 0.75\n"), parse_score("1"), parse_score("0.7 or 0.8"), parse_score("NaN"), parse_score("1.01")
    (0.75, 1.0, None, None, None)
    """
    found = _NUMBER.fullmatch(text)
    return float(found[1]) if found else None


def band_of(score: float | None) -> ClaimBand:
    """The band of a score (R-151, C-26).

    >>> [band_of(score).value for score in (None, 0.0, 0.4, 0.7, 0.99, 1.0)]
    ['failed', 'poor', 'moderate', 'good', 'good', 'perfect']
    """
    if score is None:
        return ClaimBand.FAILED
    if score >= 1:
        return ClaimBand.PERFECT
    return ClaimBand.GOOD if score >= 0.7 else ClaimBand.MODERATE if score >= 0.4 else ClaimBand.POOR


def quality_of(entailed: float | None, coverage: float | None, decontextualization: float | None) -> float | None:
    """The geometric mean of the three scores, None if one is missing (R-153, C-28).

    >>> quality_of(0.9, 0.8, 0.75), quality_of(0.9, None, 0.75)
    (0.814325, None)
    """
    if entailed is None or coverage is None or decontextualization is None:
        return None
    return round(math.cbrt(entailed * coverage * decontextualization), 6)


def exclusion_of(score: float | None, quality: float | None, least: float) -> ClaimExclusion | None:
    """Why a claim may not be promoted; None if it may (R-152, C-27).

    >>> exclusion_of(0.8, 0.7, 0.7) is None, exclusion_of(None, None, 0.7).value
    (True, 'no_score')
    """
    if score is None:
        return ClaimExclusion.NO_SCORE
    if quality is None:
        return ClaimExclusion.INCOMPLETE_SCORES
    return ClaimExclusion.LOW_QUALITY if quality < least else None


_Score = tuple[float | None, ClaimStatus, str]
_Needs = AskModel | SearchVectors


@dataclass(slots=True)
class _Conversation:
    claim: ExtractedClaim
    setting: Setting
    searches: int = 0
    uses: list[ToolUse] = field(default_factory=list)
    calls: list[LlmCall] = field(default_factory=list)

    def hold(self) -> Generator[_Needs, Reply, Verdict]:
        for number in range(1, self.setting.most_tries + 1):
            score, status, detail = yield from self._try(number)
            if status not in (ClaimStatus.MALFORMED, ClaimStatus.MODEL_FAILED):
                break
        return Verdict(score, status, detail[:500], number, tuple(self.uses), tuple(self.calls))

    def _try(self, number: int) -> Generator[_Needs, Reply, _Score]:
        """Questions to the judge until its reply is no call of tools."""
        texts = {"claim_text": self._claim, "source_text": self.claim.source_text[: self._section.source_characters]}
        messages = self._opening(*texts.values())
        rounds = self._section.tool_rounds if self.setting.tools else 0
        while True:
            reply = yield AskModel(
                task=TASK,
                prompt_version=self.setting.template.version,
                messages=messages,
                facts={**texts, "wording": self.setting.wording},
                max_tokens=self.setting.task.max_tokens,
                temperature=self.setting.task.temperature,
                tools=tuple(map(_spec, self.setting.tools)) if rounds else (),
                try_number=number,
            )
            if isinstance(reply, ModelReply | ModelFailed):
                self.calls.append(reply.call)
            if not isinstance(reply, ModelReply):
                return None, ClaimStatus.MODEL_FAILED, reply.detail if isinstance(reply, ModelFailed) else ""
            if not (reply.tool_calls and rounds):
                return _read(reply)
            rounds -= 1
            calls = tuple(_bounded(call, place) for place, call in enumerate(reply.tool_calls[:_MOST_CALLS]))
            self._note("", ToolOutcome.OVER_LIMIT, times=len(reply.tool_calls) - len(calls))
            messages += (Message("assistant", reply.text[:_ARGUMENT_CHARACTERS], calls),)
            for call in calls:
                text = yield from self._answer(call)
                messages += (Message("tool", text, tool_call_id=call.id),)

    @property
    def _section(self) -> ClaimsSection:
        return self.setting.section

    @property
    def _claim(self) -> str:
        return self.claim.claim_text[: self._section.claim_characters]

    def _opening(self, claim: str, source: str) -> tuple[Message, ...]:
        told = [f"- `{tool.name}`: {tool.description}" for tool in self.setting.tools]
        tools = "\n".join(["\nYou may call these tools before you answer, or not:", *told, ""]) if told else ""
        return render(self.setting.template, {"tools": tools}, {"claim": claim, "source": source})

    def _answer(self, call: ToolCall) -> Generator[_Needs, Reply, str]:
        """What the judge is told about a call. A search that failed does not fail the claim (R-156)."""
        tool = next((tool for tool in self.setting.tools if tool.name == call.name), None)
        query = _query(call.arguments)
        hits: list[VectorHit] = []
        if tool is None:
            outcome, text = ToolOutcome.UNKNOWN_TOOL, "There is no such tool."
        elif not query:
            outcome, text = ToolOutcome.INVALID_ARGUMENTS, 'The arguments have to be {"query": "a text"}.'
        elif self.searches >= self._section.searches:
            outcome, text = ToolOutcome.OVER_LIMIT, "No more searches; judge by what you have."
        else:
            self.searches += 1
            reply = yield SearchVectors(tool.collection, query[: self._section.claim_characters], tool.limit)
            if isinstance(reply, VectorsReply):
                # The claim itself is in the collection if it was judged before.
                hits = [hit for hit in reply.hits if hit.payload.get("utterance_id") != utterance_id_of(self.claim)]
            if not isinstance(reply, VectorsReply):
                outcome, text = ToolOutcome.UNAVAILABLE, "The search is not available now; judge without it."
            elif not hits:
                outcome, text = ToolOutcome.NOTHING_FOUND, "Nothing was found; judge without it."
            else:
                outcome, text = ToolOutcome.FOUND, quoted(self.setting.template, "found", "\n".join(map(_shown, hits)))
        self._note(call.name, outcome, len(hits))
        return text

    def _note(self, name: str, outcome: ToolOutcome, hits: int = 0, times: int = 1) -> None:
        room = max(0, min(times, _MOST_USES - len(self.uses)))
        self.uses += [ToolUse(name=name.replace("\x00", ""), outcome=outcome, hits=hits)] * room


def _read(reply: ModelReply) -> _Score:
    if reply.call.judged_by == "offline" and reply.text in ABSTENTIONS:
        return None, *ABSTENTIONS[reply.text]
    if reply.tool_calls:
        return None, ClaimStatus.MALFORMED, "the reply wanted tools beyond the limit"
    if (score := parse_score(reply.text)) is None:
        return None, ClaimStatus.MALFORMED, "the reply was no single number in [0, 1]"
    return score, ClaimStatus.SUCCESS, ""


def _spec(tool: ToolMapping) -> ToolSpec:
    query = {"type": "string", "description": "The text whose like is looked for, usually the claim."}
    parameters = {"type": "object", "properties": {"query": query}, "required": ["query"]}
    return ToolSpec(tool.name, tool.description, parameters)


def _bounded(call: ToolCall, place: int) -> ToolCall:
    return ToolCall(call.id[:100] or f"call_{place}", call.name[:100], call.arguments[:_ARGUMENT_CHARACTERS])


def _query(arguments: str) -> str | None:
    """The text to look for; None if the arguments are not as specified."""
    try:
        value = json.loads(arguments)
    except (ValueError, RecursionError):
        return None
    query = value.get("query") if isinstance(value, dict) else None
    return query.strip() or None if isinstance(query, str) else None


def _shown(hit: VectorHit) -> str:
    kept = {name: str(hit.payload.get(name) or "") for name in ("source_id", "url", "text", "context")}
    source = (kept["source_id"] or kept["url"])[:100]
    context = f" (in: {kept['context'][:_HIT_CHARACTERS]})" if kept["context"] else ""
    return " ".join(f"- {hit.score:.2f} from {source}: {kept['text'][:_HIT_CHARACTERS]}{context}".split())
