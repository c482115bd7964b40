"""The ``model_tasks`` section: which model judges each task and how it is asked, as far as decisions depend on it."""

from __future__ import annotations

from pydantic import Field

from schemas.rules import Section


class ModelTask(Section):
    """How one task is put to a model. The key is the handler's name."""

    model: str = Field(default="", max_length=200, description="The model; empty: that of llm.model.")
    max_tokens: int = Field(default=512, ge=1, le=100_000, description="Longest reply, in tokens.")
    temperature: float = Field(default=0.0, ge=0, le=2, description="0 for the likeliest reply.")


ModelTasks = dict[str, ModelTask]
"""The ``model_tasks`` section of ``config/models.yaml``: every task under the name of its handler."""
