"""The JSON Schema of each topic's event.

A schema describes the wire: names, required fields, bounds, and the models' docstrings as descriptions. What a field
means that has the same name in several events is here; a test requires a meaning for every field.
"""

from __future__ import annotations

from collections.abc import Iterator
from inspect import cleandoc
from typing import Any

from pydantic import BaseModel
from pydantic.alias_generators import to_camel
from pydantic.json_schema import JsonSchemaMode, models_json_schema

from schemas.event import SCHEMA_URI_PREFIX, Part
from streams.topology.text import attributes, paragraphs, without_references
from streams.topology.topics import TOPICS, Topic

DIALECT = "https://json-schema.org/draft/2020-12/schema"
READERS = "Readers ignore fields and enum values that they do not know: a later version may add some."


def schema_of(topic: Topic) -> dict[str, Any]:
    """The schema of one topic's event, self-contained."""
    schema = topic.event.model_json_schema(by_alias=True, mode=_mode(topic))
    described = {"$schema": DIALECT, "$id": SCHEMA_URI_PREFIX + topic.name, **_described(schema)}
    described["description"] += f"\n\n{READERS}"
    if definitions := schema.get("$defs"):
        described["$defs"] = {name: _described(definition) for name, definition in definitions.items()}
    return described


def component_schemas(ref_template: str) -> dict[str, Any]:
    """The schemas of all events and their parts by name; ``ref_template`` is a reference with ``{model}`` in it."""
    events: list[tuple[type[BaseModel], JsonSchemaMode]] = [(topic.event, _mode(topic)) for topic in TOPICS]
    _, merged = models_json_schema(events, by_alias=True, ref_template=ref_template)
    return {name: _described(definition) for name, definition in sorted(merged["$defs"].items())}


def _mode(topic: Topic) -> JsonSchemaMode:
    """What others may write, or what Assay writes: then each field is there."""
    return "validation" if topic.written_by else "serialization"


def _described(schema: dict[str, Any]) -> dict[str, Any]:
    """The schema with the meaning of each field, and without titles that repeat a field's name."""
    text = schema.get("description", "")
    fields = _meanings_of(schema.get("title", ""))
    by_wire_name = fields | {to_camel(name): meaning for name, meaning in fields.items()}
    result = dict(schema)
    result.pop("$defs", None)
    if text:
        result["description"] = without_references(paragraphs(text))
    if "properties" in schema:
        result["properties"] = {
            name: _property(definition, by_wire_name.get(name)) for name, definition in schema["properties"].items()
        }
    return result


def _property(definition: dict[str, Any], meaning: str | None) -> dict[str, Any]:
    kept = {key: value for key, value in definition.items() if key != "title"}
    if meaning and "$ref" not in kept:
        kept["description"] = without_references(meaning)
    return kept


def _meanings_of(title: str) -> dict[str, str]:
    """The meaning of each field of the model with that name; docstrings of the model and its bases come first."""
    found = dict(_MEANINGS)
    model = next((model for model in _models(Part) if model.__name__ == title), Part)
    for base in reversed(model.__mro__):
        found |= attributes(cleandoc(base.__doc__ or ""))
    return found


def _models(base: type[Part]) -> Iterator[type[Part]]:
    for model in base.__subclasses__():
        yield model
        yield from _models(model)


