"""What calls cost, by the configured prices, and how many tokens a question will take before anybody has counted."""

from __future__ import annotations

import json

from schemas.outcome import AskModel
from streams.llm.settings import ModelLimits

_BYTES_PER_TOKEN = 4
"""English has about 4 characters a token, Chinese about 3 bytes a character and a token a character or less."""
_TOKENS_PER_MESSAGE = 8
MILLION = 1_000_000


def cost_of(limits: ModelLimits, prompt_tokens: int, completion_tokens: int) -> float | None:
    """USD of a call; None where the model has no price.

    >>> cost_of(ModelLimits(price_in=0.5, price_out=2.0), 1000, 10)
    0.00052
    """
    if limits.price_in is None or limits.price_out is None:
        return None
    return (prompt_tokens * limits.price_in + completion_tokens * limits.price_out) / MILLION


def prompt_tokens_of(need: AskModel) -> int:
    """About as many tokens as the prompt has."""
    texts = [message.content for message in need.messages]
    texts += [call.arguments for message in need.messages for call in message.tool_calls]
    texts += [f"{tool.description}{json.dumps(dict(tool.parameters))}" for tool in need.tools]
    size = sum(len(text.encode("utf-8", "replace")) for text in texts)
    return size // _BYTES_PER_TOKEN + _TOKENS_PER_MESSAGE * len(need.messages)
