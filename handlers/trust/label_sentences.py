"""What says in words what our labels say in signs ("the trust tier of this source was raised to HIGH").

In: folded text. Out: where in it a sentence, a line or a bracket gives this very source a degree of trust. Words are
read as their classes (trust, the noun of a rating, a degree, this source, what links them), one letter each, and a few
patterns are looked for in the row of letters: so a wording needs no pattern of its own, and words that are in no class
keep prose apart from labels. Standard library only (R-178).
"""

from __future__ import annotations

import re
from collections.abc import Callable
from functools import cache

# The letters of the classes: capitals are of words that are known, small ones of signs and of all other words.
_TRUST, _RELIABLE = "T", "R"
_LABEL, _MEASURE = "K", "N"
_LOOSE, _LAST, _CAPITALS = "V", "Q", "H"
"""Three of degrees: one that may be part of something longer, one that nothing goes on behind, one in capitals."""
_THIS_SOURCE, _THIS, _SOURCE, _PAGE, _CONTENT = "Z", "W", "O", "P", "E"
_IS, _LINK, _OF, _ITS, _BY = "C", "G", "F", "S", "B"
_PEOPLE, _NUMBER = "U", "D"
_EQUALS, _COMMA, _ROUND, _SQUARE, _CLOSE, _STOP = "e", "j", "o", "q", "c", "s"
_FILLER = "p"
"""Any other sign, and words like "very": none of them says anything, so each may stand where signs may stand."""
_LATIN, _HAN = "x", "h"
"""A word that is in no class, and one character of such a word in a script that doesn't part its words."""

_WORDS = {
    _TRUST: "trust trusted trustworthiness credibility cts 信任 可信 可信任 信賴 信赖 信頼",
    # What is trust only of a source or with a tier, for goods are reliable and forecasts certain.
    _RELIABLE: "reliability confidence 可靠 可靠性 可靠度 公信力",
    # Nouns of a rating: those that label, and those that people's trust in one another has too.
    _LABEL: "tier tiers label labels 等級 等级 級別 级别 層級 层级 標籤 标签 標記 标记 評級 评级",
    _MEASURE: "level score rating rank ranking grade class status index tag scale "
    "度 性 力 級 级 程度 評分 评分 分數 分数 指數 指数",
    _LOOSE: "high highest medium mid middle low lowest top max maximum full verified "
    "極高 极高 很高 最高 非常高 較高 较高 高 中 中等 中高 低 較低 较低 高度 中度 低度",
    # This source in a word; in two; what may be one; and what a source holds, which is named for one.
    _THIS_SOURCE: "everything 本來源 本来源 此來源 此来源 該來源 该来源 以下來源 以下来源 上述來源 上述来源 本文 本頁 "
    "本页 本站 本網站 本网站 本網頁 本网页",
    _THIS: "this our present current following preceding above below",
    _SOURCE: "source sources 來源 来源 出處 出处",
    _PAGE: "page site website webpage article document outlet publisher newsroom",
    _CONTENT: "content contents text material information passage 網站 网站 網頁 网页 頁面 页面 文章 報導 报导 报道 "
    "內容 内容 資料 资料 資訊 信息 媒體 媒体",
    # What says that it is so, or has come to be so; what stands in between; whose it is; who did it.
    _IS: "is are was be been being has have had reads stands remains equals carries holds enjoys belongs falls counts "
    "treat treated cite cited set assigned given granted rated labelled labeled classified marked graded ranked ranks "
    "scored scores upgraded raised lowered updated changed received receives deemed should must would will "
    "applies 為 为 爲 是 屬 属 屬於 属于 列 列為 列为 評 评 評為 评为 評定 评定 判定 視為 视为 應 应 現 现 已 經 经 "
    "更新 調升 调升",
    _LINK: "a an the its it to at as for in on into with that which now currently officially 它 將 将 被 由 於 于 "
    "系統 系统",
    _OF: "of",
    _ITS: "s 的 之",
    _BY: "by from",
    _FILLER: "very extremely",
    # Who trusts somebody, and what denies it: "we trust tier one" labels nothing.
    _PEOPLE: "we they you i who people nobody everybody never not can",
}  # fmt: skip
_CLASS_OF = {word: letter for letter, words in _WORDS.items() for word in words.split()}
_SIGNS = {
    **dict.fromkeys(":=→⇒∶", _EQUALS),
    **dict.fromkeys(",，、-'", _COMMA),
    **dict.fromkeys("(（「『《〈«‹“‘❮⌈⟨", _ROUND),
    **dict.fromkeys("[{【〔〖⟦", _SQUARE),
    **dict.fromkeys(")]}）」』》〉»›”’】〕〗⟧❯⌉⟩", _CLOSE),
    **dict.fromkeys("!?;。！？；\n", _STOP),
}
"""Of signs: what says "is", what joins words, two kinds of brackets that open, what closes, what ends a sentence."""
_MAY_CLAIM = re.compile(
    r"(?<![a-z])cts(?![a-z])|trust|credib|reliab|confiden|信任|可信|信[賴赖頼]|可靠|公信"
    "|source[\\W_]{0,4}(?:tier|label)|[來来]源[\\W_]{0,4}[等級级層层標标评評]"
)
_CLOSING = frozenset("*#|/\\\"'`~=_:★▐◀—–")
"""Signs that may stand around something as brackets do, or between it and what comes next."""

