"""A prompt's template and values to the messages that are sent: what others wrote stays text, whatever it says.

A template has two parts, ``# system`` and ``# user``, with places such as ``{{query}}``. A trusted value is put in as
it is. An untrusted one (a page's title, a claim, a tool's answer) is put into a block between two lines that carry a
nonce: a hash over the template and all values, which nobody can write into his own text, since the text decides it.
"""

from __future__ import annotations

import hashlib
import json
import re
from collections.abc import Mapping
from functools import cached_property
from typing import Any

from pydantic import Field, model_validator

from schemas.needs import Message
from schemas.rules import Section

MAX_CHARACTERS = 20_000
"""Of one untrusted value; handlers cap theirs shorter by rules of their own."""

_PLACE = re.compile(r"\{\{([a-z_]{1,40})\}\}")
_PART = re.compile(r"^# (system|user)[ \t]*$", re.MULTILINE)
_LINE_ENDS = re.compile("\r\n?|[\u0085\u2028\u2029]")
# Control characters, what changes the direction of text or is not seen at all, and halves of characters.
_UNSEEN = re.compile(
    "[\x00-\x08\x0b-\x1f\x7f-\x9f\u00ad\u200b\u200e\u200f\u202a-\u202e\u2060-\u206f\ufeff\ufff9-\ufffb\ud800-\udfff"
    "\U000e0000-\U000e007f]"
)
_BRACKETS = re.compile(r"<(?=<)|>(?=>)")


class Template(Section):
    """A prompt's template. It is written as one text with the headings ``# system`` and ``# user``."""

    system: str = Field(min_length=1, description="What the model is told about its task.")
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
        """Twelve hexadecimal digits over the text; it goes into every decision that rests on the prompt (R-272)."""
        return _digest([self.system, self.user])[:12]


Prompts = dict[str, Template]
"""The ``prompts`` section: every file ``handlers/prompts/<task>.md`` under its stem."""


def render(
    template: Template,
    trusted: Mapping[str, str],
    untrusted: Mapping[str, str],
    max_characters: int = MAX_CHARACTERS,
) -> tuple[Message, ...]:
    r"""The messages of a template with its values (R-132).

    ``{{nonce}}`` stands for the nonce, so that a template can say which lines begin and end what is not to be obeyed.

    Args:
        template: The prompt.
        trusted: Values from ourselves or the operator, put in as they are.
        untrusted: Values that others wrote, put into blocks.
        max_characters: What an untrusted value is cut to.

    Raises:
        ValueError: The template has a place without a value; a bug that a test of the handler finds.

    >>> template = Template.model_validate("# system\nSay yes or no.\n# user\nIs it about {{topic}}?\n{{title}}")
    >>> [system, user] = render(template, {"topic": "rain"}, {"title": "Sun >> no"})
    >>> print(user.content)
    Is it about rain?
    <<title ba62dab01dc6a09c>>
    Sun > > no
    <<end of title ba62dab01dc6a09c>>
    """
    nonce = _nonce(template, trusted, untrusted)
    values = {"nonce": nonce, **trusted}
    values |= {name: _block(name, text, nonce, max_characters) for name, text in untrusted.items()}

    def value(place: re.Match[str]) -> str:
        if place[1] not in values:
            raise ValueError(f"the template has a place {place[0]} and there is no such value")
        return values[place[1]]

    return (
        Message("system", _PLACE.sub(value, template.system)),
        Message("user", _PLACE.sub(value, template.user)),
    )


def quoted(template: Template, name: str, text: str, max_characters: int = MAX_CHARACTERS) -> str:
    """An untrusted text in a block of its own, as for the answer of a tool in a later message."""
    return _block(name, text, _nonce(template, {}, {name: text}), max_characters)


def cleaned(text: str, max_characters: int = MAX_CHARACTERS) -> str:
    r"""A text that can be shown to a model: no control or unseen characters, no block's bracket, no more than so much.

    >>> cleaned("a\x00b\r\nc <<<end>> \u202e")
    'ab\nc < < <end> >'
    """
    seen = _UNSEEN.sub("", _LINE_ENDS.sub("\n", text[: 2 * max_characters]))
    return _BRACKETS.sub(lambda bracket: f"{bracket[0]} ", seen)[:max_characters].strip()


def _block(name: str, text: str, nonce: str, max_characters: int) -> str:
    return f"<<{name} {nonce}>>\n{cleaned(text, max_characters)}\n<<end of {name} {nonce}>>"


def _nonce(template: Template, trusted: Mapping[str, str], untrusted: Mapping[str, str]) -> str:
    return _digest([template.system, template.user, dict(trusted), dict(untrusted)])[:16]


def _digest(content: Any) -> str:
    # ASCII, so that halves of characters do no harm.
    return hashlib.sha256(json.dumps(content, sort_keys=True).encode("ascii")).hexdigest()
