"""Places in a text: street addresses, post office boxes, postal towns, and what follows a label (R-034).

An address may begin before its number (``Hauptstraße 5``) or with it (``123 N Main St``).
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator
from itertools import takewhile

from handlers.text.reading import Detail, Place, Reading
from handlers.text.scripts import is_ideographic
from handlers.text.words import Number

_REACH, _BOX_MARKS = 48, 3
_AFTER_COLON = re.compile(r"\s{0,3}([^\s,，;；|·•。、:：][^\n\r,，;；|·•。、:：]{0,79})")
# Behind a word, not behind an abbreviation such as "St."; what follows begins anew.
_SENTENCE_END = re.compile(r"(?<=[^\W\d_]{4})[.!?](?=\s+[^\W\d_a-zà-ÿ])")
_HOUSE = re.compile(r"\d{1,4}(?:\s?[-/]\s?\d{1,4})?(?:\s?[a-z](?![^\W_]))?(?![:%,.]*+\d)")
_LONG_NUMBER = re.compile(r"[\d -]{1,20}\d|\d")
# Between a street word and its house number: a day (Straße des 17. Juni), up to four words, then a comma or a sign for
# number.
_NAME = re.compile(
    r"(?:[ .]{1,2}|(?<=[./]))(?:\d{1,2}\.? )?(?![a-zß-ÿ]{4})"
    r"(?:[^\W\d_][\w'’-]{0,24}[ .]{1,2}){0,4}[^\W\d_][\w'’-]{0,24}"
    r" ?,? ?(?:[nN][º°.] ?)?"
)
_NAME_BEFORE = re.compile(r"(?:[^\W\d_][\w.'’-]{0,30}[ \xa0]){0,2}[^\W\d_][\w.'’-]{0,40}$")
_AFTER_HOUSE = frozenset(" \xa0,-–|#") | frozenset("abcdefghABCDEFGH号號丁番巷弄")
_NO_HOUSE = frozenset(":/$€£")
_STREET_SIGNS = frozenset(",.°º")
_IDEOGRAPHS, _LONGEST_SHORT_WORD = 16, 5
_HOUSE_DIGITS, _POSTAL_DIGITS = 6, 5
_POSTAL_CODE = re.compile(r"\d{5}(?:-\d{4})?(?!\d)")


def find_addresses(reading: Reading, numbers: Iterable[Number]) -> Iterator[Detail[Place]]:
    """The addresses that some number of a text belongs to, in order. The name of each is its words."""
    text = reading.text
    floor = 0
    for start, number_end, _ in numbers:
        before = text[start - 1] if start else " "
        if start < floor or before in _NO_HOUSE or (before in ".," and text[start - 2 : start - 1].isdecimal()):
            continue
        may_go_on = text[number_end : number_end + 1] in _AFTER_HOUSE or is_ideographic(before)
        if may_go_on and number_end - start <= _HOUSE_DIGITS and (found := reading.patterns.places.match(text, start)):
            detail: Detail[Place] | None = _detail(reading, _first(reading, start, floor), found[0])
        else:
            end = start - before.isspace() if start else 0
            detail = _after_street(reading, start, floor) or _box(reading, start, floor)
            # A name has a capital, or a sign is between it and the number.
            if not detail and (text[end - 1 : end] in _STREET_SIGNS or text[text.rfind(" ", floor, end) + 1].isupper()):
                detail = _after_word(reading, start, floor)
            if not detail and number_end - start == _POSTAL_DIGITS:
                detail = _town(reading, start, floor)
        if detail:
            floor = detail.end
            yield detail


def labelled_places(reading: Reading) -> Iterator[Detail[Place]]:
    """The text after a word such as "Venue" and its colon, up to a comma, a sentence's end, or the next label."""
    colon = reading.folded.find(":")
    while colon >= 0:
        end = reading.skip_blanks_back(colon)
        label = reading.before(reading.patterns.place_labels, end)
        if label and (place := _AFTER_COLON.match(reading.text, colon + 1)):
            value = _up_to_next_label(reading, *place.span(1))
            if any(map(str.isalnum, value)) and not _is_open(reading, place.start(1), len(value)):
                yield Detail(end - len(label), place.start(1) + len(value), Place(" ".join(value.split())))
        colon = reading.folded.find(":", colon + 1)


