"""The ``model_tasks`` section, and the rules of a handler that asks a model."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from pydantic import Field

from handlers.prompts.template import Prompts, render
from handlers.prompts.untrusted import Block
from schemas.needs import AskModel
from schemas.rules import Rules, Section


class ModelTask(Section):
    """How one task is put to a model. The key is the handler's name."""

    model: str = Field(default="", max_length=200, description="The model; empty: that of llm.model.")
    max_tokens: int = Field(default=512, ge=1, le=100_000, description="Longest reply, in tokens.")
    temperature: float = Field(default=0.0, ge=0, le=2, description="0 for the likeliest reply.")


ModelTasks = dict[str, ModelTask]
"""The ``model_tasks`` section of ``config/models.yaml``: every task under the name of its handler."""


class AskingRules(Rules):
    """Rules of a handler that asks a model."""

    model_tasks: ModelTasks
    prompts: Prompts

    def ask(
        self,
        task: str,
        trusted: Mapping[str, str],
        untrusted: Mapping[str, str | Sequence[Block]],
        facts: Mapping[str, Any],
        schema: Mapping[str, Any] | None = None,
    ) -> AskModel:
        """The question of a task: its prompt with these values, and the facts for the offline judge."""
        template, asked = self.prompts[task], self.model_tasks[task]
        messages = render(template, trusted, untrusted)
        return AskModel(task, template.version, messages, facts, asked.max_tokens, asked.temperature, schema=schema)
