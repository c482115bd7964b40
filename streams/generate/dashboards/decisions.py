"""The dashboards of what is decided: trust and the index; results, extraction, sources, searches and claims."""

from __future__ import annotations

from streams.generate.alerts import TIER_SHARE
from streams.generate.panels import Dashboard, Panel, Query, Row, counted, gauge, single
from streams.generate.promql import RANGE, increase, mean, rate, series
from streams.telemetry import metric_defs as defs


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
    features = rate(defs.PAGE_FEATURES, "feature")
    return (
        counted(
            "Pages by tier",
            "A is indexed deepest, C least. If the mix drifts: AssayTierMixDrift.",
            defs.PAGES_SCORED,
            "tier",
            form="stack",
        ),
        counted(
            "Pages by trust label",
            "The label that a reader of the index gets.",
            defs.PAGES_SCORED,
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
            queries=single(increase(defs.CTS_SCORE, "le", window=RANGE, part="_bucket"), "{{le}}"),
            form="bars",
        ),
        Panel(
            title="Share of pages with a feature",
            note="If one falls to nothing, a site or the parsing of pages has changed.",
            unit="percentunit",
            queries=single(f"{features} / scalar({rate(defs.PAGES_SCORED)})", "{{feature}}"),
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
                Query(f"max({series(defs.INDEX_POINTS)})", "counted"),
                Query(f"max by (plan) ({series(defs.INDEX_POINTS_ESTIMATED)})", "estimated, {{plan}}"),
            ),
        ),
        gauge("Documents by tier", "As last counted in the index.", "max", defs.INDEX_DOCUMENTS, "tier"),
        counted(
            "Pages indexed",
            "By tier, and by what that changed: unchanged pages write nothing, outdated ones are refused.",
            defs.DOCUMENTS_INDEXED,
            "tier",
            "change",
            form="stack",
        ),
        Panel(
            title="Points written and removed",
            note="Removed: a page changed its tier or became shorter.",
            unit="cps",
            queries=(Query(rate(defs.POINTS_WRITTEN), "written"), Query(rate(defs.POINTS_REMOVED), "removed")),
        ),
    )


def _results() -> tuple[Panel, ...]:
    gained = f"({rate(defs.ACTIONABLE_AFTER)} - {rate(defs.ACTIONABLE_BEFORE)})"
    gained += f" / {rate(defs.ACTIONABLE_IMPROVEMENT, part='_count')}"
    listings = rate(defs.RESULTS_CLASSIFIED, result_type="AGGREGATOR")
    return (
        counted(
            "Results by type",
            "A detail page, a listing, or navigation.",
            defs.RESULTS_CLASSIFIED,
            "result_type",
            form="stack",
        ),
        Panel(
            title="Share of listings",
            note="How often a search returns a listing instead of a detail page (R-068).",
            unit="percentunit",
            queries=single(f"{listings} / {rate(defs.RESULTS_CLASSIFIED)}", "listings"),
        ),
        counted("Verdicts", "Batches that pass, or not.", defs.BATCHES, "verdict", form="stack"),
        counted(
            "Extractions triggered",
            "Requests to fetch pages, by what asked (R-068).",
            defs.EXTRACTIONS_TRIGGERED,
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
            defs.RELEVANCE_JUDGMENTS,
            "outcome",
            form="stack",
        ),
        counted(
            "Relevant sources read",
            "By the reason for a missing snippet; no name: there is a snippet.",
            defs.SNIPPETS,
            "reason",
        ),
        counted(
            "Searches, by recommendation",
            "stop: the goal is met.",
            defs.SEARCHES_EVALUATED,
            "recommendation",
            form="stack",
        ),
        Panel(
            title="Scores of searches: model against rubric",
            note="The mean distance; it grows if a model drifts.",
            unit="short",
            queries=single(mean(defs.SEARCH_JUDGE_DRIFT), "mean distance"),
        ),
        counted(
            "Claims, by band",
            "How far claims can be understood without their context; failed has no score.",
            defs.CLAIMS_EVALUATED,
            "band",
            form="stack",
        ),
        counted(
            "Claims, by how judging them ended",
            "Only success has a score.",
            defs.CLAIMS_EVALUATED,
            "status",
            form="stack",
        ),
    )
