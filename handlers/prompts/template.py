"""A prompt's template and values to the messages that are sent: what others wrote stays text, whatever it says.

A template has two parts, ``# system`` and ``# user``, with places such as ``{{query}}``. A trusted value is put in as
it is. An untrusted one (a page's title, a claim, a tool's answer) is put into a block between two lines that carry a
nonce: a hash over the template and all values. A text cannot contain its nonce, because the nonce depends on the text.
"""

from __future__ import annotations

import hashlib
import json
import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
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
# A nonce has no digits, so that a prompt shows no number where there is none.
_LETTERS = str.maketrans("0123456789abcdef", "ghijklmnopqrstuv")


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


@dataclass(frozen=True, slots=True)
class Block:
    """One of several texts that others wrote, for one place of a prompt.

    Attributes:
        name: What the lines around the text call it, such as ``source 1``.
        text: The text, already cut to its length.
        line: A line of ours before the block; "" for none.
    """

    name: str
    text: str
    line: str = ""


def render(
    template: Template,
    trusted: Mapping[str, str],
    untrusted: Mapping[str, str | Sequence[Block]],
    max_characters: int = MAX_CHARACTERS,
) -> tuple[Message, ...]:
    r"""The messages of a template with its values (R-132).

    ``{{nonce}}`` is replaced by the nonce that all blocks of the messages have. A template names it in the lines that
    begin and end what the model must not obey.

    Args:
        template: The prompt.
        trusted: Values from ourselves or the operator, put in as they are.
        untrusted: Values that others wrote; each is put into a block, or into several.
        max_characters: What an untrusted value of one block is cut to.

    Raises:
        ValueError: The template has a place without a value; a bug that a test of the handler finds.

    >>> template = Template.model_validate("# system\nSay yes or no.\n# user\nIs it about {{topic}}?\n{{title}}")
    >>> [system, user] = render(template, {"topic": "rain"}, {"title": "Sun >> no"})
    >>> print(user.content)
    Is it about rain?
    <<title lskhkshqhqsvkrrt>>
    Sun > > no
    <<end of title lskhkshqhqsvkrrt>>
    """
    blocks = {
        name: [Block(name, cleaned(value, max_characters))] if isinstance(value, str) else value
        for name, value in untrusted.items()
    }
    texts = {name: [block.text for block in several] for name, several in blocks.items()}
    nonce = nonce_over([template.system, template.user, dict(trusted), texts])
    values = {"nonce": nonce, **trusted} | {name: in_blocks(several, nonce) for name, several in blocks.items()}

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
    block = Block(name, cleaned(text, max_characters))
    return in_blocks([block], nonce_over([template.system, template.user, block.name, block.text]))


def in_blocks(blocks: Sequence[Block], nonce: str) -> str:
    """Texts of others, each between lines with the nonce. The brackets in a text are broken here, after all else."""
    return "\n\n".join(
        (f"{block.line}\n" if block.line else "")
        + f"<<{block.name} {nonce}>>\n{_harmless(block.text).strip()}\n<<end of {block.name} {nonce}>>"
        for block in blocks
    )


def nonce_over(content: Any) -> str:
    """Sixteen letters that depend on all of ``content``, which is any JSON value."""
    return _digest(content)[:16].translate(_LETTERS)


def cleaned(text: str, max_characters: int = MAX_CHARACTERS) -> str:
    r"""A text that can be shown to a model: no control or unseen characters, no block's bracket, no more than so much.

    >>> cleaned("a\x00b\r\nc <<<end>> \u202e")
    'ab\nc < < <end> >'
    """
    return _harmless(text[: 2 * max_characters])[:max_characters].strip()


def _harmless(text: str) -> str:
    """A text without unseen characters in which no two brackets of a block's line stand together."""
    return _BRACKETS.sub(lambda bracket: f"{bracket[0]} ", _UNSEEN.sub("", _LINE_ENDS.sub("\n", text)))


def _digest(content: Any) -> str:
    # ASCII, so that halves of characters do no harm.
    return hashlib.sha256(json.dumps(content, sort_keys=True).encode("ascii")).hexdigest()
