"""Finds what an untrusted text has in the form of our label, in any script, width, case or spacing.

The text is folded (compatibility forms, marks, look-alikes) and compared once; the places that are found are those of
the text itself.
"""

from __future__ import annotations

import re
import unicodedata
from bisect import bisect_right
from collections.abc import Iterator, Sequence
from itertools import accumulate

# Capitals that look like the letter before them. For our names and values, Unicode's confusables.txt (UTS 39, Unicode
# License v3) has these beside those that ``_letter`` finds by decomposition or name; Я and Є are added.
_LOOK_ALIKES = (
    "AΑАᎪᗅ⍺Ɑꓮ𐊠𖽀 BƄΒВЬᏏᏴᑲᖯᗷꓐꞴ𐊂𐊡𐌁 CСᏟⲤꓚ𐊢𐌂𐐕𐔜🝌 DԀᎠᏧᑯᗞᗪꓒꓓ EΕЕҼЄᎬ℮⋿ⴹꓰ𐊆𑢦𑢮 GƍԌՑᏀᏳꓖ HΗНҺՀᎻᏂᕼⲎꓧ𐋏 IƖΙІӀᎥ⍳Ꙇ𑢣"
    " LᏞᒪᛁⲒⳐⵏꓡꓲ𐊊𐌉𐐛𐔦𑢲𖼖𖼨𝈪 MʍΜϺМᎷᗰᛖⲘꓟ𐊰𐌑 OΟΣОՕଠഠဝዐᲿⲞⵔꓳ𐊒𐊫𐐄𐓂𐔖𑢨𑢵𑢷 RƦГЯᎡᎱᏒᖇᴦⲄꓣ𐒴𖼵𝈖 SƼЅՏᏕᏚꓢ𐊖𐐠𑢡𖼺"
    " TΤТᎢ⊤⟙Ⲧꓔ𐊗𐊱𐌕𑢼𖼊🝨 UƲΥՍሀᑌ∪⋃ꓴꞞ𐓎𑢸𖽂 VΝѴᏙᐯ∨⋁ⴸꓦꛟ𐔝𑜆𑢠𖼈𝈍 WƜѠԜԱᎳᏔꓪ𑜊𑜎𑜏"
)
_LETTERS = {sign: word[0] for word in _LOOK_ALIKES.split() for sign in word}
_LATIN = re.compile(r"(?:LATIN|REGIONAL INDICATOR) .{0,40}LETTER (?:[A-Z]{1,9} ){0,2}([A-Z])\b")
"""The name of a letter: small capital, with a stroke, circled in black."""
# Letters and marks that may fold. Punctuation, Chinese, Japanese and Korean do not, so most texts are not folded.
_MAY_FOLD = re.compile(
    "[^\0-\xa9\xab-\xb8\xbb-\xbf\u2010-\u2027\u2030-\u205e\u20a0-\u20bf\u2190-\u21ff\u2500-\u25ff\u2e80-\u31ff"
    "\u3400-\ua4cf\uac00-\ud7ff\uff01-\uff20\uff61-\uff65\U0001f300-\U0001faff\U00020000-\U0003ffff]"
)
_MOST_FOLDS = 20_000

_SAME = {"i": "il1|", "l": "il1|", "o": "o0"}
_PARTS, _SECOND = ("first", "second"), ("tier", "label", "score", "level")
_OF_OUR_LABEL = (("trust", "tier"), ("trust", "label"))
_PLAIN = frozenset(("trust", "Trust", "cts", "Cts", "CTS")), frozenset((*_SECOND, *map(str.title, _SECOND)))
_GAP, _SHORT_GAP = r"[\W_]{0,5}", r"[\W_]?"


def _spelled(word: str, gap: str = _GAP) -> str:
    return gap.join(f"[{_SAME.get(letter, letter)}]" for letter in word)


_NAME = re.compile(
    # The set at the beginning makes the search fast.
    rf"(?P<first>[CTct](?i:(?<=t){_GAP}{_spelled('rust')}|(?<=c){_SHORT_GAP}{_spelled('ts', _SHORT_GAP)}))"
    rf"[\W_]{{0,200}}(?P<second>(?i:{'|'.join(f'(?P<{word}>{_spelled(word)})' for word in _SECOND)}))"
    r"(?=(?P<rest>\w{0,8}?)\W{0,30}(?:[:=(\[{：＝（【︰]|(?i:high|medium|low)|\d))"
)
_INSIDE_A_NAME = re.compile(r"(?:[A-Za-z0-9]_.|[a-z][a-z]|[A-Z][A-Z])\Z", re.DOTALL)
_JOINERS = re.compile("[_\u203f\u2040\u2054\ufe33\ufe34\ufe4d-\ufe4f\uff3f]")


def label_forms(text: str) -> Iterator[tuple[int, int, str]]:
    """The places that have one of our names before a value, written otherwise than in prose; and the name as prose.

    "Trust level: low" is prose. "min_trust_level" and "DISTRUST LEVEL" are other names; the names of our label itself
    are found inside of longer ones, too.

    >>> [*label_forms("本文TRUST_TIER: HIGH")], [*label_forms("Trust tier: high")]
    ([(2, 12, 'Trust Tier')], [])
    """
    folded = text.translate(_FOLDED) if _MAY_FOLD.search(text) else text
    ends: Sequence[int] = range(1, len(text) + 1)
    for name in _NAME.finditer(folded):
        if folded is not text and isinstance(ends, range):
            ends = [*accumulate(len(_FOLDED[ord(sign)]) for sign in text)]
        (start, stop), (begin, end) = (
            (bisect_right(ends, name.start(part)), bisect_right(ends, name.end(part) - 1) + 1) for part in _PARTS
        )
        if text[start:stop] in _PLAIN[0] and text[begin:end] in _PLAIN[1] and not _JOINERS.search(text[stop:begin]):
            continue
        words = "trust" if name["first"][0] in "Tt" else "cts", next(filter(name.group, _SECOND))
        before = folded[max(0, name.start() - 2) : name.start() + 1]
        if words not in _OF_OUR_LABEL and (name["rest"] or _INSIDE_A_NAME.search(before)):
            continue
        prose = [word.title() if name[part][0].isupper() else word for word, part in zip(words, _PARTS, strict=True)]
        # One sign may fold to letters of the name and others.
        head, tail = folded[ends[start - 1] if start else 0 : name.start()], folded[name.end() : ends[end - 1]]
        yield start, end, f"{head}{' '.join(prose)}{tail}"


class _Folds(dict[int, str]):
    """What each character is compared as: letters without marks that look like it, or itself."""

    def __missing__(self, code: int) -> str:
        signs = unicodedata.normalize("NFKD", chr(code))
        folded = "".join(_letter(sign) for sign in signs if unicodedata.category(sign) not in ("Mn", "Me"))
        if len(self) < _MOST_FOLDS:
            self[code] = folded
        return folded


def _letter(sign: str) -> str:
    if sign.isascii():
        return sign
    capital = sign.upper()
    named = _LATIN.search(unicodedata.name(sign, ""))
    letter = _LETTERS.get(capital) or (named[1] if named else sign)
    return letter.lower() if capital != sign else letter


_FOLDED = _Folds()
