"""Can a claim be understood and checked without its source? A judge answers with one number.

In: ``ExtractedClaim``. The judge may search for similar claims first. Out: ``ClaimEvaluated``: the score's band, the
claim's quality, and whether it may be promoted; and ``UtteranceRecorded``, so that later claims find this one. A reply
that is no single number is a failed try. If all tries fail, the score is null.
"""

from __future__ import annotations

from functools import cached_property

from handlers.claims.judgment import (
    TASK,
    ClaimsSection,
    ModelSection,
    ProcessingView,
    Setting,
    ThresholdSection,
    ToolsSection,
    Verdict,
    band_of,
    converse,
    exclusion_of,
    quality_of,
    utterance_id_of,
)
from handlers.prompts.model_tasks import ModelTasks
from handlers.prompts.template import Prompts
from schemas.claims import ClaimEvaluated, ClaimStatus, ExtractedClaim, UtteranceRecorded
from schemas.llm import LlmCall
from schemas.needs import Ask
from schemas.outcome import Emit, Outcome, Retry, RetryReason
from schemas.replies import ModelUnavailable, Reply
from schemas.rules import Rules

ROLE = "decontextualization_agent"
"""The role whose tools ``tools.agent_tool_mappings`` names (R-145)."""
MOST_ASKS = 20 * (3 + 1) + 5
"""As many as the configuration may allow: questions of every try, and all searches."""


class DecontextualizeClaimRules(Rules):
    """Everything that ``decontextualize_claim`` decides by."""

    claims: ClaimsSection
    model: ModelSection
    tools: ToolsSection
    threshold: ThresholdSection
    processing: ProcessingView = ProcessingView()
    model_tasks: ModelTasks
    prompts: Prompts

    @cached_property
    def setting(self) -> Setting:
        """The configuration of the conversation with the judge."""
        may_search = self.claims.tool_rounds > 0 and self.claims.searches > 0
        return Setting(
            template=self.prompts[TASK],
            task=self.model_tasks[TASK],
            tools=self.tools.agent_tool_mappings.get(ROLE, ()) if may_search else (),
            section=self.claims,
            most_tries=self.processing.retries.max_attempts,
            wording=self.claims.wording.model_dump(mode="json"),
        )


def decontextualize_claim(claim: ExtractedClaim, rules: DecontextualizeClaimRules) -> Outcome | Ask:
    """Asks the judge about a claim (R-140, R-141, R-143, R-150)."""
    return _outcome(claim, (), rules)


def read_judgment(claim: ExtractedClaim, replies: tuple[Reply, ...], rules: DecontextualizeClaimRules) -> Outcome | Ask:
    """Goes on with what the judge and its searches said (R-142, R-144, R-148 to R-157).

    A provider that is down says nothing of the claim: it is tried again later.
    """
    last = replies[-1]
    if isinstance(last, ModelUnavailable):
        return Retry(RetryReason.UNAVAILABLE, last.detail, last.after_seconds)
    return _outcome(claim, replies, rules)


def _outcome(claim: ExtractedClaim, replies: tuple[Reply, ...], rules: DecontextualizeClaimRules) -> Emit | Ask:
    step = converse(claim, replies, rules.setting)
    if isinstance(step, Ask):
        return step
    evaluated = _evaluated(claim, step, rules)
    if not rules.claims.recorded or step.status is ClaimStatus.NO_CLAIM:
        return Emit((evaluated,))
    return Emit((evaluated, _recorded(claim, rules)))


def _recorded(claim: ExtractedClaim, rules: DecontextualizeClaimRules) -> UtteranceRecorded:
    """The claim for the collection that claims are compared with (R-144, C-24): always under the same id."""
    return UtteranceRecorded(
        utterance_id=utterance_id_of(claim),
        text=claim.claim_text[: rules.claims.claim_characters],
        source_id=str(claim.source_id or ""),
        context=claim.source_text[: rules.claims.source_characters] or None,
    )


def _evaluated(claim: ExtractedClaim, verdict: Verdict, rules: DecontextualizeClaimRules) -> ClaimEvaluated:
    quality = quality_of(claim.entailed_score, claim.coverage_score, verdict.score)
    excluded = exclusion_of(verdict.score, quality, rules.threshold.claim_quality)
    return ClaimEvaluated(
        claim_id=claim.claim_id,
        source_id=claim.source_id,
        decontextualization_score=verdict.score,
        status=verdict.status,
        detail=verdict.detail,
        band=band_of(verdict.score),
        quality=quality,
        promotable=excluded is None,
        excluded_because=excluded,
        tries=verdict.tries,
        tool_calls=verdict.uses,
        llm=_together(verdict.calls),
        config_version=rules.config_version,
    )


def _together(calls: tuple[LlmCall, ...]) -> LlmCall | None:
    """The last call with what all of them took; no cost where one has none."""
    if not calls:
        return None
    costs = [call.cost_usd for call in calls]
    return calls[-1].model_copy(
        update={
            "attempts": sum(call.attempts for call in calls),
            "latency_ms": sum(call.latency_ms for call in calls),
            "prompt_tokens": sum(call.prompt_tokens for call in calls),
            "completion_tokens": sum(call.completion_tokens for call in calls),
            "cost_usd": None if None in costs else sum(cost for cost in costs if cost is not None),
            "cached": all(call.cached for call in calls),
        }
    )