_MEANINGS = {
    "actionable_information": "Mean actionable score of the results.",
    "actionable_score": "How much can be acted on, inside the band of the result's type.",
    "aggregator": "Results that are listings.",
    "attempt": "1 for the first batch of a search; one more for each batch of an extraction.",
    "base_score": "The points of the source's tier.",
    "batch_id": "The batch; null in an event that is not about one.",
    "candidates": "What is ranked; null ranks the index.",
    "citation_count": "Citations of other works in the text.",
    "claim_id": "The claim, as its producer names it; the key of the record.",
    "completion_tokens": "Tokens of the reply.",
    "component": "The observation: a feature of the page or its source.",
    "confidence": "How clearly the observations speak for the type.",
    "config_version": "A hash of the rules that the decision was made under.",
    "content_hash": "SHA-256 of the content that was read.",
    "content_kind": "Whether the text is a search snippet or the full text.",
    "context": "Free text of the producer, copied to the output.",
    "context_precision": "The share of the results that is relevant to the query.",
    "context_recall": "How much of the query the results cover.",
    "cts_score": "The page's content trust score, 0 to 100; null if it is unknown.",
    "date": "Publication date, ISO 8601; null if it is unknown.",
    "domain_is_academic": "Whether the source is a university or another academic institution.",
    "domain_is_government": "Whether the source is a government.",
    "domain_tags": "Of news, academic, government, blog.",
    "external_links_count": "Links to other owners in the main text, without shops; null if not observed.",
    "extraction_id": "The extraction: the same in its request and in its completion.",
    "extraction_reason": "The verdict in words; null where no extraction is needed.",
    "failure": "Why there is no result; null where there is one.",
    "fetched_at": "When the page was fetched.",
    "filters": "What a result must fulfil; null for no filter.",
    "given_at": "When the feedback was given.",
    "goal": "What the orchestrator wants to do with the results, in words.",
    "has_author": "Whether an author is named.",
    "has_byline": "Whether there is a byline.",
    "has_date": "Whether a date of publication was found.",
    "has_doi": "Whether the text cites a DOI.",
    "has_headings": "Whether the main text has subheadings.",
    "has_references_section": "Whether a section lists references.",
    "has_statistics": "Whether there is a data table, or enough figures.",
    "hits": "Results of the call.",
    "improvement": "Change of the actionable information against the parent batch; null on a first attempt.",
    "is_wire_report": "Whether a news agency is credited.",
    "judge_scores": "The scores of the orchestrator's own judge; null without one.",
    "kind": "Which case of the union applies.",
    "label_source": "What decided the label: the score, or without one the tier of the source.",
    "llm": "The call of a judge, also of the offline judge; null if none was asked.",
    "name": "The name of the tool.",
    "navigation": "Results that are navigation: home, login and error pages.",
    "needs_extraction": "Whether detail pages behind listings are fetched.",
    "outcome": "Which case of the event applies.",
    "overall_score": "The weighted mean of the four dimensions.",
    "page_id": "The page, the same for all spellings of its address; null if the address is not http(s).",
    "parent_batch_id": "The batch whose listing was extracted; null for a first batch.",
    "passed": "Whether every dimension reaches its threshold.",
    "points": "Points of the score; 0 for an observation without any.",
    "prompt_tokens": "Tokens of the prompt.",
    "quality_score": "How good it is, 0 to 1.",
    "query": "The question.",
    "reason": "Why, in words.",
    "reasons": "Why, in words.",
    "relevance_score": "How relevant it is to the query, 0 to 1.",
    "relevant": "Whether the source is relevant; false also where no judgment was possible (`outcome`).",
    "request_id": "The request of the application; null in an event that belongs to none.",
    "requested_at": "When the request was written.",
    "required_fields": "What an answer must contain, such as `price`.",
    "results": "The results, the best one first.",
    "retrieved_content": "The results of the search step.",
    "satisfied": "Whether the search can stop.",
    "schema_type": "The schema.org type that the page states.",
    "severe_failure": "Whether the batch fails by far: its overall score is below the configured limit.",
    "site_name": "The publisher as the crawler named it, else the page's own claim.",
    "snippet": "The passage that answers the query; null without one.",
    "source_details": "The evaluation of each source.",
    "source_id": "The document that it comes from, as its producer names it.",
    "source_quality": "How good the sources are.",
    "source_tier": "The tier of the source: 1 is the best, 3 also has all unlisted sites.",
    "sources": "The sources in the order of the request.",
    "specific_content": "Results that are the content itself.",
    "summary": "A description of the page, or its first sentences.",
    "target_url": "The address to fetch.",
    "temperature": "The temperature of the request.",
    "text": "The text as it was found.",
    "tier": "How deep the page is indexed: A all of it, B a summary, C one point.",
    "title": 'The title; "" or null without one.',
    "total": "The sum of the other criteria.",
    "trees": "What the trained ranking did; null if it was not asked.",
    "trust_features": "The observations behind the trust score; null if they are unknown.",
    "trust_label": "The label that a reader or a model is shown.",
    "url": "The address.",
    "utterance_id": "The utterance, as its producer names it; the key of the record.",
    "word_count": "CJK characters and Latin words.",
}
