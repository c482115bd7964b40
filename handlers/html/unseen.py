"""Texts of a walk that no visitor sees: metadata, comments, and characters without width."""

from __future__ import annotations

import re
from typing import Protocol

from selectolax.lexbor import LexborNode

from handlers.html.addressed import Addressed
from handlers.html.hidden_text import IN_DOUBT, KEPT, MAY_BE_UNSEEN, UNSEEN, Hidden, judge, place_of
from handlers.html.styles import Hiding

_LEAST_UNSEEN = 8
"""Characters without width that are a message or break up words, and not a mistake of an editor."""
_BROKEN = 4
"""A text with one such character in so many hides its words from filters."""
_NO_WIDTH = "has no width"
_TAGS = re.compile("[\U000e0020-\U000e007e]{4,}")
_REVERSED = re.compile("[\u202e\u2067]([^\u202c\u2069\n]{4,2000})")
_GONE = Hiding("tiny_font", is_gone=True)
_LEAST_TEXT, _LEAST_BLANKS = 8, 2
"""Characters of metadata, and blanks in it unless it has Chinese or the like; a text with fewer gives no orders."""


class Texts(Protocol):
    """What a walk found: texts with their nodes, and metadata."""

    texts: list[str]
    nodes: list[LexborNode]
    comments: list[str]
    meta: dict[str, list[str]]
    title: str


def take_out_unseen(outline: Texts, addressed: Addressed) -> list[Hidden]:
    """Empties texts and metadata that address a model by characters without width, and removes such characters."""
    found: list[Hidden] = []
    texts = outline.texts
    for place, text in enumerate(texts):
        if text.isascii() or not MAY_BE_UNSEEN.search(text) or not (unseen := len(UNSEEN.findall(text))):
            continue
        is_broken = unseen >= _LEAST_UNSEEN and unseen * _BROKEN > len(text)
        decoded = _decoded(text, is_broken=is_broken) if unseen > 1 else []
        said = next(filter(None, judge(decoded, addressed)), None)
        if became := said or (("left_out", _NO_WIDTH) if unseen >= _LEAST_UNSEEN else None):
            found.append(Hidden("invisible_characters", place_of(outline.nodes[place]), text, *became))
        texts[place] = (UNSEEN.sub("", text) or " ") if said is None and not is_broken else " "
    values = dict.fromkeys(value for values in outline.meta.values() for value in values if _may_order(value))
    comments = [(text, IN_DOUBT) for text in outline.comments if _may_order(text)]
    judged = judge([*((value, KEPT) for value in values), *comments, (outline.title, IN_DOUBT)], addressed)
    *of_others, of_title = judged
    told = dict(zip(values, of_others, strict=False))
    of_comments = zip(comments, of_others[len(values) :], strict=True)
    found += [Hidden("comment", "comment", text, *said) for (text, _), said in of_comments if said]
    if any(told.values()):
        for name, stated in outline.meta.items():
            found += [
                Hidden("attribute", f"meta {name}"[:100], value, *said) for value in stated if (said := told.get(value))
            ]
        kept = {name: [one for one in stated if not told.get(one)] for name, stated in outline.meta.items()}
        outline.meta = {name: stated for name, stated in kept.items() if stated}
    if of_title:
        found.append(Hidden("attribute", "title", outline.title, *of_title))
        outline.title = ""
    return found


def _may_order(text: str) -> bool:
    """Whether metadata has words enough for an order."""
    return len(text) >= _LEAST_TEXT and (not text.isascii() or text.count(" ") + text.count("-") >= _LEAST_BLANKS)


def _decoded(text: str, *, is_broken: bool) -> list[tuple[str, Hiding]]:
    """What a text with characters without width may say to a model: without them, by tags, and reversed."""
    tags = "".join(chr(ord(sign) - 0xE0000) for run in _TAGS.findall(text) for sign in run)
    turned = " ".join(run[::-1] for run in _REVERSED.findall(text))
    return [(UNSEEN.sub("", text), _GONE if is_broken else IN_DOUBT), (tags, _GONE), (turned, _GONE)]
