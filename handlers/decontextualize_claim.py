"""Can a claim be understood and checked without its source? A judge answers with one number.

In: ``ExtractedClaim``. The judge may search for similar claims first. Out: ``ClaimEvaluated``: the score's band, the
claim's quality, and whether it may be promoted; and ``UtteranceRecorded``, so that later claims find this one.

Tries, rounds of tools and searches are bounded. A reply that is no single number is a failed try, and the next try
begins anew. If all tries fail, or the rules that decide without a model know no answer, the score is null.
"""

from __future__ import annotations

import json
import math
import re
from collections.abc import Generator
from dataclasses import dataclass, field
from functools import cached_property
from typing import Literal

from pydantic import ConfigDict, Field

from handlers.claims.wording import ClaimBands, ClaimsSection, Features, features_of, score_of
from handlers.prompts.template import ModelTasks, Prompts, quoted, render
from handlers.prompts.untrusted import cleaned, sanitize
from handlers.text.patterns import Patterns
from schemas.claims import (
    ClaimBand,
    ClaimEvaluated,
    ClaimExclusion,
    ClaimStatus,
    ExtractedClaim,
    ToolOutcome,
    ToolUse,
    UtteranceRecorded,
)
from schemas.llm import LlmCall
from schemas.needs import Ask, AskModel, Message, SearchVectors, ToolCall, ToolSpec
from schemas.outcome import Emit, Outcome
from schemas.replies import ModelFailed, ModelReply, ModelUnavailable, Reply, VectorHit, VectorsReply
from schemas.rules import Rules, Section

ROLE = "decontextualization_agent"
"""The role whose tools ``tools.agent_tool_mappings`` names (R-145)."""
MOST_ASKS = 20 * (3 + 1) + 5
"""As many as the configuration may allow: questions of every try, and all searches."""
TASK = "decontextualize_claim"
ABSTENTIONS = (ClaimStatus.UNKNOWN_LANGUAGE, ClaimStatus.UNDECIDED)
"""Replies of the offline judge without a score. From a model they are outside of the protocol."""
_NO_STATEMENT = "it states nothing: a question, an order, or no subject and no verb"
_NUMBER = re.compile(r"[ \t\r\n]{0,100}(0(?:\.[0-9]{1,20})?|1(?:\.0{1,20})?|\.[0-9]{1,20})[ \t\r\n]{0,100}")
_MOST_CALLS, _MOST_USES = 8, 40
"""Calls of one reply that are answered; uses of tools that the event names."""
_SUMMED = ("attempts", "latency_ms", "prompt_tokens", "completion_tokens")
_HIT_CHARACTERS, _ID_CHARACTERS, _ARGUMENT_CHARACTERS = 500, 1000, 4000

_Score = tuple[float | None, ClaimStatus, str]
_Needs = AskModel | SearchVectors


class ClaimifySection(Section):
    """Models of the steps that make claims."""

    decontextualization: str = Field(
        default="", max_length=200, description="Model that judges claims; empty: that of the task in model_tasks."
    )


class ModelSection(Section):
    """The ``model`` section (R-147)."""

    claimify: ClaimifySection = Field(default=ClaimifySection(), description="Models of the steps that make claims.")

    def of_task(self, task: str) -> str:
        """The model that this section names for a task; "" if it names none."""
        return {"decontextualize_claim": self.claimify.decontextualization}.get(task, "")


class ToolMapping(Section):
    """A tool that a judge may call, and its description for the model (R-145)."""

    tool: Literal["vector_search"] = Field(description="What it does.")
    name: str = Field(pattern=r"^[A-Za-z0-9_-]{1,64}$", description="Under which name the model calls it.")
    description: str = Field(min_length=1, max_length=2000, description="The description that the model gets.")
    collection: Literal["utterances", "documents"] = Field(description="What is searched.")
    limit: int = Field(ge=1, le=50, description="Hits that the model is shown.")
    least_similarity: float = Field(default=0.3, ge=0, le=1, description="Cosine below which a hit is not shown.")


class ToolsSection(Section):
    """The ``tools`` section (R-145)."""

    agent_tool_mappings: dict[str, tuple[ToolMapping, ...]] = Field(description="Tools by the role of their user.")


class ThresholdSection(Section):
    """The ``threshold`` section (C-28)."""

    claim_quality: float = Field(ge=0, le=1, description="Quality from which on a claim may be promoted.")


