"""Settings: ``config/*.yaml``, then the environment (``ASSAY_KAFKA__BOOTSTRAP_SERVERS=…``), then flags.

One document holds everything. The shell's sections are typed here; the sections that decisions depend on are typed by
the handlers that use them, and a handler's rules are a view on the document (``Settings.rules``). An unknown key is an
error that names the key.
"""

from __future__ import annotations

import os
from collections.abc import Iterable
from pathlib import Path
from typing import Any, Literal, TypeVar

from pydantic import Field, SecretStr, ValidationError, field_validator
from pydantic.fields import FieldInfo
from pydantic_settings import BaseSettings, PydanticBaseSettingsSource, SettingsConfigDict
from pydantic_settings import SettingsError as UnreadableVariableError

from handlers.claims.wording import ClaimsSection
from handlers.decontextualize_claim import ModelSection, ThresholdSection, ToolsSection
from handlers.html.reading import PageReadingSection
from handlers.html.refusals import PageRefusalsSection
from handlers.indexing.config import (
    IndexPointsSection,
    SourceRulesSection,
    SourcesSection,
    SourceTiersSection,
    TieredIndexingSection,
    TrustLabelsSection,
    TrustPointsSection,
)
from handlers.listings.listing import ListingSection
from handlers.prompts.template import ModelTasks, Prompts
from handlers.ranking.config import RankingSection
from handlers.ranking.model import ModelMismatchError, RankingModel
from handlers.reasoning.context import ReasoningSection
from handlers.relevance.sections import Domains, RelevanceGateSection
from handlers.results.batch import ExtractionSection, RetrievalEvaluationSection
from handlers.results.features import ClassificationSection
from handlers.results.trained import ResultTrees
from handlers.retrieval.search_rubric import SearchEvaluationSection
from handlers.text.patterns import Patterns
from handlers.training.grade import TrainingSection
from schemas.rules import Rules, Section
from streams.fetch.settings import FetchSettings
from streams.index.settings import IndexSettings
from streams.kafka.settings import KafkaSettings
from streams.llm.settings import LlmSettings, ModelsSection
from streams.ranking_model import read_ranking_model
from streams.settings_files import SettingsError as SettingsError
from streams.settings_files import config_dir, merged, read_document, read_yaml
from streams.telemetry.settings import AlertSettings, TelemetrySettings


class QuerySettings(Section):
    """Bounds of `assay query` and of the application's ``/query``; those of Kafka are the pipeline's."""

    seconds: float = Field(default=60.0, gt=0, description="For one query, its models' answers included.")
    answer_seconds: float = Field(
        default=120.0,
        gt=0,
        description="For one `assay answer`, its query included; sentences of the sources are the answer then.",
    )
    parallel: int = Field(default=16, ge=1, le=1000, description="Queries at once; what comes above is turned away.")
    max_bytes: int = Field(default=4 * 1024 * 1024, ge=1024, description="Of a body that is posted to /query.")


R = TypeVar("R", bound=Rules)

LOCAL_KAFKA = "127.0.0.1:9092"
"""Where Kafka is looked for when none is named: its own default, and that of ``assay broker``."""


class HttpSettings(Section):
    """Where the application answers: /metrics, /healthz, /readyz, /query."""

    enabled: bool = Field(default=True, description="Serve HTTP at all.")
    host: str = Field(default="127.0.0.1", description="Address to listen on.")
    port: int = Field(default=8080, ge=0, le=65535, description="Port to listen on; 0 takes a free one.")
    allowed_hosts: tuple[str, ...] = Field(
        default=(),
        description="Names that a request's Host header may have, beside addresses and names without a dot; "
        "*.example.org for all names below one.",
    )
    connections: int = Field(
        default=256,
        ge=1,
        description="Connections open at once; one more ends the one that has kept the server waiting for longest.",
    )
    request_seconds: float = Field(
        default=20.0, gt=0, description="Time for the head and body of a request, and for reading its answer."
    )
    token: SecretStr = Field(
        default=SecretStr(""),
        description="Who asks /query shows it (Authorization: Bearer …); without one only this machine may ask.",
    )

    @field_validator("token")
    @classmethod
    def _travels_in_a_header(cls, token: SecretStr) -> SecretStr:
        secret = token.get_secret_value()
        if not secret.isascii() or not secret.isprintable() or " " in secret:
            raise ValueError("a token is of ASCII letters, digits and signs, without spaces")
        return token


