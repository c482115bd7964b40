"""Settings: ``config/*.yaml``, then the environment (``ASSAY_KAFKA__BOOTSTRAP_SERVERS=…``), then flags.

They form one document. The shell's sections are typed here; the sections that decisions depend on are typed by the
handlers that use them, and a handler's rules are a view on the document (``Settings.rules``). Unknown keys are errors.
"""

from __future__ import annotations

import os
from collections.abc import Iterable
from difflib import get_close_matches
from pathlib import Path
from typing import Annotated, Any, Literal, Self, TypeVar

from pydantic import Field, SecretStr, ValidationError, field_validator, model_validator
from pydantic.fields import FieldInfo
from pydantic_settings import BaseSettings, PydanticBaseSettingsSource, SettingsConfigDict
from pydantic_settings import SettingsError as UnreadableVariableError

from handlers.claims.wording import ClaimsSection
from handlers.decontextualize_claim import ModelSection, ThresholdSection, ToolsSection
from handlers.html.reading import PageReadingSection
from handlers.html.state import PageRefusalsSection
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
from handlers.relevance.progress import Domains, RelevanceGateSection
from handlers.results.batch import ExtractionSection, RetrievalEvaluationSection
from handlers.results.features import ClassificationSection, ResultTrees
from handlers.retrieval.search_rubric import SearchEvaluationSection
from handlers.text.background import WordFrequenciesSection
from handlers.text.patterns import Patterns
from schemas.addresses import is_loopback
from schemas.rules import Rules, Section
from streams.fetch.settings import FetchSettings
from streams.index.settings import IndexSettings
from streams.kafka.settings import KafkaSettings
from streams.llm.settings import LlmSettings, ModelsSection
from streams.runtime.server_address import ServerAddress
from streams.runtime.settings_files import SettingsError as SettingsError
from streams.runtime.settings_files import config_dir, merged, read_document, read_yaml
from streams.telemetry.settings import AlertSettings, TelemetrySettings
from streams.training.config import TrainingSection
from streams.training.model_files import read_ranking_model
from streams.workers.settings import WorkersSettings


class QuerySettings(Section):
    """Limits of `assay query` and of ``/query``; requests over Kafka have the limits of the pipeline."""

    seconds: float = Field(default=60.0, gt=0, description="For one query, models' answers included.")
    answer_seconds: float = Field(
        default=120.0,
        gt=0,
        description="For one `assay answer`, its query included; after it, the answer is sentences of the sources.",
    )
    parallel: int = Field(default=16, ge=1, le=1000, description="Queries at the same time; others are refused.")
    max_bytes: int = Field(default=4 * 1024 * 1024, ge=1024, description="Of the body of a POST to /query.")


class McpSettings(Section):
    """The tools of ``assay mcp``, and what an agent may cause with them."""

    allow_paid: bool = Field(
        default=False, description="Whether a tool may ask the configured language model; else rules judge."
    )
    fetches_per_minute: int = Field(default=30, ge=0, description="Pages that one client may have fetched in a minute.")
    results: int = Field(default=10, ge=1, le=100, description="Results of a search.")
    max_text_characters: int = Field(
        default=50_000, ge=100, description="Characters of a page's text in an answer; a longer text is cut."
    )
    port: int = Field(default=8091, ge=0, le=65535, description="Port of `assay mcp --http`; 0 takes a free one.")


class ConsoleSettings(Section):
    """The web console, ``assay console``. Its host, hosts and token are those of ``http``."""

    port: int = Field(default=8090, ge=0, le=65535, description="Port of the console; 0 takes a free one.")
    decisions: int = Field(
        default=100_000, ge=100, le=10_000_000, description="Newest records that the console lists; older ones leave."
    )
    reading_needs_token: bool = Field(
        default=False, description="Whether also reading needs http.token; actions always do."
    )
    queries: Annotated[str, ServerAddress("http.token", "http://127.0.0.1:8080")] = Field(
        default="", description="Address of an application that answers queries; that on http.port by default."
    )


