"""The sections of the configuration that claims are judged by; the sources name their keys."""

from __future__ import annotations

from typing import Literal

from pydantic import ConfigDict, Field

from handlers.claims.wording import ClaimWording
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
