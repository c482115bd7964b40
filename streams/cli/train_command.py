"""The command ``assay train``; what it does is imported when it is called."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated, Literal

import typer

from streams.cli.options import AsJson, Config, load_settings


def train(
    out: Annotated[Path, typer.Option("--out", "-o", help="A folder for the model that is not there yet.")],
    completed: Annotated[
        Path | None, typer.Option("--completed", help="Answers, one event a line, instead of ranking.completed.v1.")
    ] = None,
    feedback: Annotated[
        Path | None, typer.Option("--feedback", help="Feedback, one event a line, instead of ranking.feedback.v1.")
    ] = None,
    features: Annotated[
        Literal["29", "41"] | None,
        typer.Option("--features", help="Without or with the trust block; 41 from the listwise phase on by default."),
    ] = None,
    seed: Annotated[int, typer.Option(min=0, max=2**31 - 1, help="The same data and seed give the same model.")] = 1,
    skip_other_versions: Annotated[
        bool, typer.Option("--skip-other-versions", help="Leave out answers whose features this Assay does not know.")
    ] = False,
    as_json: AsJson = False,
    config: Config = None,
) -> int:
    """Train a ranking model of what people did with results, and say whether it is better."""
    if (completed is None) != (feedback is None):
        missing = "'--feedback'" if feedback is None else "'--completed'"
        raise typer.BadParameter("answers and feedback both come from files, or both from Kafka", param_hint=missing)
    from streams.cli.train import TrainOptions, run_train

    settings = load_settings(config)
    options = TrainOptions(
        out=out,
        completed=completed,
        feedback=feedback,
        features=int(features) if features else None,
        seed=seed,
        skip_other_versions=skip_other_versions,
        as_json=as_json,
    )
    return run_train(settings if completed else settings.with_kafka(), options)