R = TypeVar("R", bound=Rules)

LOCAL_KAFKA = "127.0.0.1:9092"  # the cluster if none is configured: Kafka's own default, and that of ``assay broker``


LEAST_TOKEN = 16  # characters of a token that other machines may try to guess


class HttpSettings(Section):
    """The HTTP server of the application: /metrics, /healthz, /readyz, /query."""

    enabled: bool = Field(default=True, description="Serve HTTP at all.")
    host: str = Field(default="127.0.0.1", pattern=r"^[^@/\s\x00-\x1f]+$", description="Address to listen on.")
    port: int = Field(default=8080, ge=0, le=65535, description="Port to listen on; 0 takes a free one.")
    allowed_hosts: tuple[str, ...] = Field(
        default=(),
        description="Names that a request's Host header may have, beside addresses and names without a dot; "
        "*.example.org for all names below one.",
    )
    connections: int = Field(
        default=256,
        ge=1,
        description="Open connections; one more closes the connection that has kept the server waiting for longest."
        " Half of them may be event streams.",
    )
    request_seconds: float = Field(
        default=20.0, gt=0, description="Time for the head and body of a request, and for reading its answer."
    )
    token: SecretStr = Field(
        default=SecretStr(""),
        description="Required by /query (Authorization: Bearer …); without one, only this machine may ask. A host that"
        " other machines reach needs a token of at least 16 characters.",
    )

    @field_validator("host")
    @classmethod
    def _can_be_looked_up(cls, host: str) -> str:
        host.encode("idna")  # raises ValueError, where a socket raises TypeError
        return host

    @field_validator("token")
    @classmethod
    def _travels_in_a_header(cls, token: SecretStr) -> SecretStr:
        secret = token.get_secret_value()
        if not secret.isascii() or not secret.isprintable() or " " in secret:
            raise ValueError("a token is of ASCII letters, digits and signs, without spaces")
        return token

    @model_validator(mode="after")
    def _token_withstands_guesses(self) -> Self:
        if 0 < len(self.token.get_secret_value()) < LEAST_TOKEN and not is_loopback(self.host):
            raise ValueError(
                f"the token has less than {LEAST_TOKEN} characters, and {self.host} can be reached from other machines:"
                " set http.token to one of `openssl rand -hex 32`, or http.host to 127.0.0.1"
            )
        return self


class LogSettings(Section):
    """Level and format of the log."""

    level: Literal["debug", "info", "warning", "error"] = Field(default="info", description="Lowest level shown.")
    format: Literal["auto", "json", "console"] = Field(
        default="auto", description="auto: console on a terminal, else JSON lines."
    )


class PipelineSettings(Section):
    """How much the pipeline holds and when it commits. Sizes are for each input partition."""

    window_records: int = Field(default=1000, ge=1, description="Records held and not yet committed.")
    window_bytes: int = Field(
        default=16 * 1024 * 1024,
        ge=1024,
        description="Bytes held and not yet committed; twice as many if records become larger.",
    )
    poll_records: int = Field(default=100, ge=1, description="Records of one poll, at most.")
    fetch_max_bytes: int = Field(
        default=8 * 1024 * 1024, ge=1024, description="Bytes of one fetch from a broker, compressed."
    )
    commit_records: int = Field(default=500, ge=1, description="Inputs of one transaction, at most.")
    commit_bytes: int = Field(default=16 * 1024 * 1024, ge=1024, description="Output bytes of one transaction, about.")
    commit_linger_seconds: float = Field(
        default=0.05, ge=0, description="How long finished records may wait for others before they are committed."
    )
    drain_seconds: float = Field(default=25.0, gt=0, description="Time to finish the work in progress on SIGTERM.")
    stalled_seconds: float = Field(
        default=600.0, gt=0, description="Liveness fails if work on a record, or failing commits, take longer."
    )


