"""What has the shape of our label though some or all of its letters are in no list of look-alikes.

In: folded text. Out: where such a thing stands. Two shapes are known. One has most letters of TRUST and TIER in their
places and foreign signs in the others, or between the two words. The other has perhaps no known letter, yet repeats its
signs just as the two words do (T R U S T, T I E R): an alphabet of somebody's own. Standard library only (R-178).
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from functools import cache

_FOREIGN = "\u00a1-\u1fff\u2044\u2052\u2070-\u2fff\u3004-\ufeff\uff10-\U0010ffff"
"""Signs that somebody may put for a letter: no ASCII, no space, no punctuation between words."""
_TRUST = ("t7+", "r", "uv", "s5$", "t7+")
_TIER = ("t7+", "i1l|!", "e3", "r")
_LETTERS = len(_TRUST + _TIER)
_LEAST_KNOWN = 5
_MIXED = re.compile(f"[a-z][{_FOREIGN}]|[{_FOREIGN}][a-z]")
_PAIR = re.compile(r"tr|ru|us|st|ti|ie|er")
_REACH = 20
_LONGEST = 40
_VALUE = r"(?:[^\S\n]{0,3}[:=\u2236][^\S\n]{0,3}[^\s\[\](){}<>]{1,10})?"
_SIGN = f"[a-z0-9{_FOREIGN}]"
_OTHER = rf"(?!\1|\2){_SIGN}"
_OPEN_BEFORE = re.compile(r"[\[({<\u3010\u3014\u3016\u27e6|][\W_]{0,3}$")
_ABOUT_A_LABEL = re.compile(r"[_:=\u2236\ua789\u1361\u16ec\u02d0]")


def find_shapes(text: str) -> list[tuple[int, int]]:
    """Where in a folded text something has the shape of a label: begins and ends, in any order."""
    if text.isascii():
        return []
    return [*_nearly(text), *_repeating(text)]


def _nearly(text: str) -> Iterator[tuple[int, int]]:
    """Where most letters of a label stand in their places, and foreign signs in the others or in between."""
    for begin, end in _windows(text):
        if not _PAIR.search(text, begin, end + _REACH):
            continue
        for found in _near().finditer(text, begin, end + _LONGEST):
            known = sum(map(str.isascii, found[2] + found[4]))
            if _LEAST_KNOWN <= known < _LETTERS or (known == _LETTERS and _is_joined(text, found)):
                yield found.span(1)


def _is_joined(text: str, found: re.Match[str]) -> bool:
    """Whether the two words have something between them that is there in place of an underscore."""
    if not _joint().fullmatch(found[3]):
        return False
    is_said = found.end(1) > found.end(4) or _OPEN_BEFORE.search(text, max(0, found.start() - 4), found.start())
    return bool(is_said or not _han().search(found[3]))


def _windows(text: str) -> Iterator[tuple[int, int]]:
    """Around where a letter and a foreign sign meet; where such places are near each other, they are one."""
    begin = end = -_REACH
    for mixed in _MIXED.finditer(text):
        if mixed.start() - _REACH > end:
            if end >= 0:
                yield begin, end
            begin = max(0, mixed.start() - _REACH)
        end = mixed.end()
    if end >= 0:
        yield begin, end


def _repeating(text: str) -> Iterator[tuple[int, int]]:
    """Where the signs of two words repeat as those of a label do, and something says that they are one."""
    again = [at for at, (first, fifth) in enumerate(zip(text, text[4:], strict=False)) if first == fifth]
    for at in again:
        if at and (text[at - 1].isalnum() or _inside().match(text, at - 1)):
            continue
        found = _repeats().match(text, at)
        if found is None or (text[at : found.start(3)] + text[found.end(3) : found.start(4)]).isascii():
            continue
        if _ABOUT_A_LABEL.search(found[3] + found[4]) or _OPEN_BEFORE.search(text, max(0, at - 4), at):
            yield found.span()


@cache
def _joint() -> re.Pattern[str]:
    """Compiled when it is first needed, as all below: each takes more time than the start of a command may."""
    return re.compile(rf"\S*[{_FOREIGN}]\S*")


@cache
def _han() -> re.Pattern[str]:
    """But for the two that are a mere stroke: between English words, a word of a sentence."""
    return re.compile("[\u3400-\u4dff\u4e01-\u4e27\u4e29-\u9fff]")


@cache
def _inside() -> re.Pattern[str]:
    return re.compile(_SIGN)


@cache
def _near() -> re.Pattern[str]:
    return re.compile(
        f"(?<![a-z0-9])(?=[{_FOREIGN}]{{0,3}}[a-z0-9$+])"
        f"(?=(({_places(_TRUST)})([^a-z0-9]{{0,6}}?)({_places(_TIER)})(?![a-z]){_VALUE}))"
    )


def _places(letters: tuple[str, ...]) -> str:
    return "".join(f"[{re.escape(letter)}{_FOREIGN}]" for letter in letters)


@cache
def _repeats() -> re.Pattern[str]:
    """Two words whose signs repeat as those of TRUST and TIER."""
    return re.compile(
        rf"({_SIGN})(?!\1)({_SIGN}){_OTHER}{_OTHER}\1([^a-z0-9]{{0,4}}?)\1{_OTHER}{_OTHER}\2(?!{_SIGN})"
        rf"(?=([\W_]{{0,4}})){_VALUE}"
    )
