"""What calls cost, by the configured prices, and how many tokens a question will take before anybody has counted."""

from __future__ import annotations

import json
import re

from schemas.needs import AskModel
from streams.llm.settings import ModelLimits

_BYTES_PER_TOKEN = 4
"""English has about 4 characters a token."""
_WIDE = re.compile(r"[\u1100-\u11ff\u2e80-\ud7ff\uf900-\ufaff\ufe30-\ufe4f\uff00-\uffef\U00020000-\U0003ffff]+")
"""Ideographs, kana, hangul and their marks: about a token each."""
_TOKENS_PER_MESSAGE = 8
MILLION = 1_000_000


def cost_of(limits: ModelLimits, prompt_tokens: float, completion_tokens: float) -> float | None:
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
    return sum(map(tokens_of, texts)) + _TOKENS_PER_MESSAGE * len(need.messages)


def tokens_of(text: str) -> int:
    """About as many tokens as a text has.

    >>> tokens_of("Health insurance in Taiwan"), tokens_of("全民健康保險")
    (6, 6)
    """
    wide = "".join(_WIDE.findall(text))
    narrow = len(text.encode("utf-8", "replace")) - len(wide.encode("utf-8", "replace"))
    return len(wide) + narrow // _BYTES_PER_TOKEN