class LogSettings(Section):
    """What is logged and how."""

    level: Literal["debug", "info", "warning", "error"] = Field(default="info", description="Least level shown.")
    format: Literal["auto", "json", "console"] = Field(
        default="auto", description="auto: console on a terminal, else JSON lines."
    )


class PipelineSettings(Section):
    """How much the pipeline holds and when it commits. Sizes are per input partition unless said otherwise."""

    window_records: int = Field(default=1000, ge=1, description="Records held and not yet committed.")
    window_bytes: int = Field(default=16 * 1024 * 1024, ge=1024, description="Bytes held and not yet committed.")
    poll_records: int = Field(default=100, ge=1, description="Records taken from the consumer at once.")
    fetch_max_bytes: int = Field(
        default=8 * 1024 * 1024, ge=1024, description="Bytes of one fetch from a broker, compressed as they travel."
    )
    commit_records: int = Field(default=500, ge=1, description="Inputs of one transaction at most.")
    commit_bytes: int = Field(default=16 * 1024 * 1024, ge=1024, description="Output bytes after which one is closed.")
    commit_linger_seconds: float = Field(
        default=0.05, ge=0, description="How long finished records may wait for company before they are committed."
    )
    drain_seconds: float = Field(default=25.0, gt=0, description="Budget for finishing work in hand on SIGTERM.")
    stalled_seconds: float = Field(
        default=600.0, gt=0, description="Work on one record, or commits that fail, beyond this fail liveness."
    )


class RetrySettings(Section):
    """Short retries in place, before a record leaves its lane."""

    max_attempts: int = Field(default=3, ge=1, le=20, description="Tries in all, the first included (C-25).")
    first_seconds: float = Field(default=0.2, gt=0, description="Upper bound of the first back-off.")
    max_seconds: float = Field(default=5.0, gt=0, description="Upper bound of any back-off.")
    attempt_seconds: float = Field(default=300.0, gt=0, description="After this an ask that has no answer has failed.")
    in_place_wish_seconds: float = Field(
        default=60.0, ge=0, description="Longest Retry-After waited for in place where there is no retry topic."
    )
    longest_wish_seconds: float = Field(
        default=3600.0, ge=0, description="Longest Retry-After obeyed in a retry topic."
    )


class BreakerSettings(Section):
    """When attempts are held back and intake is paused, because what a handler needs is down."""

    failures: int = Field(default=5, ge=1, description="Different records that fail one after another.")
    first_seconds: float = Field(default=5.0, gt=0, description="Pause before the first probe; it doubles.")
    max_seconds: float = Field(default=300.0, gt=0, description="Longest pause before a probe.")
    drain_patience_seconds: float = Field(
        default=120.0,
        ge=0,
        description="How long it may be open, with work waiting, before `assay run --drain` gives up.",
    )


class ProcessingSettings(Section):
    """How records are handled."""

    retries: RetrySettings = Field(default=RetrySettings(), description="Short retries in place.")
    breaker: BreakerSettings = Field(default=BreakerSettings(), description="Holding back while a provider is down.")


