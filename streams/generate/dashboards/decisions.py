"""The dashboards of what is decided: trust and the index; results, extraction, sources, searches and claims."""

from __future__ import annotations

from streams.generate.alerts import TIER_SHARE
from streams.generate.panels import Dashboard, Panel, Query, Row, counted, gauge, single
from streams.generate.promql import RANGE, increase, mean, rate, series
from streams.telemetry.metrics import Metrics


def trust() -> Dashboard:
    """Trust scores, and the index by tier (R-270)."""
    return Dashboard(
        name="trust",
        title="Assay: trust and index",
        note="Trust of pages by tier, label, score and feature, and what the index keeps. Tiers, labels and features"
        " are of live traffic; scores and the index include backfills.",
        rows=(Row(title="Trust", panels=_scores()), Row(title="Index", panels=_index())),
    )


def results() -> Dashboard:
    """Results and extraction (R-068), sources, searches and claims."""
    return Dashboard(
        name="results",
        title="Assay: results and extraction",
        note="Results of searches, what is fetched because of them, and how they are judged; backfills included.",
        rows=(
            Row(title="Results and extraction", panels=_results()),
            Row(title="Sources, searches and claims", panels=_judged()),
        ),
    )


def _scores() -> tuple[Panel, ...]:
    features = rate(Metrics.page_features_total, "feature")
    return (
        counted(
            "Pages by tier",
            "A is indexed deepest, C least. If the mix drifts: AssayTierMixDrift.",
            Metrics.pages_scored_total,
            "tier",
            form="stack",
        ),
        counted(
            "Pages by trust label",
            "The label that a reader of the index gets.",
            Metrics.pages_scored_total,
            "trust_label",
            form="stack",
        ),
        Panel(
            title="Share of each tier, over an hour",
            note="Steady as long as sources and rules are; the index was planned with 10, 50 and 40 in 100.",
            unit="percentunit",
            queries=single(TIER_SHARE, "{{tier}}"),
            form="stack",
        ),
        Panel(
            title="Trust scores, pages up to",
            note="How many pages have a score between two bounds, in the range shown.",
            unit="short",
            queries=single(increase(Metrics.cts_score, "le", window=RANGE, part="_bucket"), "{{le}}"),
            form="bars",
        ),
        Panel(
            title="Share of pages with a feature",
            note="If one falls to nothing, a site or the parsing of pages has changed.",
            unit="percentunit",
            queries=single(f"{features} / scalar({rate(Metrics.pages_scored_total)})", "{{feature}}"),
        ),
    )


def _index() -> tuple[Panel, ...]:
    return (
        Panel(
            title="Points: counted, and as estimated",
            note="Points in the index, and what `assay estimate` computes for its documents: tiered (the 24 million"
            " of the plan) and if each were chunked in full (the 100 million).",
            unit="short",
            queries=(
                # Every process that writes counts the same index.
                Query(f"max({series(Metrics.index_points)})", "counted"),
                Query(f"max by (plan) ({series(Metrics.index_points_estimated)})", "estimated, {{plan}}"),
            ),
        ),
        gauge("Documents by tier", "As last counted in the index.", "max", Metrics.index_documents, "tier"),
        counted(
            "Pages indexed",
            "By tier, and by what that changed: unchanged pages write nothing, outdated ones are refused.",
            Metrics.documents_indexed_total,
            "tier",
            "change",
            form="stack",
        ),
        Panel(
            title="Points written and removed",
            note="Removed: a page changed its tier or became shorter.",
            unit="cps",
            queries=(
                Query(rate(Metrics.index_points_written_total), "written"),
                Query(rate(Metrics.index_points_removed_total), "removed"),
            ),
        ),
    )


def _results() -> tuple[Panel, ...]:
    gained = f"({rate(Metrics.actionable_after_total)} - {rate(Metrics.actionable_before_total)})"
    gained += f" / {rate(Metrics.actionable_improvement, part='_count')}"
    listings = rate(Metrics.results_classified_total, result_type="AGGREGATOR")
    return (
        counted(
            "Results by type",
            "A detail page, a listing, or navigation.",
            Metrics.results_classified_total,
            "result_type",
            form="stack",
        ),
        Panel(
            title="Share of listings",
            note="How often a search returns a listing instead of a detail page (R-068).",
            unit="percentunit",
            queries=single(f"{listings} / {rate(Metrics.results_classified_total)}", "listings"),
        ),
        counted("Verdicts", "Batches that pass, or not.", Metrics.batches_total, "verdict", form="stack"),
        counted(
            "Extractions triggered",
            "Requests to fetch pages, by what asked (R-068).",
            Metrics.extractions_triggered_total,
            "reason",
        ),
        Panel(
            title="Mean improvement by extraction",
            note="Actionable information of a batch against the one it was extracted for (R-068). Above 0: useful.",
            unit="percentunit",
            queries=single(gained, "improvement"),
            signed=True,
        ),
    )


def _judged() -> tuple[Panel, ...]:
    return (
        counted(
            "Sources judged, by outcome",
            "unparsed, error and timeout are not judgments; a source without a judgment is excluded.",
            Metrics.relevance_judgments_total,
            "outcome",
            form="stack",
        ),
        counted(
            "Relevant sources read",
            "By the reason for a missing snippet; no name: there is a snippet.",
            Metrics.snippets_total,
            "reason",
        ),
        counted(
            "Searches, by recommendation",
            "stop: the goal is met.",
            Metrics.searches_evaluated_total,
            "recommendation",
            form="stack",
        ),
        Panel(
            title="Scores of searches: model against rubric",
            note="The mean distance; it grows if a model drifts.",
            unit="short",
            queries=single(mean(Metrics.search_judge_drift), "mean distance"),
        ),
        counted(
            "Claims, by band",
            "How far claims can be understood without their context; failed has no score.",
            Metrics.claims_evaluated_total,
            "band",
            form="stack",
        ),
        counted(
            "Claims, by how judging them ended",
            "Only success has a score.",
            Metrics.claims_evaluated_total,
            "status",
            form="stack",
        ),
    )