def _is_open(reading: Reading, start: int, length: int) -> bool:
    """Whether a value says that no place is named, or not here: "TBA" alone, "see below" also before other words."""
    words = reading.after(reading.patterns.no_places, start)
    rest = reading.text[start + len(words) : start + length]
    return bool(words) and (" " in words or not any(map(str.isalnum, rest)))


def _up_to_next_label(reading: Reading, start: int, end: int) -> str:
    """A label's value without the sentence or the label behind it; "" where there is a label only, as in a form."""
    value = reading.text[start:end].rstrip()
    if sentence := _SENTENCE_END.search(value):
        return value[: sentence.start()]
    if reading.folded[end : end + 1] != ":":
        return value
    stop = start + len(value)
    known = (reading.before(words, stop) for words in (reading.patterns.price_labels, reading.patterns.place_labels))
    label = max(known, key=len)
    return value[: -len(label) if label else max(0, value.rfind(" "))].rstrip()


def _first(reading: Reading, start: int, floor: int) -> int:
    # An address in ideographs begins before its number, with town and street.
    end = reading.skip_blanks_back(start, 1)
    if not end or not is_ideographic(reading.text[end - 1]):
        return start
    reach = reading.text[max(floor, end - _IDEOGRAPHS) : end]
    lead = "".join(takewhile(lambda sign: is_ideographic(sign) or sign.isdecimal(), reversed(reach)))
    return end - len(lead)


def _after_street(reading: Reading, start: int, floor: int) -> Detail[Place] | None:
    end = reading.skip_blanks_back(start, 1)
    if end == start or not reading.folded.endswith(reading.patterns.street_endings, max(0, end - 16), end):
        return None
    house = _HOUSE.match(reading.folded, start)
    name = _NAME_BEFORE.search(reading.text, max(floor, end - _REACH), end)
    if not house or not name:
        return None
    words = re.split(r"(?<=\s)", name.group())
    # The name goes back as long as its words have capitals; the last one must, or be the kind of street alone.
    kept = len(words)
    while kept and (words[kept - 1][0].isupper() or kept == len(words) > 1):
        kept -= 1
    if kept == len(words) or not any(word[0].isupper() for word in words[kept:]):
        return None
    return _detail(reading, name.end() - sum(map(len, words[kept:])), house.end())


def _after_word(reading: Reading, start: int, floor: int) -> Detail[Place] | None:
    """A street with a word such as "rua" before its name and the number behind it."""
    for word in reading.patterns.street_words.finditer(reading.text, max(floor, start - _REACH), start):
        if word.start() and reading.text[word.start() - 1].isalpha():
            continue
        if _NAME.fullmatch(reading.text, word.end(), start) and (house := _HOUSE.match(reading.folded, start)):
            return _detail(reading, word.start(), house.end())
    return None


def _box(reading: Reading, start: int, floor: int) -> Detail[Place] | None:
    end = reading.skip_back(start, _BOX_MARKS, " #:.\n", floor)
    word = reading.before(reading.patterns.box_words, end)
    if not word or end - len(word) < floor or not (number := _LONG_NUMBER.match(reading.folded, start)):
        return None
    return _detail(reading, end - len(word), number.end())


def _town(reading: Reading, start: int, floor: int) -> Detail[Place] | None:
    code = _POSTAL_CODE.match(reading.folded, start)
    if not code or not (town := reading.patterns.towns.search(reading.text, max(floor, start - _REACH), start)):
        return None
    return _detail(reading, town.start(), code.end())


def _detail(reading: Reading, start: int, end: int) -> Detail[Place]:
    name = " ".join(reading.text[start:end].split())
    # A full stop ends the sentence, or a short word: St.
    is_sentence = name.endswith(".") and len(name.rpartition(" ")[2]) > _LONGEST_SHORT_WORD
    return Detail(start, end, Place(name.removesuffix(".") if is_sentence else name))