class Settings(BaseSettings):
    """The whole configuration. ``assay config show`` prints it, ``assay config schema`` describes it."""

    model_config = SettingsConfigDict(
        env_prefix="ASSAY_", env_nested_delimiter="__", extra="forbid", frozen=True, case_sensitive=False
    )

    kafka: KafkaSettings = Field(default=KafkaSettings(), description="Where Kafka is.")
    http: HttpSettings = Field(default=HttpSettings(), description="Where the application answers.")
    logs: LogSettings = Field(default=LogSettings(), description="What is logged.")
    delivery: Literal["exactly_once", "at_least_once"] = Field(
        default="exactly_once", description="Whether outputs and offsets share a transaction."
    )
    telemetry: TelemetrySettings = Field(default=TelemetrySettings(), description="Whether traces are written.")
    pipeline: PipelineSettings = Field(default=PipelineSettings(), description="How much is held, when it commits.")
    processing: ProcessingSettings = Field(default=ProcessingSettings(), description="How records are handled.")
    alerts: AlertSettings = Field(default=AlertSettings(), description="From which figures on somebody is told.")
    fetch: FetchSettings = Field(default=FetchSettings(), description="Fetching from the open web.")
    query: QuerySettings = Field(default=QuerySettings(), description="What queries outside of Kafka may take.")
    index: IndexSettings = Field(default=IndexSettings(), description="Where the index is, and what makes its vectors.")
    llm: LlmSettings = Field(default=LlmSettings(), description="Where language models are asked, and at what cost.")
    models: ModelsSection = Field(description="How patiently models are asked, what they take, and their prices.")
    model_tasks: ModelTasks = Field(description="Which model judges each task, and how it is asked.")
    model: ModelSection = Field(default=ModelSection(), description="Models of the steps that make claims.")
    tools: ToolsSection = Field(description="Tools that judges may call, by the role of their user.")
    threshold: ThresholdSection = Field(description="From which quality on a claim may be promoted.")
    claims: ClaimsSection = Field(description="How claims are judged and utterances kept.")
    prompts: Prompts = Field(default_factory=dict, description="What models are told, one template a task.")
    sources: SourcesSection = Field(description="Kinds of sources, the shipped lists, and the user's own entries.")
    source_tiers: SourceTiersSection = Field(description="The user's sources by tier; they precede the shipped lists.")
    source_rules: SourceRulesSection = Field(description="Suffixes of hosts by kind, and what each tier is worth.")
    trust_points: TrustPointsSection = Field(description="What citation and structure are worth.")
    tiered_indexing: TieredIndexingSection = Field(description="From which score on a page is indexed how deep.")
    index_points: IndexPointsSection = Field(description="What becomes of a page's text in the index.")
    trust_labels: TrustLabelsSection = Field(description="From which score on a page has which label.")
    page_reading: PageReadingSection = Field(description="How a page is read.")
    listing: ListingSection = Field(description="How a listing's items are found.")
    page_refusals: PageRefusalsSection = Field(description="Which pages that came are no content.")
    extraction: ExtractionSection = Field(description="Following listings to their details.")
    patterns: Patterns = Field(description="How details, addresses and titles are written, one pack a language.")
    classification: ClassificationSection = Field(description="How results are told apart and scored.")
    result_trees: ResultTrees = Field(
        default=ResultTrees(), description="Trained trees that help in telling them apart."
    )
    relevance_gate: RelevanceGateSection = Field(description="Which sources are read for a query, and what is kept.")
    domains: Domains = Field(description="Approved sources by field.")
    retrievalEvaluation: RetrievalEvaluationSection = Field(  # noqa: N815 - the key's name comes from the source document
        description="When a batch of results passes."
    )
    search_evaluation: SearchEvaluationSection = Field(description="When a search is done, and how that is counted.")
    ranking: RankingSection = Field(description="Which stages a query goes through, and by which numbers.")
    ranking_model: RankingModel | None = Field(
        default=None, description="Trees that re-rank, read from where ranking.trees.model says unless the mode is off."
    )
    reasoning: ReasoningSection = Field(description="What a model reads of a query's results.")
    training: TrainingSection = Field(description="How `assay train` makes a model of feedback.")

    def rules(self, kind: type[R]) -> R:
        """The rules of a handler: its view on this document.

        Raises:
            SettingsError: Sections that are right by themselves don't go together.
        """
        try:
            return kind.model_validate({name: getattr(self, name) for name in kind.model_fields})
        except ValidationError as error:
            raise SettingsError(explain(error)) from None

    def model_of(self, task: str) -> str:
        """The model of a task: the one named for it, otherwise that of all tasks; "" if none is named."""
        return self.model.of_task(task) or self.model_tasks[task].model or self.llm.model

    def with_kafka(self) -> Settings:
        """These settings with a Kafka named: the usual local one where nobody named another."""
        if self.kafka.bootstrap_servers:
            return self
        return self.model_copy(update={"kafka": self.kafka.model_copy(update={"bootstrap_servers": LOCAL_KAFKA})})

    @classmethod
    def settings_customise_sources(
        cls,
        settings_cls: type[BaseSettings],
        init_settings: PydanticBaseSettingsSource,
        env_settings: PydanticBaseSettingsSource,
        dotenv_settings: PydanticBaseSettingsSource,  # noqa: ARG003 - the signature is the library's
        file_secret_settings: PydanticBaseSettingsSource,  # noqa: ARG003
    ) -> tuple[PydanticBaseSettingsSource, ...]:
        """Flags before environment before YAML."""
        return init_settings, env_settings, YamlDocument(settings_cls)