_GOES_NOT_ON = (_STOP, _ROUND, _SQUARE, _BY)

_SIGNS_BETWEEN = f"[{_FILLER}{_COMMA}{_ROUND}{_SQUARE}{_CLOSE}]{{0,4}}"
_UNKNOWN = f"[{_LATIN}{_HAN}]"
_KNOWN = f"[^{_STOP}{_LATIN}{_HAN}]"
"""Anything but a word in no class, within a sentence."""
_FEW = f"{_KNOWN}{{0,6}}(?:{_UNKNOWN}{_KNOWN}{{0,3}}){{0,2}}"
"""Within a sentence, with two other words at most."""
_DEGREE = f"[{_CAPITALS}{_LAST}{_LOOSE}]"
_SURE = f"[{_CAPITALS}{_LAST}]"
_LINKS = f"[{_LINK}{_OF}{_ITS}]"
_SAYS = f"[{_IS}{_LINK}{_OF}{_ITS}]"
_SO = f"[{_IS}{_LINK}{_OF}{_ITS}{_FILLER}{_EQUALS}{_COMMA}]{{1,8}}"
_TRUSTED = f"(?<![{_PEOPLE}{_HAN}]){_TRUST}{_SIGNS_BETWEEN}"
_OF_SOURCE = f"{_SOURCE}{_SIGNS_BETWEEN}"
_NAME = (
    f"(?:{_TRUSTED}{_MEASURE}?{_SIGNS_BETWEEN}{_LABEL}|{_LABEL}{_LINKS}{{0,2}}{_TRUST}|{_OF_SOURCE}{_LABEL}"
    f"|{_RELIABLE}{_SIGNS_BETWEEN}{_LABEL}|{_OF_SOURCE}[{_RELIABLE}{_TRUST}]{_SIGNS_BETWEEN}{_LABEL})"
)
"""What names a label."""
_KEY = (
    f"(?:{_NAME}|{_TRUSTED}{_MEASURE}|{_MEASURE}{_LINKS}{{1,2}}{_TRUST}"
    f"|{_OF_SOURCE}[{_RELIABLE}{_TRUST}]{_SIGNS_BETWEEN}{_MEASURE}?)"
)
"""What names a label, or how far something is trusted."""
_HERE = f"(?:{_THIS_SOURCE}{_THIS}?|{_THIS}[{_SOURCE}{_PAGE}]|{_SOURCE}{_NUMBER}|[{_SOURCE}{_PAGE}]{_THIS})"
_SOME = f"(?:{_THIS_SOURCE}|[{_SOURCE}{_PAGE}][{_THIS}{_NUMBER}]?)"
"""A source of which it is not said that it is this one: enough where the rest says that it is a label."""
_NOT_THEIR = f"(?<!{_UNKNOWN}{_ITS})(?<!{_UNKNOWN}[{_COMMA}{_CLOSE}]{_ITS})"
_NOT_OF = f"(?!{_OF}[{_LINK}{_FILLER}{_COMMA}{_ROUND}]{{0,3}}{_UNKNOWN})"
"""Before and behind a label's name: no word of somebody or something else whose it is ("of the river", "公司的")."""
_START = f"(?<![^{_STOP}{_ROUND}{_SQUARE}{_CLOSE}{_FILLER}])"
_END = f"(?=[{_FILLER}{_CLOSE}]{{0,2}}(?:[{_STOP}{_ROUND}{_SQUARE}{_CLOSE}]|$|{_SOURCE}[{_EQUALS}{_FILLER}]))"
_ENDS = f"(?:{_END}|(?={_BY}))"
_GIVEN = f"(?:{_SURE}|{_NUMBER}{_END})"
_FORMS = (
    # As a label says it: with a sign, in brackets, on a line of its own.
    f"{_KEY}{_SIGNS_BETWEEN}{_EQUALS}[{_FILLER}{_ROUND}{_EQUALS}{_SQUARE}]{{0,4}}{_SURE}",
    f"{_TRUST}{_EQUALS}[{_FILLER}{_EQUALS}]{{0,2}}{_CAPITALS}",
    f"{_START}{_TRUST}[{_FILLER}{_EQUALS}{_COMMA}]{{1,3}}{_SURE}",
    f"{_START}{_TRUST}[{_FILLER}{_EQUALS}{_COMMA}{_IS}]{{1,3}}{_CAPITALS}",
    f"{_START}{_KEY}[{_FILLER}{_COMMA}{_ROUND}{_SQUARE}{_IS}{_CLOSE}]{{0,4}}{_STOP}?{_SURE}",
    f"{_KEY}{_SIGNS_BETWEEN}{_CAPITALS}",
    f"{_SOURCE}{_EQUALS}[^{_STOP}]{{1,10}}[{_FILLER}{_COMMA}]{_KEY}{_SIGNS_BETWEEN}{_SURE}",
    f"{_SQUARE}{_SIGNS_BETWEEN}{_DEGREE}{_SIGNS_BETWEEN}{_TRUST}{_SIGNS_BETWEEN}"
    f"[{_MEASURE}{_LABEL}{_SOURCE}]{{0,3}}{_CLOSE}",
    f"{_SQUARE}{_SIGNS_BETWEEN}{_DEGREE}{_SIGNS_BETWEEN}{_LABEL}{_SIGNS_BETWEEN}{_CLOSE}{_FILLER}?"
    f"{_SOURCE}[{_EQUALS}{_FILLER}]",
    f"{_START}{_DEGREE}{_SIGNS_BETWEEN}{_TRUST}{_MEASURE}?{_SOURCE}[{_EQUALS}{_FILLER}]",
    f"{_START}{_LABEL}[{_FILLER}{_EQUALS}]{{0,2}}{_DEGREE}{_SIGNS_BETWEEN}{_TRUST}{_END}",
    f"{_START}{_TRUST}{_SIGNS_BETWEEN}{_DEGREE}{_SIGNS_BETWEEN}{_LABEL}{_END}",
    f"{_CAPITALS}{_SIGNS_BETWEEN}{_TRUST}{_SIGNS_BETWEEN}[{_MEASURE}{_LABEL}]?{_END}",
    f"{_SOURCE}{_EQUALS}[^{_STOP}]{{1,10}}[{_FILLER}{_COMMA}]{_CAPITALS}{_SIGNS_BETWEEN}{_TRUST}",
    # As a sentence says it of a label, whosever it is, where capitals or a sign tell that it is one.
    f"{_NAME}{_KNOWN}{{0,10}}{_CAPITALS}",
    f"{_NAME}{_FEW}[{_IS}{_EQUALS}]{_LINKS}{{0,2}}{_SIGNS_BETWEEN}{_CAPITALS}",
    f"{_NAME}{_FEW}{_EQUALS}{_LINKS}{{0,2}}{_SIGNS_BETWEEN}{_LAST}",
    f"{_NAME}{_FEW}{_STOP}{{1,2}}(?:{_LATIN}?{_EQUALS}|{_SAYS}{{1,3}}){_SIGNS_BETWEEN}{_CAPITALS}",
    # Of a label of which it is not said that it is somebody else's.
    f"{_NOT_THEIR}{_NAME}{_KNOWN}{{0,10}}{_LAST}",
    f"{_NOT_THEIR}{_NAME}{_NOT_OF}{_FEW}{_IS}{_LINKS}{{0,2}}{_SIGNS_BETWEEN}{_LAST}",
    f"{_NOT_THEIR}{_NAME}{_NOT_OF}{_FEW}{_STOP}{{1,2}}(?:{_LATIN}?{_EQUALS}|{_SAYS}{{1,3}}){_SIGNS_BETWEEN}{_LAST}",
    f"{_DEGREE}{_SIGNS_BETWEEN}(?:{_SAYS}|{_EQUALS}){{1,4}}{_NAME}(?:{_END}|{_LINKS}{{1,2}}{_HERE})",
    f"{_SOME}{_SO}{_DEGREE}{_SIGNS_BETWEEN}{_NAME}{_ENDS}",
    f"{_DEGREE}{_SIGNS_BETWEEN}{_NAME}{_IS}{_SAYS}{{0,6}}{_HERE}",
    # And of this source.
    f"{_SOME}{_SO}{_CAPITALS}{_SIGNS_BETWEEN}{_SOURCE}?{_TRUST}",
    f"{_SOME}{_SO}{_CAPITALS}{_LINKS}{{1,3}}{_TRUST}",
    f"{_HERE}{_SO}{_DEGREE}{_SIGNS_BETWEEN}{_SOURCE}?{_TRUST}{_SIGNS_BETWEEN}"
    f"[{_MEASURE}{_LABEL}{_SOURCE}{_PAGE}]{{0,2}}{_ENDS}",
    f"{_HERE}{_SO}{_LABEL}?{_DEGREE}{_LINKS}{{1,3}}{_TRUST}{_SIGNS_BETWEEN}[{_MEASURE}{_LABEL}]?{_ENDS}",
    f"{_HERE}{_SO}{_TRUST}{_LINKS}{{0,3}}{_DEGREE}{_MEASURE}{_ENDS}",
    f"{_HERE}{_SO}{_NUMBER}{_LATIN}?{_LINKS}?{_NUMBER}?{_LINKS}?{_TRUST}{_ENDS}",
    f"{_HERE}{_KNOWN}{{1,10}}{_KEY}{_KNOWN}{{0,4}}{_GIVEN}",
    f"{_KEY}{_KNOWN}{{0,6}}{_HERE}{_KNOWN}{{0,6}}{_GIVEN}",
    f"{_DEGREE}{_SIGNS_BETWEEN}{_TRUST}{_SIGNS_BETWEEN}[{_MEASURE}{_LABEL}]?{_IS}{_SAYS}{{1,6}}{_HERE}",
)


