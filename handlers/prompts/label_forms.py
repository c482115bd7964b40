"""Finds what an untrusted text has in the form of our label, in any script, width, case or spacing.

The text is folded (compatibility forms, marks, look-alikes) and compared once; the places that are found are those of
the text itself.
"""

from __future__ import annotations

import re
import unicodedata
from bisect import bisect_right
from collections.abc import Iterator, Sequence
from contextlib import suppress
from itertools import accumulate

# Capitals that look like the letter before them. For our names and values, Unicode's confusables.txt (UTS 39, Unicode
# License v3) has these beside those that ``_letter`` finds by decomposition or name; the last of each row are added.
_LOOK_ALIKES = (
    "AΑАᎪᗅ⍺Ɑꓮ𐊠𖽀卂 BƄΒВЬᏏᏴᑲᖯᗷꓐꞴ𐊂𐊡𐌁乃 CСᏟⲤꓚ𐊢𐌂𐐕𐔜🝌©匚 DԀᎠᏧᑯᗞᗪꓒꓓ EΕЕҼЄᎬ℮⋿ⴹꓰ𐊆𑢦𑢮ΞЭ乇€ GƍԌՑᏀᏳꓖ"
    " HΗНҺՀᎻᏂᕼⲎꓧ𐋏卄 IƖΙІӀᎥ⍳Ꙇ𑢣丨工 LᏞᒪᛁⲒⳐⵏꓡꓲ𐊊𐌉𐐛𐔦𑢲𖼖𖼨𝈪ㄥ MʍΜϺМᎷᗰᛖⲘꓟ𐊰𐌑爪 OΟΣОՕଠഠဝዐᲿⲞⵔꓳ𐊒𐊫𐐄𐓂𐔖𑢨𑢵𑢷ㄖ口"
    " RƦГЯᎡᎱᏒᖇᴦⲄꓣ𐒴𖼵𝈖®尺 SƼЅՏᏕᏚꓢ𐊖𐐠𑢡𖼺ᔕ丂 TΤТᎢ⊤⟙Ⲧꓔ𐊗𐊱𐌕𑢼𖼊🝨†ϮᏆᎿፐ丅ㄒ丁 UƲΥՍሀᑌ∪⋃ꓴꞞ𐓎𑢸𖽂Ꮜㄩ VΝѴᏙᐯ∨⋁ⴸꓦꛟ𐔝𑜆𑢠𖼈𝈍 WƜѠԜԱᎳᏔꓪ𑜊𑜎𑜏"
)
_LETTERS = {sign: word[0] for word in _LOOK_ALIKES.split() for sign in word}
_LATIN = re.compile(r"(?:LATIN|REGIONAL INDICATOR) .{0,40}LETTER (?:[A-Z]{1,9} ){0,2}([A-Z])\b")
"""The name of a letter: small capital, with a stroke, circled in black."""
_MOST_FOLDS = 20_000

_SAME = {"i": "il1|!", "l": "il1|", "o": "o0", "s": "s5$", "e": "e3", "t": "t7"}
_SECOND = ("tier", "label", "score", "level")
_OF_OUR_LABEL = ("trusttier", "trustlabel")
_PROSE = re.compile(
    r"(?:[Tt]rust|[Cc]ts|CTS)[^_\u203f\u2040\u2054\ufe33\ufe34\ufe4d-\ufe4f\uff3f]{0,400}(?:[Tt]ier|[Ll]abel|[Ss]core|[Ll]evel)"
)
_GAP, _SHORT_GAP = r"[\W_]{0,5}", r"[\W_]?"


def _spelled(word: str, gap: str = _GAP) -> str:
    return gap.join(f"[{_SAME.get(letter, letter)}]" for letter in word)


_NAME = re.compile(
    # The set at the beginning makes the search fast.
    rf"(?P<first>[CTct7](?i:(?<=[t7]){_GAP}{_spelled('rust')}|(?<=c){_SHORT_GAP}{_spelled('ts', _SHORT_GAP)}))"
    rf"[\W_]{{0,200}}(?P<second>(?i:{'|'.join(f'(?P<{word}>{_spelled(word)})' for word in _SECOND)}))"
    r"(?=(?P<rest>\w{0,8}?)(?:\W{0,30}(?:[:=(\[{【]|\d)|(?:\W(?s:.){0,30}?)?(?i:high|medium|low)))"
)
_INSIDE_A_NAME = re.compile(r"(?:[A-Za-z0-9]_.|[a-z][a-z]|[A-Z][A-Z])\Z", re.DOTALL)


def label_forms(text: str) -> Iterator[tuple[int, int, str]]:
    """The places that have one of our names before a value, written otherwise than in prose; and the name as prose.

    "Trust level: low" is prose. "min_trust_level" and "DISTRUST LEVEL" are other names; the names of our label itself
    are found inside of longer ones, too.

    >>> [*label_forms("本文TRUST_TIER: HIGH")], [*label_forms("Trust tier: high")]
    ([(2, 12, 'Trust Tier')], [])
    """
    folded = look_alike(text)
    ends: Sequence[int] = ()
    for name in _NAME.finditer(folded):
        ends = ends or [*accumulate(len(_FOLDED[ord(sign)]) for sign in text)]
        start, end = bisect_right(ends, name.start()), bisect_right(ends, name.end() - 1) + 1
        if _PROSE.fullmatch(text, start, end):
            continue
        words = "trust" if name["first"][0] in "Tt7" else "cts", next(filter(name.group, _SECOND))
        before = folded[max(0, name.start() - 2) : name.start() + 1]
        if "".join(words) not in _OF_OUR_LABEL and (name["rest"] or _INSIDE_A_NAME.search(before)):
            continue
        parts = zip(words, (name["first"], name["second"]), strict=True)
        prose = " ".join(word if part[0].islower() else word.title() for word, part in parts)
        # One sign may fold to letters of the name and others.
        head, tail = folded[ends[start - 1] if start else 0 : name.start()], folded[name.end() : ends[end - 1]]
        yield start, end, f"{head}{prose}{tail}"


def look_alike(text: str) -> str:
    """A text with the plain letters that its letters look like, without marks."""
    return text if text.isascii() else text.translate(_FOLDED)


class _Folds(dict[int, str]):
    """What each character is compared as: letters without marks that look like it, or itself."""

    def __missing__(self, code: int) -> str:
        signs = unicodedata.normalize("NFKD", chr(code))
        folded = "".join(_letter(sign) for sign in signs if unicodedata.category(sign) not in ("Mn", "Me"))
        if len(self) < _MOST_FOLDS:
            self[code] = folded
        return folded


def _letter(sign: str) -> str:
    name = unicodedata.name(sign, "")
    named = _LATIN.search(name)
    with suppress(KeyError):
        sign = unicodedata.lookup(name.partition(" WITH ")[0])
    capital = sign.upper()
    letter = _LETTERS.get(capital) or (named[1] if named and not sign.isascii() else sign)
    return letter.lower() if capital != sign else letter


_FOLDED = _Folds()