class YamlDocument(PydanticBaseSettingsSource):
    """The YAML files of the configuration directory as one document."""

    def get_field_value(self, field: FieldInfo, field_name: str) -> tuple[Any, str, bool]:  # noqa: ARG002 - the signature is the library's
        """Nothing field by field: the document is read as a whole."""
        return None, field_name, False

    def __call__(self) -> dict[str, Any]:
        """The merged document."""
        return read_document(config_dir())


def load_settings(overlay: Path | None = None, **flags: Any) -> Settings:
    """Reads and checks the whole configuration.

    Args:
        overlay: A YAML file whose keys win over the shipped ones and the environment (``--config``).
        flags: Sections or parts of sections from the command line, as nested dicts.

    Raises:
        SettingsError: With every wrong key on a line of its own, and what to do.
    """
    above = merged(read_yaml(overlay) if overlay else {}, flags)
    if unknown := _unknown_variables(os.environ):
        raise SettingsError(f"environment: {', '.join(unknown)}: no such section (see `assay config schema`)")
    try:
        settings = Settings(**above)
        trees = settings.ranking.trees
        model = None if trees.mode == "off" else read_ranking_model(trees.model)
    except ValidationError as error:
        raise SettingsError(explain(error)) from None
    except UnreadableVariableError as error:
        raise SettingsError(f"environment: {error} (a section or a list is given as JSON)") from None
    except ModelMismatchError as error:
        raise SettingsError(f"configuration: {error}") from None
    return settings.model_copy(update={"ranking_model": model}) if model else settings


def _unknown_variables(environment: Iterable[str]) -> list[str]:
    """Variables that look like ours and name no section: pydantic-settings would pass over them in silence."""
    sections = {name.lower() for name in Settings.model_fields}
    ours = (name for name in environment if name.upper().startswith("ASSAY_") and "__" in name)
    return sorted(name for name in ours if name[len("ASSAY_") :].split("__")[0].lower() not in sections)


def explain(error: ValidationError) -> str:
    """A validation error for people: one line a key, with the way to set it."""
    lines = []
    for item in error.errors(include_url=False):
        key = ".".join(str(part) for part in item["loc"])
        problem = "is not a known key" if item["type"] == "extra_forbidden" else item["msg"]
        lines.append(f"{key}: {problem}" if key else problem)
    return "configuration: " + "; ".join(lines) + " (see `assay config schema`)"
