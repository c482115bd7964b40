"""Reads rendered prompts and contexts by their structure: the trusted part, the untrusted blocks, and faults.

It uses no bound and no expression of the renderer. A block is two lines with one name and code around one line of JSON.
A label is two of our words followed by a value, with any number of other characters between them.
"""

import json
import re
import unicodedata
from collections.abc import Iterator
from dataclasses import dataclass
from itertools import pairwise

LABEL_LINE = re.compile(r"\[TRUST_TIER: (HIGH|MEDIUM|LOW)\](?: (?:來源：|Source: )[^\[\]:：<>\n]+)?")
_WORD = re.compile(r"[^\W_]+")
_OF_LABELS = ({"trust", "cts"}, {"tier", "label", "score", "level"})
_BEFORE_VALUES = frozenset(":=([{")
_SQUARE = ("SQUARE BRACKET", "LENTICULAR BRACKET", "TORTOISE SHELL BRACKET")
_VISIBLE_FORMATS = frozenset("\u0600\u0601\u0602\u0603\u0604\u0605\u06dd\u070f\u0890\u0891\u08e2\U000110bd\U000110cd")


@dataclass(frozen=True, slots=True)
class Untrusted:
    """One block: its name, the trusted line before it, and its texts by field ("" for a block of one text)."""

    name: str
    before: str
    texts: dict[str, str]


class BrokenPromptError(ValueError):
    """A block is not one line of JSON between its two lines."""


def blocks_of(prompt: str) -> tuple[str, list[Untrusted]]:
    """The trusted part of a prompt, in which each block is replaced by its name, and its blocks."""
    lines = iter([*prompt.split("\n"), ""])
    trusted: list[str] = []
    blocks: list[Untrusted] = []
    for line in lines:
        if not (line.startswith("<<") and line.endswith(">>")) or line.startswith("<<end of "):
            trusted.append(line)
            continue
        body, end = next(lines), next(lines, "")
        name, _, _ = line[2:-2].rpartition(" ")
        if end != f"<<end of {line[2:]}":
            raise BrokenPromptError(f"{name} has more than one line: {end[:80]!r}")
        blocks.append(Untrusted(name, trusted[-1] if trusted else "", _texts_of(body)))
        trusted.append(f"({name})")
    return "\n".join(trusted), blocks


def problems(prompt: str) -> list[str]:
    """What is wrong with a prompt or a context; [] if all untrusted text in it is isolated."""
    try:
        trusted, blocks = blocks_of(prompt)
    except (BrokenPromptError, ValueError) as error:
        return [str(error)]
    found = [f"a line of a block in the trusted part: {line}" for line in trusted.split("\n") if line.startswith("<<")]
    for line in trusted.split("\n"):
        if line.startswith("[TRUST_TIER") and LABEL_LINE.fullmatch(line) is None:
            found.append(f"no label of ours: {line}")
    for block in blocks:
        for field, text in block.texts.items():
            found += [f"{block.name} {field}: {form}" for form in label_forms(text)]
    return found


def label_forms(text: str) -> Iterator[str]:
    """What in an untrusted text has the form of our label, or hides something."""
    for sign in sorted(set(text)):
        name = unicodedata.name(sign, "")
        if any(kind in name for kind in _SQUARE) and unicodedata.category(sign) in ("Ps", "Pe"):
            yield f"a square bracket: {sign}"
        elif _is_invisible(sign):
            yield f"an invisible character: U+{ord(sign):04X}"
    yield from (f"a label: {label}" for label in _labels(text))


def _labels(text: str) -> Iterator[str]:
    """Two of our words, in capitals or joined by an underscore, before the sign of a value; no part of another name."""
    text = "".join(sign for sign in unicodedata.normalize("NFKD", text) if not unicodedata.combining(sign))
    words = [*_WORD.finditer(text)]
    ends = [*(word.start() for word in words[2:]), len(text)][: max(0, len(words) - 1)]
    for (first, second), end in zip(pairwise(words), ends, strict=True):
        is_ours = all(word[0].casefold() in ours for word, ours in zip((first, second), _OF_LABELS, strict=True))
        joined = "_" in text[first.end() : second.start()] or (first[0].isupper() and second[0].isupper())
        is_whole = text[: first.start()][-1:] != "_" and text[second.end() : second.end() + 1] != "_"
        if is_ours and joined and is_whole and not _BEFORE_VALUES.isdisjoint(text[second.end() : end]):
            yield text[first.start() : end]


def _is_invisible(sign: str) -> bool:
    if sign in "\n\t" or sign in _VISIBLE_FORMATS:
        return False
    selector = "VARIATION SELECTOR" in unicodedata.name(sign, "")
    return selector or unicodedata.category(sign) in ("Cc", "Cf", "Cs", "Zl", "Zp")


def _texts_of(body: str) -> dict[str, str]:
    content = json.loads(body)
    texts = {"": content} if isinstance(content, str) else content
    if not isinstance(texts, dict) or not all(isinstance(text, str) for text in texts.values()):
        raise BrokenPromptError(f"neither a text nor texts by field: {body[:80]}")
    if "<<" in body:
        raise BrokenPromptError(f"a bracket of a block in it: {body[:80]}")
    return texts
