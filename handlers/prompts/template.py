"""Renders a prompt's template and its values as messages; which model is asked, and how.

A template has two parts, ``# system`` and ``# user``, with places such as ``{{query}}``. Trusted values are inserted
unchanged. Untrusted values (a page's title, a claim, a tool's answer) are inserted as blocks (``untrusted``).
"""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from dataclasses import asdict
from functools import cached_property
from typing import Any

from pydantic import BaseModel, Field, model_validator

from handlers.prompts.replies import schema_of
from handlers.prompts.untrusted import Block, cleaned, digest, in_blocks, nonce_over
from schemas.needs import AskModel, Message
from schemas.rules import Rules, Section

_PLACE = re.compile(r"\{\{([a-z_]{1,40})\}\}")
_PART = re.compile(r"^# (system|user)[ \t]*$", re.MULTILINE)


class Template(Section):
    """A prompt's template. It is written as one text with the headings ``# system`` and ``# user``."""

    system: str = Field(min_length=1, description="The instructions of the task.")
    user: str = Field(min_length=1, description="What it is asked, with {{places}} for values.")

    @model_validator(mode="before")
    @classmethod
    def _from_text(cls, value: Any) -> Any:
        if not isinstance(value, str):
            return value
        pieces = _PART.split(value)
        if [*pieces[1::2]] != ["system", "user"] or pieces[0].strip():
            raise ValueError("a prompt has the two parts '# system' and '# user', in this order")
        return {"system": pieces[2].strip(), "user": pieces[4].strip()}

    @cached_property
    def version(self) -> str:
        """Twelve hexadecimal digits over the text; every decision that uses the prompt contains them (R-272)."""
        return digest([self.system, self.user])[:12]


Prompts = dict[str, Template]
"""The ``prompts`` section: every file ``handlers/prompts/<task>.md`` under its stem."""


class ModelTask(Section):
    """How one task is put to a model. The key is the handler's name."""

    model: str = Field(default="", max_length=200, description="The model; empty: that of llm.model.")
    max_tokens: int = Field(default=512, ge=1, le=100_000, description="Longest reply, in tokens.")
    temperature: float = Field(default=0.0, ge=0, le=2, description="0 for the likeliest reply.")


ModelTasks = dict[str, ModelTask]
"""The ``model_tasks`` section of ``config/models.yaml``: every task under the name of its handler."""


def render(
    template: Template, trusted: Mapping[str, str], untrusted: Mapping[str, str | Sequence[Block]]
) -> tuple[Message, ...]:
    r"""The messages of a template with its values (R-132).

    ``{{nonce}}`` is the nonce of all blocks. The template uses it to describe the lines around a block.

    Args:
        template: The prompt.
        trusted: Values from ourselves or the operator, inserted unchanged.
        untrusted: Values from others; each becomes one block, cut to ``untrusted.MAX_CHARACTERS``, or several.

    Raises:
        ValueError: The template has a place without a value; a test of each handler finds such a mistake.

    >>> template = Template.model_validate("# system\nSay yes or no.\n# user\nIs it about {{topic}}?\n{{title}}")
    >>> [system, user] = render(template, {"topic": "rain"}, {"title": "Sun [1]\n<<"})
    >>> print(user.content)
    Is it about rain?
    <<title vkssmrkktsmnnsrh>>
    "Sun (1)\n<\u003c"
    <<end of title vkssmrkktsmnnsrh>>
    """
    blocks = {
        name: [Block(name, cleaned(value))] if isinstance(value, str) else value for name, value in untrusted.items()
    }
    contents = {name: [asdict(block) for block in several] for name, several in blocks.items()}
    nonce = nonce_over([template.system, template.user, dict(trusted), contents])
    values = {"nonce": nonce, **trusted} | {name: in_blocks(several, nonce) for name, several in blocks.items()}

    def value(place: re.Match[str]) -> str:
        if place[1] not in values:
            raise ValueError(f"the template has a place {place[0]} and there is no such value")
        return values[place[1]]

    return (
        Message("system", _PLACE.sub(value, template.system)),
        Message("user", _PLACE.sub(value, template.user)),
    )


def quoted(template: Template, name: str, text: str) -> str:
    """An untrusted text in a block of its own, as for the answer of a tool in a later message."""
    block = Block(name, cleaned(text))
    return in_blocks([block], nonce_over([template.system, template.user, asdict(block)]))


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
        reply: type[BaseModel] | None = None,
    ) -> AskModel:
        """The question of a task: its prompt with these values, the facts for the offline judge, and the reply."""
        template, asked = self.prompts[task], self.model_tasks[task]
        messages, schema = render(template, trusted, untrusted), schema_of(reply) if reply else None
        return AskModel(task, template.version, messages, facts, asked.max_tokens, asked.temperature, schema=schema)