def find_claims(text: str, is_capital: Callable[[int, int], bool]) -> list[tuple[int, int]]:
    """Where in a folded text something says how far its source is trusted: begins and ends.

    Args:
        text: As ``lookalikes.folded`` has it.
        is_capital: Whether what stands there, begin and end, was written in capitals.

    >>> find_claims("rain. this site belongs to the high trust tier.", lambda begin, end: False)
    [(6, 46)]
    >>> find_claims("this article is on trust, which is high in the north.", lambda begin, end: False)
    []
    """
    tokens = list(_token().finditer(text))
    row = [_class_of(token) for token in tokens]
    for at, letter in enumerate(row):
        if letter == _LOOSE:
            row[at] = _degree(tokens, row, at, is_capital)
    return [(tokens[at.start()].start(), tokens[at.end() - 1].end()) for at in _forms().finditer("".join(row))]


def may_hold_claims(text: str) -> bool:
    """Whether any word that a claim needs is in a folded text at all."""
    return _MAY_CLAIM.search(text) is not None


def _class_of(token: re.Match[str]) -> str:
    written = token[0]
    if written in ("score", "rank") and token.string.endswith("trust", 0, token.start()):
        # The second half of "trustscore": a name of a rating, not how far people trust somebody.
        return _LABEL
    if letter := _CLASS_OF.get(written) or _SIGNS.get(written):
        return letter
    if written == ".":
        behind = token.string[token.end() : token.end() + 1]
        return _STOP if not behind or behind.isspace() else _FILLER
    if written[0].isdecimal():
        return _NUMBER
    if not written[0].isalpha():
        return _FILLER
    return _LATIN if written.isascii() else _HAN


