"""What calls of a task really took, beside what was foreseen: the ground for telling what others will cost.

A conversation begins with one question and may go on with others (tools that were called, a reply that was none), which
are counted apart, for they are longer and not every conversation has them.
"""

from __future__ import annotations

from typing import NamedTuple

from schemas.needs import AskModel


class Usage(NamedTuple):
    """Sums over calls that were answered.

    Attributes:
        calls: How many.
        estimated: Tokens of their prompts as estimated before anybody had counted (``prompt_tokens_of``).
        prompt: Tokens of their prompts as the server counted them.
        completion: Tokens of their replies.
        milliseconds: That they took.
    """

    calls: int = 0
    estimated: int = 0
    prompt: int = 0
    completion: int = 0
    milliseconds: int = 0


class Used(NamedTuple):
    """What one call took, and whose it was."""

    task: str
    model: str
    opening: bool
    usage: Usage


class Experience(NamedTuple):
    """What all kept calls of a task and model took: those that began a conversation, and those that went on."""

    openings: Usage = Usage()
    followups: Usage = Usage()


def is_opening(need: AskModel) -> bool:
    """Whether a question begins a conversation: nobody has said anything yet, and it was not asked before."""
    return need.try_number == 1 and all(message.role in ("system", "user") for message in need.messages)