class Retries(Section):
    """As far as a claim's judgment depends on it; how patient the shell is changes no decision."""

    model_config = ConfigDict(extra="ignore", from_attributes=True)

    max_attempts: int = Field(default=3, ge=1, le=20, description="Tries in all, the first included.")


class ProcessingView(Section):
    """``processing.retries.max_attempts`` alone, of the shell's ``processing`` section."""

    model_config = ConfigDict(extra="ignore", from_attributes=True)

    retries: Retries = Field(default=Retries(), description="How often a score is asked for.")


class DecontextualizeClaimRules(Rules):
    """Everything that ``decontextualize_claim`` decides by."""

    claims: ClaimsSection
    model: ModelSection
    tools: ToolsSection
    threshold: ThresholdSection
    processing: ProcessingView = ProcessingView()
    model_tasks: ModelTasks
    prompts: Prompts
    patterns: Patterns

    @cached_property
    def judge_tools(self) -> tuple[ToolMapping, ...]:
        """The tools that the judge may call."""
        may_search = self.claims.tool_rounds > 0 and self.claims.searches > 0
        return self.tools.agent_tool_mappings.get(ROLE, ()) if may_search else ()

    @cached_property
    def small_words(self) -> dict[str, frozenset[str]]:
        """Frequent words by language, which tell the languages apart."""
        known = (pair for pack in self.patterns.values() for pair in pack.small_words.items())
        return {language: frozenset(words) for language, words in known}

    def read(self, claim: ExtractedClaim) -> Features | None:
        """What the wording of a claim shows; None without word lists for its language."""
        text, source = (
            claim.claim_text[: self.claims.claim_characters],
            claim.source_text[: self.claims.source_characters],
        )
        return features_of(text, source, self.claims.wording, self.small_words)


def decontextualize_claim(claim: ExtractedClaim, rules: DecontextualizeClaimRules) -> Outcome | Ask:
    """Asks the judge about a claim (R-140, R-141, R-143, R-150)."""
    return _outcome(claim, (), rules)


def read_judgment(claim: ExtractedClaim, replies: tuple[Reply, ...], rules: DecontextualizeClaimRules) -> Outcome | Ask:
    """Continues with the replies of the judge and of its searches (R-142, R-144, R-148 to R-157).

    If the provider is down, the claim is retried later.
    """
    last = replies[-1]
    if isinstance(last, ModelUnavailable):
        return last.retry()
    return _outcome(claim, replies, rules)


def _outcome(claim: ExtractedClaim, replies: tuple[Reply, ...], rules: DecontextualizeClaimRules) -> Emit | Ask:
    conversation = _Conversation(claim, rules)
    if not any(sign.isalnum() for sign in claim.claim_text):
        return Emit((conversation.evaluated(None, ClaimStatus.NO_CLAIM, "there is no claim", 0),))
    if conversation.wording and not conversation.wording.is_claim:
        return Emit((conversation.evaluated(None, ClaimStatus.NO_CLAIM, _NO_STATEMENT, 0),))
    needs = conversation.hold()
    try:
        need = next(needs)
        for reply in replies:
            need = needs.send(reply)
    except StopIteration as end:
        evaluated: ClaimEvaluated = end.value
        return Emit((evaluated, _recorded(claim, rules)) if rules.claims.recorded else (evaluated,))
    return Ask(need)


def _recorded(claim: ExtractedClaim, rules: DecontextualizeClaimRules) -> UtteranceRecorded:
    """The claim for the collection that claims are compared with (R-144, C-24): always under the same id."""
    return UtteranceRecorded(
        utterance_id=_utterance_id_of(claim),
        text=claim.claim_text[: rules.claims.claim_characters],
        source_id=str(claim.source_id or ""),
        context=claim.source_text[: rules.claims.source_characters] or None,
    )


def _utterance_id_of(claim: ExtractedClaim) -> str:
    return f"claim:{claim.claim_id}"[:_ID_CHARACTERS]