class RetrySettings(Section):
    """Short retries in place, before a record goes to a retry topic or a dead letter topic.

    Requests inside an attempt have back-offs of their own: ``fetch.*_backoff_seconds`` and ``llm.*_backoff_seconds``.
    """

    max_attempts: int = Field(
        default=3, ge=1, le=20, description="Attempts in place, the first included; a retry topic has one attempt."
    )
    first_seconds: float = Field(
        default=0.2, gt=0, description="Upper bound of the random pause before the second attempt; it doubles."
    )
    max_seconds: float = Field(
        default=5.0,
        gt=0,
        description="Upper bound of any pause between attempts in place. For a handler with retry topics it is also"
        " the longest Retry-After that is waited for in place; a record with a longer one goes to a retry topic.",
    )
    attempt_seconds: float = Field(
        default=300.0,
        gt=0,
        description="Timeout of one request of a handler to a service; after it, the attempt has failed.",
    )
    in_place_wish_seconds: float = Field(
        default=60.0,
        ge=0,
        description="Longest Retry-After that is waited for in place by a handler without retry topics, and by every"
        " handler whose model is busy.",
    )
    longest_wish_seconds: float = Field(
        default=3600.0, ge=0, description="Longest Retry-After that a record waits for in a retry topic."
    )


class BreakerSettings(Section):
    """When intake and attempts pause because a service that a handler needs is down."""

    failures: int = Field(
        default=5,
        ge=1,
        description="Different records that fail one after another, before it opens. A service that reports that it"
        " can answer no request opens it at once.",
    )
    first_seconds: float = Field(
        default=5.0, gt=0, description="Pause before the first probe; each failed probe doubles it."
    )
    max_seconds: float = Field(
        default=300.0, gt=0, description="Longest pause before a probe, also if a Retry-After is longer."
    )
    drain_patience_seconds: float = Field(
        default=120.0,
        ge=0,
        description="How long it may be open while work waits, before `assay run --drain` stops with an error.",
    )


class DlqSettings(Section):
    """When intake pauses because too many records become dead letters, as after a bad deploy."""

    max_share: float = Field(
        default=0.5, ge=0, le=1, description="Largest share of a minute's records; 1 never pauses a handler."
    )
    least_records: int = Field(default=100, ge=1, description="Records in a minute before their share counts.")
    pause_seconds: float = Field(default=60.0, gt=0, description="The pause. Then the next records are judged again.")


class ProcessingSettings(Section):
    """Retries and the circuit breaker."""

    retries: RetrySettings = Field(default=RetrySettings(), description="Short retries in place.")
    breaker: BreakerSettings = Field(default=BreakerSettings(), description="Pauses while a service is down.")


