"""The sections of the configuration that claims are judged by; the sources name their keys."""

from __future__ import annotations

from typing import Literal

from pydantic import ConfigDict, Field

from schemas.rules import Section


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


Feature = Literal["start", "gap", "resolved_pronoun", "definite", "comparison", "connective", "shortness", "names"]
"""What a score is made of; ``start`` is that of a claim without any other. The configuration explains each."""


class LanguageWords(Section):
    """Words and phrases of a language, in small letters."""

    spaced: bool = Field(default=True, description="Whether blanks divide words; if not, words are found anywhere.")
    capital_nouns: bool = Field(default=False, description="Whether every noun has a capital, not only names.")
    letters: str = Field(default="", description="Letters that only this one of the languages has.")
    endings: tuple[str, ...] = Field(default=(), description="Endings that show the language if no word does.")
    function_words: tuple[str, ...] = Field(description="Words that name nothing and are in no other list.")
    pronouns: tuple[str, ...] = Field(description="Of the third person.")
    possessives: tuple[str, ...] = Field(default=(), description="Pronouns that may refer to a noun of their clause.")
    subject_pronouns: tuple[str, ...] = Field(default=(), description="Words that are pronouns before a verb.")
    dummies: tuple[str, ...] = Field(default=(), description="Pronouns that refer to nothing before an expletive.")
    expletives: tuple[str, ...] = Field(default=(), description="Words such as 'forbidden' in 'it is forbidden'.")
    speakers: tuple[str, ...] = Field(description="Pronouns of the first and second person.")
    pointing: tuple[str, ...] = Field(description="Words that refer to something outside of the claim.")
    relative_times: tuple[str, ...] = Field(description="Times that count from an unknown day.")
    comparisons: tuple[str, ...] = Field(description="Words that compare with something else, or replace it.")
    connectives: tuple[str, ...] = Field(description="Words that continue a text, at the start of a sentence.")
    exceptions: tuple[str, ...] = Field(default=(), description="Phrases in which such words refer to nothing.")
    articles: tuple[str, ...] = Field(default=(), description="Definite articles.")
    postmodifiers: tuple[str, ...] = Field(default=(), description="Words after a noun that begin to say which one.")
    places: tuple[str, ...] = Field(default=(), description="Prepositions before names, where nouns have capitals.")
    clause_starts: tuple[str, ...] = Field(default=(), description="Words that begin a clause.")
    verbs: tuple[str, ...] = Field(default=(), description="Frequent verbs in the present tense.")
    past: tuple[str, ...] = Field(default=(), description="Verbs that report an event.")
    past_endings: tuple[str, ...] = Field(default=(), description="Endings of such verbs.")
    roles: tuple[str, ...] = Field(default=(), description="Offices, bodies, works and quantities: of whom, or where?")


class ClaimWording(Section):
    """Word lists and weights of the offline judge of claims."""

    languages: dict[str, LanguageWords] = Field(min_length=1, description="Words by language.")
    foreign_words: tuple[str, ...] = Field(description="Function words of languages without lists.")
    enough_words: int = Field(ge=2, description="Words from which on a claim is not short.")
    most_names: int = Field(ge=0, description="Names and numbers that count at most.")
    gap_ceiling: float = Field(gt=0, le=1, description="What a score is scaled to where a claim has a gap.")
    weights: dict[Feature, float] = Field(min_length=8, description="What each adds to the logit of the score.")


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