@dataclass
class _Conversation:
    """The conversation with a judge about one claim; it is replayed from its replies."""

    claim: ExtractedClaim
    rules: DecontextualizeClaimRules
    searches: int = 0
    uses: list[ToolUse] = field(default_factory=list)
    calls: list[LlmCall] = field(default_factory=list)

    @cached_property
    def wording(self) -> Features | None:
        """What the wording shows."""
        return self.rules.read(self.claim)

    def hold(self) -> Generator[_Needs, Reply, ClaimEvaluated]:
        for number in range(1, self.rules.processing.retries.max_attempts + 1):
            score, status, detail = yield from self._try(number)
            if status not in (ClaimStatus.MALFORMED, ClaimStatus.MODEL_FAILED):
                break
        return self.evaluated(score, status, detail, number)

    def evaluated(self, score: float | None, status: ClaimStatus, detail: str, tries: int) -> ClaimEvaluated:
        quality = quality_of(self.claim.entailed_score, self.claim.coverage_score, score)
        band = band_of(score, self.rules.claims.bands)
        excluded = exclusion_of(band, quality, self.rules.threshold.claim_quality)
        return ClaimEvaluated(
            claim_id=self.claim.claim_id,
            source_id=self.claim.source_id,
            decontextualization_score=score,
            status=status,
            detail=detail[:500],
            band=band,
            quality=quality,
            promotable=excluded is None,
            exclusion=excluded,
            tries=tries,
            tool_calls=tuple(self.uses),
            llm=_together(self.calls),
            config_version=self.rules.config_version,
        )

    def _try(self, number: int) -> Generator[_Needs, Reply, _Score]:
        """Questions to the judge until its reply is no call of tools."""
        section, task, template = self.rules.claims, self.rules.model_tasks[TASK], self.rules.prompts[TASK]
        claim = self.claim.claim_text[: section.claim_characters]
        source = self.claim.source_text[: section.source_characters]
        told = [f"- `{tool.name}`: {tool.description}" for tool in self.rules.judge_tools]
        tools = "\n".join(["\nYou may call these tools before you answer, or not:", *told, ""]) if told else ""
        messages = render(template, {"tools": tools}, {"claim": claim, "source": source})
        rounds = section.tool_rounds if told else 0
        score = score_of(self.wording, section.wording) if self.wording else None
        status = ClaimStatus.UNDECIDED if self.wording else ClaimStatus.UNKNOWN_LANGUAGE
        while True:
            reply = yield AskModel(
                task=TASK,
                prompt_version=template.version,
                messages=messages,
                facts={"score": score, "status": status.value},
                max_tokens=task.max_tokens,
                temperature=task.temperature,
                tools=tuple(map(_spec, self.rules.judge_tools)) if rounds else (),
                try_number=number,
            )
            if isinstance(reply, ModelReply | ModelFailed):
                self.calls.append(reply.call)
            if not isinstance(reply, ModelReply):
                return None, ClaimStatus.MODEL_FAILED, reply.detail if isinstance(reply, ModelFailed) else ""
            if not (reply.tool_calls and rounds):
                return self._read(reply)
            rounds -= 1
            calls = tuple(_bounded(call, place) for place, call in enumerate(reply.tool_calls[:_MOST_CALLS]))
            self._note("", ToolOutcome.OVER_LIMIT, times=len(reply.tool_calls) - len(calls))
            # The reply may repeat words of the claim or of its source.
            messages += (Message("assistant", sanitize(cleaned(reply.text, _ARGUMENT_CHARACTERS)), calls),)
            for call in calls:
                text = yield from self._answer(call)
                messages += (Message("tool", text, tool_call_id=call.id),)

    def _answer(self, call: ToolCall) -> Generator[_Needs, Reply, str]:
        """The answer to a call. A search that failed does not fail the claim (R-156)."""
        section = self.rules.claims
        tool = next((tool for tool in self.rules.judge_tools if tool.name == call.name), None)
        query = _query(call.arguments)
        hits: list[VectorHit] = []
        if tool is None:
            outcome, text = ToolOutcome.UNKNOWN_TOOL, "There is no such tool."
        elif not query:
            outcome, text = ToolOutcome.INVALID_ARGUMENTS, 'The arguments have to be {"query": "a text"}.'
        elif self.searches >= section.searches:
            outcome, text = ToolOutcome.OVER_LIMIT, "No more searches; judge by what you have."
        else:
            self.searches += 1
            reply = yield SearchVectors(tool.collection, query[: section.claim_characters], tool.limit)
            if isinstance(reply, VectorsReply):
                # The claim itself is in the collection if it was judged before.
                near = (hit for hit in reply.hits if hit.score >= tool.least_similarity)
                hits = [hit for hit in near if hit.payload.get("utterance_id") != _utterance_id_of(self.claim)]
            if not isinstance(reply, VectorsReply):
                outcome, text = ToolOutcome.UNAVAILABLE, "The search is not available now; judge without it."
            elif not hits:
                outcome, text = ToolOutcome.NOTHING_FOUND, "Nothing was found; judge without it."
            else:
                found = "\n".join(map(_shown, hits))
                outcome, text = ToolOutcome.FOUND, quoted(self.rules.prompts[TASK], "found", found)
        self._note(call.name, outcome, len(hits))
        return text

    def _read(self, reply: ModelReply) -> _Score:
        if reply.call.judged_by == "offline" and reply.text in ABSTENTIONS:
            reason = self.wording.reason if self.wording else "no word lists for the claim's language"
            return None, ClaimStatus(reply.text), reason
        if reply.tool_calls:
            return None, ClaimStatus.MALFORMED, "the reply wanted tools beyond the limit"
        if (score := parse_score(reply.text)) is None:
            return None, ClaimStatus.MALFORMED, "the reply was no single number in [0, 1]"
        is_own = reply.call.judged_by == "offline"
        return score, ClaimStatus.SUCCESS, self.wording.reason if is_own and self.wording else ""

    def _note(self, name: str, outcome: ToolOutcome, hits: int = 0, times: int = 1) -> None:
        room = max(0, min(times, _MOST_USES - len(self.uses)))
        self.uses += [ToolUse(name=name.replace("\x00", ""), outcome=outcome, hits=hits)] * room