class Settings(BaseSettings):
    """The whole configuration. ``assay config show`` prints it, ``assay config schema`` describes it."""

    model_config = SettingsConfigDict(
        env_prefix="ASSAY_", env_nested_delimiter="__", extra="forbid", frozen=True, case_sensitive=False
    )

    kafka: KafkaSettings = Field(default=KafkaSettings(), description="The Kafka cluster.")
    http: HttpSettings = Field(default=HttpSettings(), description="The HTTP server.")
    logs: LogSettings = Field(default=LogSettings(), description="The log.")
    delivery: Literal["exactly_once", "at_least_once"] = Field(
        default="exactly_once", description="Whether outputs and offsets are in one transaction."
    )
    telemetry: TelemetrySettings = Field(default=TelemetrySettings(), description="Traces.")
    pipeline: PipelineSettings = Field(default=PipelineSettings(), description="How much is held, when it commits.")
    workers: WorkersSettings = Field(
        default=WorkersSettings(), description="Child processes that read untrusted pages, and their limits."
    )
    processing: ProcessingSettings = Field(default=ProcessingSettings(), description="How records are handled.")
    dlq: DlqSettings = Field(default=DlqSettings(), description="A pause while most records become dead letters.")
    alerts: AlertSettings = Field(default=AlertSettings(), description="Thresholds of the alerts.")
    fetch: FetchSettings = Field(default=FetchSettings(), description="Fetching from the open web.")
    query: QuerySettings = Field(default=QuerySettings(), description="Limits of queries outside of Kafka.")
    mcp: McpSettings = Field(default=McpSettings(), description="The tools of `assay mcp`.")
    console: ConsoleSettings = Field(default=ConsoleSettings(), description="The web console.")
    index: IndexSettings = Field(default=IndexSettings(), description="The index and its embeddings.")
    llm: LlmSettings = Field(default=LlmSettings(), description="The language models' server, journal and budget.")
    models: ModelsSection = Field(description="Time limits, rate limits and prices of models.")
    model_tasks: ModelTasks = Field(description="The model of each task and its parameters.")
    model: ModelSection = Field(default=ModelSection(), description="Models of the steps that make claims.")
    tools: ToolsSection = Field(description="Tools that models may call, by role.")
    threshold: ThresholdSection = Field(description="The quality that a claim needs to be promoted.")
    claims: ClaimsSection = Field(description="Judging claims and indexing utterances.")
    prompts: Prompts = Field(default_factory=dict, description="The prompt template of each task.")
    sources: SourcesSection = Field(description="Kinds of sources, the shipped lists, and the user's own entries.")
    source_tiers: SourceTiersSection = Field(description="The user's sources by tier; they precede the shipped lists.")
    source_rules: SourceRulesSection = Field(description="Suffixes of hosts by kind, and the points of each tier.")
    trust_points: TrustPointsSection = Field(description="Points for citations and structure.")
    tiered_indexing: TieredIndexingSection = Field(description="Scores of the indexing tiers.")
    index_points: IndexPointsSection = Field(description="The points of a page in the index.")
    trust_labels: TrustLabelsSection = Field(description="Scores of the trust labels.")
    page_reading: PageReadingSection = Field(description="Reading pages.")
    listing: ListingSection = Field(description="Finding the items of a listing.")
    page_refusals: PageRefusalsSection = Field(description="Pages that are refused because they have no content.")
    extraction: ExtractionSection = Field(description="Following listings to their detail pages.")
    patterns: Patterns = Field(description="Patterns of details, addresses and titles, by language.")
    classification: ClassificationSection = Field(description="Classifying and scoring results.")
    result_trees: ResultTrees = Field(default=ResultTrees(), description="Trained trees that classify results.")
    relevance_gate: RelevanceGateSection = Field(description="Relevance of sources to a query, and snippets.")
    word_frequencies: WordFrequenciesSection = Field(
        default=WordFrequenciesSection(), description="How frequent words are in ordinary pages."
    )
    domains: Domains = Field(description="Approved sources by field.")
    retrievalEvaluation: RetrievalEvaluationSection = Field(  # noqa: N815 - the key's name comes from the source document
        description="Thresholds for a batch of results."
    )
    search_evaluation: SearchEvaluationSection = Field(description="The rubric of a search.")
    ranking: RankingSection = Field(description="The stages of a ranking and their parameters.")
    ranking_model: RankingModel | None = Field(
        default=None, description="Trees that re-rank: the model of ranking.trees.model, unless the mode is off."
    )
    reasoning: ReasoningSection = Field(description="The context that a model gets for a query.")
    training: TrainingSection = Field(description="Training a ranking model from feedback (`assay train`).")

    def rules(self, kind: type[R]) -> R:
        """The rules of a handler: its view on this document. Raises SettingsError if sections contradict each other."""
        try:
            return kind.model_validate({name: getattr(self, name) for name in kind.model_fields})
        except ValidationError as error:
            raise SettingsError(explain(error)) from None

    def model_of(self, task: str) -> str:
        """The model of a task: the one named for it, otherwise that of all tasks; "" if none is named."""
        return self.model.of_task(task) or self.model_tasks[task].model or self.llm.model

    def with_kafka(self) -> Settings:
        """These settings with the local cluster, if none is configured."""
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
    """The YAML files of the configuration directory as one document; unlike flags, its keys have one spelling."""

    def get_field_value(self, field: FieldInfo, field_name: str) -> tuple[Any, str, bool]:  # noqa: ARG002 - the signature is the library's
        """No value: the document is read as a whole."""
        return None, field_name, False

    def __call__(self) -> dict[str, Any]:
        """The merged document."""
        return read_document(config_dir())


