"""Text that no visitor sees, and what becomes of it: what is written to a machine is quarantined."""

from __future__ import annotations

import re
from collections.abc import Iterable
from dataclasses import dataclass

from selectolax.lexbor import LexborNode

from handlers.html.addressed import Addressed
from schemas.pages import HiddenKind as Kind
from schemas.pages import HiddenOutcome as Outcome

TOO_MUCH: tuple[Outcome, str] = "left_out", "too much hidden text"
_FIRST_WORDS, _QUOTED, DOUBTFUL = 4, 100, 2.0
"""Words of a text by which it is found again, characters that are quoted, and by how much a doubtful score is lower."""
_LEAST_TEXT = 16
"""Characters of metadata that may give an order."""
_SOUTH_EAST_ASIAN = "[\u0e00-\u0eff\u1000-\u109f\u1780-\u17ff]"
UNSEEN = re.compile(
    rf"(?<!{_SOUTH_EAST_ASIAN})\u200b(?!{_SOUTH_EAST_ASIAN})"
    "|[\u180e\u2060-\u2064\u202a-\u202e\u2066-\u2069\ufeff\U000e0000-\U000e007f\U000e0100-\U000e01ef]"
    "|[\ufe00-\ufe0f]{2,}|(?<=[A-Za-z])[\u200c\u200d\xad]+(?=[A-Za-z])"
)
"""Characters without width. Thai, Lao, Khmer and Burmese have one between words."""
MAY_BE_UNSEEN = re.compile(
    "[\xad\u180e\u200b-\u200d\u202a-\u202e\u2060-\u2069\ufe00-\ufe0f\ufeff\U000e0000-\U000e01ef]"
)
"""One of the characters of ``UNSEEN``: faster, since it is a single set."""


@dataclass(frozen=True, slots=True)
class Hidden:
    """Text that no visitor sees: what hides it, its element or field, what became of it, and why."""

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


def judge(
    texts: Iterable[str], addressed: Addressed, *, least: float | None = None, margin: float = 0.0
) -> list[tuple[Outcome, str] | None]:
    """What becomes of hidden texts, and why; None for one that is not written to a machine.

    Args:
        texts: What is judged.
        addressed: What scores them.
        least: The score of a text that is quarantined; None for that of hidden text.
        margin: By how much lower the score of a text is that is only left out.
    """
    judged: list[tuple[Outcome, str] | None] = []
    least = addressed.section.quarantined if least is None else least
    for found in addressed.passages(texts, least - margin):
        if found is None:
            judged.append(TOO_MUCH)
        elif passage := found[0][:_QUOTED]:
            is_sure = found[1] >= least
            reason = f"{'is' if is_sure else 'may be'} written to a machine: {passage}"
            judged.append(("quarantined" if is_sure else "left_out", reason))
        else:
            judged.append(None)
    return judged


def place_of(node: LexborNode) -> str:
    """Tag, id and first class names of an element, or of that around a text."""
    element = node.parent if node.is_text_node and node.parent is not None else node
    attributes = element.attributes
    names = "".join(f".{name}" for name in (attributes.get("class") or "").split()[:2])
    identity = attributes.get("id")
    return f"{element.tag}{f'#{identity}' if identity else ''}{names}"[:100]


def judge_stated(kind: Kind, stated: Iterable[tuple[str, str]], addressed: Addressed) -> list[Hidden]:
    """Those of some texts with their fields that are written to a machine, each once.

    Few pages have a text of metadata that reads like an order, so that a lower score is enough than for a hidden one.
    """
    texts = {text: name for text, name in stated if len(text) >= _LEAST_TEXT and (" " in text or not text.isascii())}
    judged = judge(texts, addressed, least=addressed.section.stated, margin=DOUBTFUL * (kind != "comment"))
    return [
        Hidden(kind, name[:100], text, *said) for (text, name), said in zip(texts.items(), judged, strict=True) if said
    ]