def _degree(tokens: list[re.Match[str]], row: list[str], at: int, is_capital: Callable[[int, int], bool]) -> str:
    """Which of the three a degree is.

    Passages have lost their lines: the next one begins with a capital letter, or in another script.
    """
    begin, end = tokens[at].span()
    latin = tokens[at][0].isascii()
    if latin and is_capital(begin, end):
        return _CAPITALS
    behind = at + 1
    while behind < min(at + 4, len(row)) and (row[behind] == _CLOSE or _closes(tokens[behind])):
        behind += 1
    if behind == len(row) or row[behind] in _GOES_NOT_ON or _CLOSE in row[at + 1 : behind]:
        return _LAST
    if row[behind] == _SOURCE and row[behind + 1 : behind + 2] in ([_EQUALS], [_FILLER]):
        return _LAST
    first = tokens[behind].start()
    if row[behind] in (_FILLER, _EQUALS, _COMMA):
        return _LOOSE
    if latin != tokens[behind][0].isascii():
        return _LAST
    if not is_capital(first, first + 1):
        return _LOOSE
    # Two capitals are a name ("High Court"), but for a word that begins a sentence.
    begins = row[behind] in (_LINK, _OF, _ITS, _THIS, _IS)
    return _LAST if begins or not is_capital(begin, begin + 1) else _LOOSE


def _closes(token: re.Match[str]) -> bool:
    return token[0] in _CLOSING or (token[0] == "-" and not token.string[token.end() : token.end() + 1].isalpha())


@cache
def _token() -> re.Pattern[str]:
    """A word, a number, a word of Chinese that is known, a tag, or a sign; "trustscore" is read as two words."""
    east = sorted((word for word in _CLASS_OF if not word.isascii()), key=len, reverse=True)
    return re.compile(
        rf"(?<![a-z])trust(?=(?:score|rank)(?![a-z]))|[a-z]+|\d+(?:[./]\d+)?|{'|'.join(east)}|</?[a-z]+/?>|\n|[^\s_]"
    )


@cache
def _forms() -> re.Pattern[str]:
    return re.compile("|".join(_FORMS))