def load_settings(overlay: Path | None = None, **flags: Any) -> Settings:
    """Reads and checks the whole configuration.

    Args:
        overlay: A YAML file that overrides the shipped files and the environment (``--config``).
        flags: Sections or parts of sections from the command line, as nested dicts.

    Raises:
        SettingsError: The message names every wrong key and what to do.
    """
    above = merged(read_yaml(overlay) if overlay else {}, flags)
    if unknown := _unknown_variables(os.environ):
        raise SettingsError(f"environment: {', '.join(unknown)}: no such section (see `assay config schema`)")
    try:
        settings = Settings(**above)
        trees = settings.ranking.trees
        model = None if trees.mode == "off" else read_ranking_model(trees.model)
    except ValidationError as error:
        raise SettingsError(explain(error, _origins(error, overlay, above))) from None
    except (UnreadableVariableError, RecursionError) as error:
        raise SettingsError(f"environment: {error} (a section or a list is given as JSON)") from None
    except ModelMismatchError as error:
        raise SettingsError(f"configuration: {error}") from None
    return settings.model_copy(update={"ranking_model": model}) if model else settings


def _unknown_variables(environment: Iterable[str]) -> list[str]:
    """Variables that begin with ASSAY_ and name no section; pydantic-settings would ignore them."""
    sections = {name.lower() for name in Settings.model_fields}
    ours = (name for name in environment if name.upper().startswith("ASSAY_") and "__" in name)
    return sorted(name for name in ours if name[len("ASSAY_") :].split("__")[0].lower() not in sections)


def _nearest(path: tuple[int | str, ...]) -> str:
    """The key that an unknown key may mean; "" if no key is similar."""
    keys: Any = Settings.model_json_schema()
    known = keys.get("properties", {})
    for part in path[:-1]:
        setting: dict[str, Any] = known.get(str(part), {})
        name = str(setting.get("$ref", "")).rpartition("/")[2]
        known = keys["$defs"].get(name, {}).get("properties", {})
    near = get_close_matches(str(path[-1]), known, 1)
    return f"; did you mean {near[0]}?" if near else ""


def _origins(error: ValidationError, overlay: Path | None, above: dict[str, Any]) -> str:
    """The file of ``--config`` or the variables of the environment that have the wrong keys; "" if neither does."""
    places = [tuple(map(str, item["loc"])) for item in error.errors(include_url=False)]
    found = [str(overlay)] if overlay and any(place[0] in above for place in places if place) else []
    names = {"ASSAY_" + "__".join(place[:length]).upper() for place in places for length in range(1, len(place) + 1)}
    return ", ".join([*found, *sorted(name for name in os.environ if name.upper() in names)])


def explain(error: ValidationError, origin: str = "") -> str:
    """A validation error for people: each key with its problem, and where the keys come from."""
    lines = []
    for item in error.errors(include_url=False):
        key = ".".join(str(part) for part in item["loc"])
        problem = item["msg"].removeprefix("Value error, ")
        if item["type"] == "extra_forbidden":
            problem = "is not a known key" + _nearest(tuple(item["loc"]))
        elif isinstance(given := item.get("input"), str | int | float) and item["type"].endswith("_parsing"):
            problem += f", not {given!r}"
        lines.append(f"{key}: {problem}" if key else problem)
    return f"{origin or 'configuration'}: " + "; ".join(lines) + " (see `assay config schema`)"
