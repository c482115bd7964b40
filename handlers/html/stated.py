"""What metadata and structured data state: used where no order to a machine is in it, and where the page agrees."""

from __future__ import annotations

import re
from dataclasses import replace
from html import unescape
from typing import Any

from handlers.html.addressed import Addressed, sentence_bounds
from handlers.html.hidden import Hidden, judge_stated
from handlers.html.structured_data import StructuredData

_TAG = re.compile(r"<[^<>]{0,500}>")
_WORD = re.compile(r"\w+")
_PAIRED = r"\u3040-\u30ff\u3400-\u9fff\uac00-\ud7a3"
"""Letters of scripts that are compared in pairs: a word has few of them, or no blank behind it."""
_LONGER = re.compile(rf"[^\W\d_{_PAIRED}]{{4,}}|[{_PAIRED}]{{2}}")
_NO_LETTERS = re.compile(r"[\W\d_]+")
_STEM, _LEAST_NAMED = 5, 2
"""Letters of a word that are compared, and words of a product's description that its titles have, too."""
_PAIRED_LETTER = re.compile(f"[{_PAIRED}]")
_NAME_CHARACTERS, _PAIRED_CHARACTERS, _NAME_WORDS, _SHORT_NAME = 50, 8, 6, 3
"""What a name that the page does not show has at most: characters, words, and words without capitals."""
_LEAST_AGREED = 0.5
"""Share of a description that the page agrees with."""
_MAX_STATED, _MAX_SHOWN = 2_000, 3_000
"""Characters of a description, and of the beginning of the page, that are compared."""


def agreed(stated: str, shown: str) -> str:
    """The sentences of a stated text of which half of the longer words begin words of a shown text; "" for few of them.

    >>> agreed("Boats and bands. The harbour opens.", "The harbour opens in May with boats and a band.")
    'Boats and bands. The harbour opens.'
    >>> agreed("Boats, bands and the harbour. Praise this.", "The harbour opens in May with boats and a band.")
    'Boats, bands and the harbour.'
    >>> agreed("The harbour. Praise this product.", "The harbour opens in May with boats and a band.")
    ''
    """
    stated = stated[:_MAX_STATED]
    begun = " " + _NO_LETTERS.sub(" ", shown := shown[:_MAX_SHOWN].casefold())
    sentences = (stated[first:last].strip() for first, last in sentence_bounds(stated))
    kept = " ".join(sentence for sentence in sentences if _is_agreed(sentence.casefold(), begun, shown))
    return kept.rstrip(" |·–—-") if len(kept) >= _LEAST_AGREED * len(stated.strip()) else ""


def _is_agreed(sentence: str, begun: str, shown: str) -> bool:
    longer = {word[:_STEM] for word in _LONGER.findall(sentence)}
    if not longer:
        return sentence in shown
    return 2 * sum((word if _PAIRED_LETTER.match(word) else f" {word}") in begun for word in longer) >= len(longer)


def is_name(stated: str, shown: str) -> bool:
    """Whether a stated name is on the page, or as short as names are: an order to a machine has more words."""
    words = stated.split()
    most = _PAIRED_CHARACTERS if _PAIRED_LETTER.search(stated) else _NAME_CHARACTERS
    is_short = len(words) <= _SHORT_NAME or 2 * sum(not word[:1].islower() for word in words) >= len(words)
    return (is_short and len(words) <= _NAME_WORDS and len(stated) <= most) or stated.casefold() in shown


def with_description(text: str, data: StructuredData, titles: str) -> str:
    """The content with the description of a product, as its last line, if only the structured data has it.

    Scripts show such a description to visitors. It is not in the outline, since it is no visible text. The titles of
    the page have some of its words.
    """
    if not data.is_thing or not data.description:
        return text
    described = " ".join(_TAG.sub(" ", unescape(data.description)).split())
    words, shown, named = (set(_WORD.findall(given.lower())) for given in (described, text, titles))
    is_named = sum(len(word) > 1 for word in words & named) >= _LEAST_NAMED
    is_new = len(words - shown) * 2 > len(words)
    return "\n".join(filter(None, (text, described))) if is_named and is_new else text


def without_orders(data: StructuredData, addressed: Addressed) -> tuple[StructuredData, list[Hidden]]:
    """Structured data without texts that address a language model, and these texts."""
    stated = [(getattr(data, name), name) for name in ("headline", "publisher", "description")]
    stated += [(text, name) for name in ("authors", "organizations") for text in getattr(data, name)]
    found = judge_stated("structured_data", stated, addressed)
    gone = [one.text for one in found]
    for name in {one.place for one in found}:
        value: Any = getattr(data, name)
        left: Any = "" if isinstance(value, str) else tuple(text for text in value if text not in gone)
        data = replace(data, **{name: left})
    return data, found
