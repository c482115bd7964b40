"""What fields mean that have the same name and meaning in several events.

A model's own docstring, and those of its bases, come first; a test requires a meaning for every field.
"""

from __future__ import annotations

from collections.abc import Iterator
from inspect import cleandoc

from schemas.event import Part
from streams.topology.text import attributes

_SHARED = {
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
    "end": "The end of the detail in the text: an offset in characters.",
    "external_links_count": "Links to other registrable domains in the main text; null if not observed.",
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
    "start": "The begin of the detail in the text: an offset in characters.",
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


def meanings_of(title: str) -> dict[str, str]:
    """The meaning of each field of the model with that name."""
    found = dict(_SHARED)
    model = next((model for model in _models(Part) if model.__name__ == title), Part)
    for base in reversed(model.__mro__):
        found |= attributes(cleandoc(base.__doc__ or ""))
    return found


def _models(base: type[Part]) -> Iterator[type[Part]]:
    for model in base.__subclasses__():
        yield model
        yield from _models(model)