def parse_score(text: str) -> float | None:
    r"""The score if a reply is a single number in [0, 1] and white space (R-154, C-29).

    >>> parse_score(" 0.75\n"), parse_score("1"), parse_score("0.7 or 0.8"), parse_score("NaN"), parse_score("1.01")
    (0.75, 1.0, None, None, None)
    """
    found = _NUMBER.fullmatch(text)
    return float(found[1]) if found else None


def band_of(score: float | None, bands: ClaimBands) -> ClaimBand:
    """The band of a score (R-151, C-26).

    >>> [band_of(score, ClaimBands()).value for score in (None, 0.0, 0.4, 0.7, 0.99, 1.0)]
    ['failed', 'poor', 'moderate', 'good', 'good', 'perfect']
    """
    if score is None:
        return ClaimBand.FAILED
    if score >= 1:
        return ClaimBand.PERFECT
    return ClaimBand.GOOD if score >= bands.good else ClaimBand.MODERATE if score >= bands.moderate else ClaimBand.POOR


def quality_of(entailed: float | None, coverage: float | None, decontextualization: float | None) -> float | None:
    """The geometric mean of the three scores, None if one is missing (R-153, C-28).

    >>> quality_of(0.9, 0.8, 0.75), quality_of(0.9, None, 0.75)
    (0.814325, None)
    """
    if entailed is None or coverage is None or decontextualization is None:
        return None
    return round(math.cbrt(entailed * coverage * decontextualization), 6)


def exclusion_of(band: ClaimBand, quality: float | None, least: float) -> ClaimExclusion | None:
    """Why a claim may not be promoted; None if it may (R-152, C-27). A poor claim is of low quality.

    >>> exclusion_of(ClaimBand.GOOD, 0.7, 0.7) is None, exclusion_of(ClaimBand.POOR, 0.71, 0.7).value
    (True, 'low_quality')
    """
    if band is ClaimBand.FAILED:
        return ClaimExclusion.NO_SCORE
    if quality is None:
        return ClaimExclusion.INCOMPLETE_SCORES
    return ClaimExclusion.LOW_QUALITY if quality < least or band is ClaimBand.POOR else None


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


def _together(calls: list[LlmCall]) -> LlmCall | None:
    """The last call with the figures of all of them; no cost if one has none."""
    if not calls:
        return None
    costs = [call.cost_usd for call in calls]
    return calls[-1].model_copy(
        update={
            **{name: sum(getattr(call, name) for call in calls) for name in _SUMMED},
            "cost_usd": None if None in costs else sum(cost for cost in costs if cost is not None),
            "cached": all(call.cached for call in calls),
        }
    )
