"""What the questions of one task will cost: which answers are kept already, and what the others will take.

Questions go in as handlers ask them; kept answers come out, so that a conversation goes on as far as it is known. What
is not kept is counted, and priced by what earlier calls of the same task and model really took beside what had been
estimated for them: the ratio for prompts, the mean for replies, and how many calls a conversation has. Where there were
none, the bounds stand in for them: the prompt as estimated, the longest reply, one call.
"""

from __future__ import annotations

from dataclasses import dataclass, field

from schemas.needs import AskModel
from schemas.replies import ModelFailed, ModelReply
from streams.llm.answers import answer_key, from_journal, reply_of
from streams.llm.prices import cost_of, prompt_tokens_of
from streams.llm.settings import ModelLimits
from streams.llm.store import AnswerStore
from streams.llm.usage import Experience, Usage, is_opening


@dataclass(slots=True)
class Calls:
    """Questions that nobody has answered yet.

    Attributes:
        count: How many.
        estimated: Tokens of their prompts, as estimated.
        longest: Tokens of their replies at most.
    """

    count: int = 0
    estimated: int = 0
    longest: int = 0

    def add(self, need: AskModel, limits: ModelLimits) -> None:
        """One more."""
        self.count += 1
        self.estimated += prompt_tokens_of(need)
        self.longest += need.max_tokens + limits.thinking_tokens

    def tokens(self, usage: Usage) -> tuple[float, float]:
        """Tokens of prompts and replies to be expected, after what others have used."""
        if not usage.calls:
            return float(self.estimated), float(self.longest)
        ratio = usage.prompt / usage.estimated if usage.estimated else 1.0
        return self.estimated * ratio, self.count * usage.completion / usage.calls


@dataclass(slots=True)
class Forecast:
    """The questions of one task to one model.

    Attributes:
        task: Its name.
        model: Whom it is put to.
        server: Where the model is; a part of an answer's key.
        limits: What the model takes and costs.
        journal: Where answers are kept.
        experience: What earlier calls took.
        now: Seconds since 1970; what has expired by then is not kept.
        conversations: Inputs about which somebody is asked.
        kept: Answers that are in the journal, or will be when they are asked for a second time.
        kept_prompt: Tokens of the prompts of those in the journal.
        kept_completion: Tokens of their replies.
        openings: Questions to be paid that begin a conversation.
        followups: Those to be paid that go on with one.
        unknown_followups: More of them that are to be expected where it is not known how a conversation goes on.
    """

    task: str
    model: str
    server: str
    limits: ModelLimits
    journal: AnswerStore
    experience: Experience
    now: float
    conversations: int = 0
    kept: int = 0
    kept_prompt: int = 0
    kept_completion: int = 0
    openings: Calls = field(default_factory=Calls)
    followups: Calls = field(default_factory=Calls)
    unknown_followups: float = 0.0
    _asked: set[bytes] = field(default_factory=set)

    async def ask(self, need: AskModel, followed: int) -> ModelReply | ModelFailed | None:
        """The answer that is kept; None for one that is to be paid, and so is not known yet.

        Args:
            need: The question.
            followed: Questions of the conversation before it, without the first one.

        Raises:
            StoreError: The journal can't be read.
        """
        opening = is_opening(need)
        self.conversations += opening
        key = answer_key(need, self.model, self.server)
        found = await self.journal.get(key, self.now)
        if found is not None and (known := from_journal(found)) is not None:
            self.kept += 1
            self.kept_prompt += known.prompt_tokens
            self.kept_completion += known.completion_tokens
            return reply_of(known, need, self.model, cached=True)
        at = bytes.fromhex(key[:32])
        if at in self._asked:
            # The same question about another record: the answer to the first will be there.
            self.kept += 1
            return None
        self._asked.add(at)
        (self.openings if opening else self.followups).add(need, self.limits)
        openings, followups = self.experience
        if openings.calls:
            # Nobody knows how the conversation goes on; it will be about as long as others were.
            so_far = followed + (not opening)
            self.unknown_followups += max(0.0, followups.calls / openings.calls - so_far)
        return None

    @property
    def calls(self) -> float:
        """Calls to be expected."""
        return self.openings.count + self.followups.count + self.unknown_followups

    def tokens(self) -> tuple[float, float]:
        """Tokens of prompts and of replies to be expected."""
        openings, followups = self.experience
        first, later = self.openings.tokens(openings), self.followups.tokens(followups)
        unknown = [
            self.unknown_followups * amount / followups.calls if followups.calls else 0.0
            for amount in (followups.prompt, followups.completion)
        ]
        return first[0] + later[0] + unknown[0], first[1] + later[1] + unknown[1]

    def usd(self) -> float | None:
        """What the calls will cost; None where the model has no price."""
        prompt, completion = self.tokens()
        return cost_of(self.limits, prompt, completion)

    def saved_usd(self) -> float | None:
        """What the answers in the journal cost once; None where the model has no price."""
        return cost_of(self.limits, self.kept_prompt, self.kept_completion)

    def call_seconds(self) -> float | None:
        """How long a call took on the average; None where there was none."""
        calls = sum(its.calls for its in self.experience)
        return sum(its.milliseconds for its in self.experience) / calls / 1000 if calls else None
