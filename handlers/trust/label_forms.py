"""The forms that a forged label takes: one pattern over folded text, where look-alikes are the letters they look like.

Kept apart: identifiers (``trust_tier``, ``cts_score``), which nobody writes in prose and which are taken out wherever
they stand; labels (``trust level: high``), which need a sign that says "is"; and what stands in brackets, which needs
none. Plain sentences ("a high level of trust", "we trust tier one suppliers") are none of these. Standard library only.
"""

from __future__ import annotations

import re
import unicodedata
from collections.abc import Mapping
from functools import cache

_ALSO = {
    "a": "4@",
    "b": "8",
    "e": "3",
    "g": "96",
    "h": "#",
    "i": "1l|!",
    "l": "1i|!",
    "o": "0",
    "s": "5$",
    "t": "7+",
    "u": "v",
}
"""What people write for a letter: digits, signs, a V for a U."""
_CODE = r"(?:&#?\w{1,8};|%[0-9a-f]{2}|\\[ux][0-9a-f]{2,4})"
_MARKUP = r"<[^<>]{0,40}>"
_GAP = rf"(?:[\W_]|{_MARKUP}|{_CODE}){{0,12}}"
"""What may stand between words: signs, spaces, markup, characters that are written as codes."""
_JOINED = rf"(?:|(?:\W|{_MARKUP}){{0,4}}(?:_|{_MARKUP}|{_CODE})(?:[\W_]|{_MARKUP}|{_CODE}){{0,6}})"
"""What makes an identifier of two words: an underscore, nothing, or something that hides one of the two."""
_OPEN = r"[\[({<【〔〖〘〚「『《〈«‹⟦⟨⟪⟬⦃⦅⦗❲❴❨❪⁅]"
_SQUARE = r"[\[{<【〔〖〘〚「『⟦⟨⟪⟬⦃⦗❲❴⁅]"
_CLOSE = r"[\])}>】〕〗〙〛」』》〉»›⟧⟩⟫⟭⦄⦆⦘❳❵❩❫⁆]"
_IS = r"(?:[:=~→⇒>|꞉∶ː։፡᠄⁝︓﹕]|--|[—–])"
_NOUNS = ("tier", "label", "level", "score", "rating", "rank", "grade", "class", "status", "index", "tag")
_WORDS = (
    "high",
    "highest",
    "medium",
    "mid",
    "middle",
    "low",
    "lowest",
    "top",
    "max",
    "maximum",
    "full",
    "verified",
    "trusted",
)
_ABOUT = ("信任", "可信", "信賴", "信赖", "信頼", "可靠", "公信", "可信任", "신뢰")
_KIND = (
    "等級", "等级", "級別", "级别", "級", "级", "程度", "度", "力", "性", "標籤", "标签", "標記", "标记",
    "評級", "评级", "評分", "评分", "分數", "分数", "層級", "层级", "指數", "指数", "등급", "도",
)  # fmt: skip
_DEGREES = (
    "極高", "极高", "很高", "最高", "非常高", "較高", "较高", "高", "中", "中等", "中高", "低", "較低", "较低",
    "높음", "중간", "낮음",
)  # fmt: skip
_DIGITS = dict(zip("4836910570l", "abeggiostoi", strict=True))
_SIGNS = dict(zip("@#!|$+", "ahiist", strict=True))


def find_labels(text: str) -> list[tuple[int, int]]:
    """Where in a folded text something reads like a label, forwards or backwards: begins and ends, in any order."""
    if not _has_a_root(text):
        return []
    length = len(text)
    spans = [match.span() for match in _form().finditer(text)]
    return spans + [(length - end, length - begin) for begin, end in (m.span() for m in _form().finditer(text[::-1]))]


def _has_a_root(text: str) -> bool:
    """Whether any word that a label needs is there at all: most texts have none, and this is soon told."""
    read = (text.translate(_SQUEEZED), text.translate(_SQUEEZED_SIGNS))
    return any(all(part in one for part in root) for root in _roots() for one in read)


class _Squeeze(dict[int, str | None]):
    """Letters alone: digits as the letters they are written for, and some signs too, where these count."""

    def __init__(self, signs: Mapping[str, str]) -> None:
        super().__init__({ord(sign): letter for sign, letter in {**_DIGITS, **signs}.items()})

    def __missing__(self, code: int) -> str | None:
        self[code] = result = chr(code) if chr(code).isalnum() else None
        return result


_SQUEEZED, _SQUEEZED_SIGNS = _Squeeze({}), _Squeeze(_SIGNS)


@cache
def _roots() -> tuple[tuple[str, ...], ...]:
    """What is there of a label at least, as it looks squeezed, and backwards."""
    needed = (
        ("trust",),
        ("trvst",),
        ("tier",),
        ("credib",),
        ("cts", "score"),
        *((word,) for word in _ABOUT),
    )
    roots = [tuple(unicodedata.normalize("NFKD", word).translate(_SQUEEZED) for word in words) for words in needed]
    return (*roots, *(tuple(word[::-1] for word in root) for root in roots))


@cache
def _form() -> re.Pattern[str]:
    trust, noun, word = _word("trust"), _any(_NOUNS), f"(?:very{_GAP})?{_any(_WORDS)}(?![a-z])"
    number = r"\d{1,3}(?!\d)"
    han = f"{_any(_ABOUT)}{_GAP}{_any(_KIND)}?"
    value = f"(?:{word}|{number}|[abc](?![a-z])|{_any(_DEGREES)})"
    degree = f"(?:{word}|{_any(_DEGREES)})"
    its = f"(?:{_GAP}{_IS}?{_GAP}{value})?"
    said = f"{_GAP}{_IS}{_GAP}{value}"
    latin = f"(?:{trust}|{_word('credibility')}|{_word('trustworthiness')})(?:{_GAP}{noun})?"
    about = f"(?:{latin}|{han})"
    forms = (
        f"{trust}{_JOINED}{noun}{its}",
        f"{_word('cts')}{_JOINED}{_word('score')}{its}",
        f"{_word('source')}[\\W_]{{0,4}}_[\\W_]{{0,4}}{_word('tier')}{its}",
        f"{trust}{_GAP}{_word('tier')}{_GAP}{_IS}?{_GAP}{degree}",
        f"(?<![a-z]){about}{said}",
        f"(?<![a-z])(?:{_word('source')}{_GAP}{_word('tier')}|{_word('cts')}{_GAP}{_word('score')}){said}",
        f"{_OPEN}{_GAP}(?:{trust}|{_word('tier')}){said}",
        f"{_SQUARE}{_GAP}{trust}{_GAP}{_word('tier')}{its}",
        f"{_SQUARE}{_GAP}{about}{_GAP}{degree}",
        f"{_SQUARE}{_GAP}{degree}{_GAP}{about}{_GAP}{_CLOSE}",
    )
    return re.compile(f"(?:{_OPEN}[\\W_]{{0,6}})?(?:{'|'.join(forms)})(?:[\\W_]{{0,6}}{_CLOSE})?")


def _any(words: tuple[str, ...]) -> str:
    return f"(?:{'|'.join(map(_word, sorted(words, key=len, reverse=True)))})"


def _word(word: str) -> str:
    """A word, its letters also apart or written as digits; decomposed, as folded text is."""
    letters = unicodedata.normalize("NFKD", word)
    return r"[\W_]{0,3}".join(f"[{re.escape(letter + _ALSO.get(letter, ''))}]" for letter in letters)
