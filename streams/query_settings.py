"""The ``query`` section of the configuration: how much queries outside of Kafka may take."""

from __future__ import annotations

from pydantic import Field

from schemas.rules import Section


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
