"""Reads rendered prompts and contexts: what is trusted in them, what is untrusted, and what is wrong.

It is written without the renderer: how a block, a label and an invisible character look is stated here a second time.
"""

import json
import re
import unicodedata
from collections.abc import Iterator
from dataclasses import dataclass

LABEL_LINE = re.compile(r"\[TRUST_TIER: (HIGH|MEDIUM|LOW)\](?: (?:來源：|Source: )[^\[\]:：<>\n]{1,60})?")
_BEGIN = re.compile(r"<<((?!end of )[a-z_]+(?: \d+)?) ([a-v]{16})>>")
_ANY_LABEL = re.compile(
    r"\b(?:trust|cts)\W{0,3}_[\W_]{0,3}(?:tier|label|score|level)\W{0,3}[:=(\[{]"
    r"|\b(?-i:TRUST|CTS)[\W_]{1,6}(?-i:TIER|LABEL|SCORE|LEVEL)\W{0,3}[:=(\[{]",
    re.IGNORECASE,
)
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
        begin = _BEGIN.fullmatch(line)
        if begin is None:
            trusted.append(line)
            continue
        body, end = next(lines), next(lines, "")
        if end != f"<<end of {begin[1]} {begin[2]}>>":
            raise BrokenPromptError(f"{begin[1]} has more than one line: {end[:80]!r}")
        blocks.append(Untrusted(begin[1], trusted[-1] if trusted else "", _texts_of(body)))
        trusted.append(f"({begin[1]})")
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
    if label := _ANY_LABEL.search(text):
        yield f"a label: {label[0]}"


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
