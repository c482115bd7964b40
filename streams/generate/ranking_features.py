"""``docs/ranking-features.md``: what the trees see of a candidate, from the table that numbers the features."""

from __future__ import annotations

from pathlib import Path

from handlers.ranking.model import (
    OBJECTIVES,
    TOTAL_FEATURES_PHASE_A,
    TOTAL_FEATURES_PHASE_C,
    VERSION_PHASE_A,
    VERSION_PHASE_C,
    Feature,
    Manifest,
)
from streams.generate.documents import IN_MARKDOWN


def ranking_features_page() -> dict[Path, str]:
    """The page."""
    features = "\n".join(
        f"| {feature.value} | `{feature.name.lower()}` | {feature.meaning} | {feature.missing} |" for feature in Feature
    )
    fields = "\n".join(f"| `{name}` | {field.description} |" for name, field in Manifest.model_fields.items())
    phases = "\n".join(f"| {phase} | `{objective}` |" for phase, objective in OBJECTIVES.items())
    base, total = TOTAL_FEATURES_PHASE_A, TOTAL_FEATURES_PHASE_C
    page = f"""{IN_MARKDOWN}

# Features of the ranking

What the trees see of each candidate of a query (`ranking.trees`). Columns 0 to {base - 1} are the base,
`{VERSION_PHASE_A}`: they are computed from the query, the candidate and the stages before, and are the same whatever
is known of a candidate's trust, so a model of {base} features goes on as it was. Column {base} and the block of trust
behind it make them the {total} of `{VERSION_PHASE_C}`. A result's `features` in `ranking.completed.v1` are
always all {total}, a missing value as `null`, whether trees are asked or not: training reads what serving saw.

| column | name | meaning | missing value |
|---|---|---|---|
{features}

XGBoost sends a missing value (NaN) down the branch that did best in training; so a candidate without trust is told by
column {base} and is not mistaken for one of no trust. In the cascade, where trees are asked before the judge, the order
before is the fused one and no judge has scored. A feature whose meaning changes makes a new version.

## A model

A model is a folder with `manifest.json` and `model.json`, as XGBoost's `save_model` writes it. `ranking.trees.model`
names it: `shipped`, or a path to the folder or its manifest. XGBoost comes with the extra `assay[rank]`; the
image has it.

| key of the manifest | meaning |
|---|---|
{fields}

| phase | objective |
|---|---|
{phases}

Names, order, number and version of the features, the SHA-256 of the model file, the number and names of the features
in the model file and its objective are all checked when the configuration is read; what does not fit is refused with
the first thing that differs.

How sure the trees are is a probability. Of a binary model it is that of its first result being relevant. The scores of
the others are log-odds of standing above one another, and it is the probability that the first rightly stands above
the second. Below `ranking.trees.confidence` the order before stands, and the trees' scores are shown beside it.
"""
    return {Path("docs/ranking-features.md"): page}
