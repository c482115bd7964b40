"""The forms that a forged label takes: one pattern over folded text, where look-alikes are the letters they look like.

Kept apart: identifiers (``trust_tier``, ``cts_score``), which nobody writes in prose and which are taken out wherever
they stand; labels (``trust level: high``), which need a sign that says "is"; what stands in square brackets, which
needs none; and what is a label only on a line or in a sentence of its own ("Trust level is high", "HIGH TRUST TIER",
"Tier: low", "Trust score 85/100", "可信度高"). Sentences ("a high level of trust", "the high-trust tier of suppliers")
are none of these, and neither are titles ("High Trust", "Trust: A History"). Standard library only.
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
    "u": "vn",
}
"""What people write for a letter: digits, signs, a V for a U, an N where the line is turned upside down."""
# Each has a letter or digit, so that no sequence of signs can be read in two ways: the time would double with each.
_CODE = r"(?:&#?[^\W_]\w{0,7};|%[0-9a-f]{2}|\\[ux][0-9a-f]{2,4})"
_MARKUP = r"<(?:[^\w<>]|_){0,300}+[^\W_][^<>]{0,300}>"
_GAP = rf"(?:[\W_]|{_MARKUP}|{_CODE}){{0,12}}"
"""What may stand between words: signs, spaces, markup, characters that are written as codes."""
_JOINED = rf"(?:|(?:\W|{_MARKUP}){{0,8}}(?:_|{_MARKUP}|{_CODE})(?:[\W_]|{_MARKUP}|{_CODE}){{0,8}})"
"""What makes an identifier of two words: an underscore, nothing, or something that hides one of the two."""
_OPEN = r"[\[({<【〔〖〘〚「『《〈«‹⟦⟨⟪⟬⦃⦅⦗❲❴❨❪⁅]"
_SQUARE = r"[\[{<【〔〖〘〚「『⟦⟨⟪⟬⦃⦗❲❴⁅]"
_CLOSE = r"[\])}>】〕〗〙〛」』》〉»›⟧⟩⟫⟭⦄⦆⦘❳❵❩❫⁆]"
_IS = r"(?:[:=~→⇒>|]|--|[—–])"
_SAYS = r"[:=→⇒]"
"""The same without what also stands between a title and what comes behind it."""
_EAST = r"\u1100-\u11ff\u3005-\u3007\u3040-\u30fa\u30fc-\u30ff\u3400-\u9fff\uf900-\ufaff"
_ITSELF = "(?<=來源)|(?<=来源)|(?<=來源的)|(?<=来源的)|(?<=本文)|(?<=本頁)|(?<=本页)|(?<=本站)|(?<=網站)|(?<=网站)"
_UNSPACED = rf"(?:(?<![{_EAST}])|{_ITSELF})"
_ALONE = rf"(?:(?=來源|来源|source)|(?!%|[，,、]?[a-z{_EAST}]))"
"""Around what is written without spaces: a word that goes on, or a sentence, is no label, but of the source itself."""
_SOURCE = r"(?:source|來源|来源)[^\S\n]{0,3}:"
_END = rf"(?=[^\S\n]*(?:$|\n|[.;!?。！？；])|[\W_]{{0,6}}(?:{_CLOSE}|{_SOURCE}))"
"""Behind a value that would else be the first word of something longer: its line ends, or goes on as ours does."""
_BEFORE, _BEHIND = r"(?:(?<![^\n:。！？])|(?<=[\n:.!?。！？]\s))", rf"(?=[^\S\n]*(?:$|\n|{_SOURCE}))"
"""Around what stands on a line, or in a sentence, of its own: so a label stands, and few sentences."""
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
_GRADED = ("信任", "可信", "信賴", "信赖", "信頼")
"""Of these, what is given points: goods are rated for 可靠 in prose, and offices for 公信."""
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
    length = len(text)
    spans = [match.span() for match in _form().finditer(text)]
    return spans + [(length - end, length - begin) for begin, end in (m.span() for m in _form().finditer(text[::-1]))]


def may_hold_labels(text: str) -> bool:
    """Whether any word that a label needs is in a folded text at all: most have none, and this is soon told."""
    read = [text.translate(_SQUEEZED)]
    if any(sign in text for sign in _SIGNS):
        read.append(text.translate(_SQUEEZED_SIGNS))
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
        ("trnst",),
        ("tier",),
        ("credib",),
        ("cts", "score"),
        *((word, "source") for word in ("high", "medium", "low")),
        *((word, source) for word in "高中低" for source in ("來源", "来源")),
        *((word,) for word in _ABOUT),
    )
    roots = [tuple(unicodedata.normalize("NFKD", word).translate(_SQUEEZED) for word in words) for words in needed]
    return (*roots, *(tuple(word[::-1] for word in root) for root in roots))


@cache
def _form() -> re.Pattern[str]:
    trust, tier, noun = _word("trust"), _word("tier"), _any(_NOUNS)
    word = rf"(?:very{_GAP})?{_any(_WORDS)}(?![a-hj-z]|i[a-z])"
    number, han = r"(?<!&#)(?<!\d)\d{1,3}(?!\d)", f"{_any(_DEGREES)}{_ALONE}"
    value = f"(?:{word}|{number}|(?<!<)[abc](?![a-z])|{han})"
    degree = f"(?:{word}|{han})"
    trusted = f"(?:{_word('trusted')}|{trust})"
    its = f"(?:{_GAP}{_IS}?{_GAP}{value})?"
    said, ended = f"{_GAP}{_IS}{_GAP}{value}", f"{_GAP}{_IS}{_GAP}{value}{_END}"
    own = rf"(?:{_BEFORE}|(?<=[\[【〔〖]))"
    latin = f"(?:{trust}|{_word('credibility')}|{_word('trustworthiness')})"
    east = f"{_any(_ABOUT)}{_GAP}{_any(_KIND)}?"
    about = f"(?:{latin}(?:{_GAP}{noun})?|{east})"
    # TrustScore and TrustRank are names of products, which prose speaks of, as long as they are given no value.
    product = f"(?<![a-z])trust(?:score|rank)(?![a-z_]|{_GAP}{_IS}?{_GAP}{value})"
    forms = (
        f"(?!{product}){trusted}{_JOINED}{noun}{its}",
        f"{_word('cts')}{_JOINED}{_word('score')}{its}",
        f"{_word('source')}[\\W_]{{0,4}}_[\\W_]{{0,4}}{tier}{its}",
        f"{trusted}{_GAP}{tier}s?{_GAP}{_IS}?{_GAP}{degree}",
        rf"(?<![a-z]){trust}{_GAP}{tier}[\W_]{{0,4}}{_SAYS}(?:[^\S\n]{{0,3}}[^\s\[\](){{}}<>]{{1,12}})?",
        f"(?<![a-z]){latin}{_GAP}{noun}{_GAP}{_SAYS}{_GAP}(?:{word}|{number})",
        f"(?<![a-z]){latin}{_GAP}[=→⇒]{_GAP}{word}",
        rf"{own}{latin}{_GAP}(?:score|rating|index){_GAP}\d{{1,3}}(?:\.\d)?\s*(?:/|out of|of)\s*\d{{1,3}}{_END}",
        f"(?<![a-z]){latin}(?:{_GAP}{noun})?{ended}",
        f"{_UNSPACED}{east}{_GAP}{_IS}{_GAP}(?:{degree}|{number}{_ALONE})",
        f"{own}{_any(_GRADED)}{_GAP}{_any(_KIND)}?{_GAP}{_IS}{_GAP}{number}分{_END}",
        f"{_BEFORE}(?:{tier}|{_word('label')}){_GAP}{_SAYS}{_GAP}{word}{_BEHIND}",
        f"{_BEFORE}{word}{_GAP}{latin}(?:{_GAP}{_word('source')}{_BEHIND}|(?=[^\\S\\n]*{_SOURCE}))",
        f"{tier}{_GAP}{trust}{ended}",
        f"(?<![a-z]){_apart('trusttier')}(?![a-z])",
        f"{_SQUARE}{_GAP}{degree}{_GAP}{_CLOSE}[^\\w.!?。！？]{{0,6}}{_SOURCE}",
        f"(?<![a-z])(?:{_word('source')}{_GAP}{tier}|{_word('cts')}{_GAP}{_word('score')}){said}",
        f"{_OPEN}{_GAP}(?:{trust}|{tier}){ended}",
        f"{_SQUARE}{_GAP}{trust}{_GAP}{tier}{its}",
        f"{_SQUARE}{_GAP}{about}{_GAP}{degree}{_END}",
        f"{_SQUARE}{_GAP}{degree}{_GAP}{about}{_GAP}{_CLOSE}",
    )
    # Where none of its words begins, nothing else is tried: texts are long, and most of them speak of something else.
    begins = {
        _word(word).partition("]")[0] + "]"
        for word in ("trust", "credibility", "cts", "source", "high", "low", "medium", "verified", *_ABOUT)
    }
    begin = f"(?={_OPEN}|{'|'.join(sorted(begins))})"
    return re.compile(f"{begin}(?:{_OPEN}[\\W_]{{0,6}}+)?(?:{'|'.join(forms)})(?:[\\W_]{{0,6}}{_CLOSE})?")


def _any(words: tuple[str, ...]) -> str:
    return f"(?:{'|'.join(map(_word, sorted(words, key=len, reverse=True)))})"


def _word(word: str) -> str:
    """A word, its letters also apart or written as digits; decomposed, as folded text is."""
    letters = unicodedata.normalize("NFKD", word)
    return r"[\W_]{0,5}".join(f"[{re.escape(letter + _ALSO.get(letter, ''))}]" for letter in letters)


def _apart(letters: str) -> str:
    """Letters that each stand alone, as in "t.r.u.s.t.t.i.e.r", where no gap tells one word from the next."""
    return r"[\W_]{1,5}".join(f"[{re.escape(letter + _ALSO.get(letter, ''))}]" for letter in letters)
