"""Hidden text, and what becomes of it: what addresses a language model is taken out, the rest is left out or marked."""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from itertools import chain

from selectolax.lexbor import LexborNode

from handlers.html.addressed import Addressed
from handlers.html.styles import Hiding
from schemas.pages import HiddenKind as Kind
from schemas.pages import HiddenOutcome as Outcome

TOO_MUCH: tuple[Outcome, str] = "left_out", "too much hidden text"
_BATCH, _MAX_JUDGED = 180_000, 1_000_000
"""Characters of hidden text that are judged at once, fewer than the weights read of a text, and in all."""
_MAX_LINE = 20_000
_FIRST_WORDS = 4
_PIECE = 300
"""Characters of a hidden text that are judged together."""
_NEVER_READ = ("tiny_font", "same_colour")
"""Other hidden text is shown by scripts, or is for screen readers."""
_MORE_OFTEN = 3.5
"""Log-odds: orders have these kinds some thirty times as often as other hidden text that names what orders name."""
KEPT = Hiding("style", is_gone=False)
IN_DOUBT = Hiding("style", is_gone=False, is_sure=False)
_SOUTH_EAST_ASIAN = "[\u0e00-\u0eff\u1000-\u109f\u1780-\u17ff]"
UNSEEN = re.compile(
    rf"(?<!{_SOUTH_EAST_ASIAN})\u200b(?!{_SOUTH_EAST_ASIAN})"
    "|[\u180e\u2060-\u2064\u202a-\u202e\u2066-\u2069\ufeff\U000e0000-\U000e007f\U000e0100-\U000e01ef]"
    "|[\ufe00-\ufe0f]{2,}|(?<=[A-Za-z])[\u200c\u200d\xad]+(?=[A-Za-z])"
)
"""Characters without width: separators, directions, tags, and joiners between Latin letters.

Thai, Lao, Khmer and Burmese have a separator between words.
"""
MAY_BE_UNSEEN = re.compile(
    "[\xad\u180e\u200b-\u200d\u202a-\u202e\u2060-\u2069\ufe00-\ufe0f\ufeff\U000e0000-\U000e01ef]"
)
"""One of the characters of ``UNSEEN``: faster, since it is a single set."""


@dataclass(frozen=True, slots=True)
class Hidden:
    """Text that no visitor sees.

    Attributes:
        kind: What hides it.
        place: Where it is: an element with its id or class names, or the name of a field of metadata.
        text: The text.
        outcome: Whether it was quarantined, left out, or kept.
        reason: Why it was quarantined or left out; "" for text that was kept.
    """

    kind: Kind
    place: str
    text: str
    outcome: Outcome
    reason: str = ""

    def is_in(self, text: str) -> bool:
        """Whether the content of a page has the text's beginning."""
        words = visible(" ".join(self.text.split(maxsplit=_FIRST_WORDS)[:_FIRST_WORDS]))
        return bool(words) and words in text


def visible(text: str) -> str:
    """A text without characters that have no width.

    >>> visible("rain\u200b again")
    'rain again'
    """
    return UNSEEN.sub("", text) if not text.isascii() and MAY_BE_UNSEEN.search(text) else text


def judge(texts: list[tuple[str, Hiding]], addressed: Addressed) -> list[tuple[Outcome, str] | None]:
    """What becomes of hidden texts, each with what hides it, and why; None for one that addresses no model.

    A text in doubt is left out only if it is surely hidden. All texts at once take less time than one by one.
    """
    limits = addressed.section
    judged: list[tuple[Outcome, str] | None] = [None] * len(texts)
    lines: list[tuple[int, str]] = []
    total = 0
    for owner, (text, how) in enumerate(texts):
        for line in _short_pieces(text):
            if total > _MAX_JUDGED:
                judged[owner] = TOO_MUCH if how.is_sure else None
                break
            lines.append((owner, line))
            total += len(line)
    for batch in _batches(lines):
        for said in addressed.find_all("\n".join(line for _, line in batch), limits.doubtful, is_hidden=True):
            owner = batch[said.line][0]
            how = texts[owner][1]
            more = _MORE_OFTEN if how.is_sure and how.kind in _NEVER_READ else 0.0
            if said.score + more >= limits.quarantined:
                judged[owner] = "quarantined", f"addresses a language model: {said.reason}"
            elif how.is_sure and judged[owner] is None:
                judged[owner] = "left_out", f"may address a language model: {said.reason}"
    return judged


def _batches(lines: list[tuple[int, str]]) -> Iterator[list[tuple[int, str]]]:
    """Lines with the numbers of their texts, as many together as are judged at once."""
    batch: list[tuple[int, str]] = []
    length = 0
    for one in lines:
        length += len(one[1]) + 1
        if length > _BATCH:
            yield batch
            batch, length = [], len(one[1]) + 1
        batch.append(one)
    if batch:
        yield batch


def _short_pieces(text: str) -> Iterator[str]:
    """A text in pieces of one line, which end where a line of it ends, and begin with the last line of that before."""
    if len(text) <= _PIECE:
        yield " ".join(text.split())
        return
    piece: list[str] = []
    length = 0
    lines: Iterable[str] = text.split("\n")
    if len(text) > _MAX_LINE:
        lines = chain.from_iterable(map(_cut, lines))
    for line in lines:
        if plain := line.strip():
            piece.append(plain)
            length += len(plain)
            if length > _PIECE:
                yield " ".join(" ".join(piece).split())
                piece = piece[-1:] if len(plain) < _PIECE else []
                length = 0
    if piece:
        yield " ".join(" ".join(piece).split())


def _cut(line: str) -> Iterator[str]:
    """A long line in parts that overlap, so that no part is longer than what is judged at once."""
    return (line[begin : begin + _MAX_LINE] for begin in range(0, len(line), _MAX_LINE - _PIECE))


def place_of(node: LexborNode) -> str:
    """Tag, id and first class names of an element, or of that around a text."""
    element = node.parent if node.is_text_node and node.parent is not None else node
    attributes = element.attributes
    names = "".join(f".{name}" for name in (attributes.get("class") or "").split()[:2])
    identity = attributes.get("id")
    return f"{element.tag}{f'#{identity}' if identity else ''}{names}"[:100]
