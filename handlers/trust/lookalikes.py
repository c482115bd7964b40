"""What a text reads like, whatever characters it is written in: for patterns that must not be got round by spelling.

In: a character, or a text. Out: the plain ASCII letters that it looks like, nothing where it is not seen. Folded texts
are compared and never shown. Standard library only (R-178).
"""

from __future__ import annotations

import re
import unicodedata
from functools import lru_cache

_ALIKE = {
    "a": "ɑΑαАаᎪᗅ⍺ꓮ𐊠𖽀",
    "b": "ƄΒВвЬᏏᏴᑲᖯᗷꓐꞴ𐊂𐊡𐌁",
    "c": "ϲСсᏟⲤⲥꓚꮯ𐊢𐌂𐐕𐐽𐔜𑣩𑣲🝌",
    "d": "ԁᎠᏧᑯᗞᗪꓒꓓ",
    "e": "ΕεЕеЄєЭэҽᎬ℮⋿∃ⴹꓰ𐊆𑢦𑢮乇€",
    "f": "Ϝքᖴꓝꬵ𐊇𐊥𐔥𑢢𑣂𝈓",
    "g": "ƍɡԌցᏀᏳꓖ",
    "h": "ΗНнһհᎻᏂᕼⲎꓧ𐋏卄",
    "i": "ıɩΙιІіӀӏᎥᛁ∣⍳⏽ⵏⲒꓲꙇꭵ𐊊𐌉𐌠𑣃𖼨丨工ㅣ¡",
    "j": "ͿϳЈјᎫᒍꓙ",
    "k": "ΚκКкᏦᛕⲔꓗ𐔘",
    "l": "ƖǀᏞᒪⳐꓡ𐐛𐔦𑢣𑢲𖼖𝈪",
    "m": "ΜμϺМмᎷᗰᛖⲘꓟ𐊰𐌑",
    "n": "ΝηոռⲚꓠ𐔓几",
    "o": "ΟοσОоՕօ۵०০੦૦ଠ୦௦ం౦ಂ೦ംഠ൦ං๐໐ဝ၀ჿዐᴑⲞⲟⵔ〇ꓳ𐊒𐊫𐐄𐐬𐓂𐓪𐔖𑓐𑢵𑣈𑣗𑣠",
    "p": "ΡρРрᏢᑭ⍴Ⲣⲣꓑ𐊕",
    "q": "ԛգզⵕ",
    "r": "гЯяᎡᏒᖇᴦⲅꓣꭇꭈꮁ𐒴𖼵𝈖尺",
    "s": "ƽЅѕՏᏕᏚꓢꮪ𐊖𐐠𐑈𑣁𖼺丂",
    "t": "ΤτТтᎢ⊤⟙Ⲧꓔ𐊗𐊱𐌕𑢼𖼊🝨丅ㅜ†₮",
    "u": "ʋυՍսሀᑌ∪⋃ꓴꞟ𐓎𐓶𑢸𑣘𖽂凵ㄩ",
    "v": "νѴѵ۷Ꮩᐯ∨⋁ⴸꓦꛟꮩ𐔝𑜆𑢠𑣀𖼈𝈍",
    "w": "ɯωѡԜԝաШшᎳᏔꓪꮃ𑜊𑜎𑜏𑣦𑣯",
    "x": "×ΧχХхᕁᕽ᙭᙮ᚷ╳⤫⤬⨯ⲬⵝꓫꞳ𐊐𐊴𐌗𐌢𐔧𑣬",
    "y": "ɣΥγУуҮүყᎩᎽᶌⲨꓬ𐊲𑢤𑣜𖽃",
    "z": "ΖζᏃꓜꮓ𐋵𑢩𑣄𑣥",
}
"""Characters of other scripts, and signs, that look like a letter in usual fonts (after UTS #39, and what writers of
"fancy text" use); compatibility forms and letters with marks are left to Unicode's own data."""
_LETTER_OF = {alike: letter for letter, all_of_it in _ALIKE.items() for alike in all_of_it}
_VARIANT = re.compile(
    r"(?:LATIN|REGIONAL INDICATOR SYMBOL) (?:CAPITAL |SMALL )?LETTER "
    r"(?:SMALL CAPITAL |TURNED |REVERSED |OPEN |DOTLESS )?([A-Z])(?: WITH .*)?"
    r"|NEGATIVE (?:SQUARED|CIRCLED) LATIN CAPITAL LETTER ([A-Z])"
)
# Without ink though neither control nor format: fillers of Hangul, Khmer's inherent vowels, empty Braille.
_BLANK = frozenset("\u115f\u1160\u17b4\u17b5\u2800\u3164\uffa0\U0001d159")
_KEPT_CONTROLS = frozenset("\t\n")
_UNSEEN_CATEGORIES = frozenset(("Cc", "Cf", "Co", "Cs", "Zl", "Zp"))
_VARIATION = re.compile("[\u034f\u180b-\u180f\ufe00-\ufe0f\U000e0000-\U000e0fff]")


@lru_cache(maxsize=65_536)
def is_unseen(character: str) -> bool:
    r"""Whether a character has no ink of its own: controls, joiners, changes of direction, tags, fillers.

    >>> [is_unseen(character) for character in "a\u200d\u202e\u00ad\n"]
    [False, True, True, True, False]
    """
    if character in _KEPT_CONTROLS:
        return False
    return (
        character in _BLANK
        or unicodedata.category(character) in _UNSEEN_CATEGORIES
        or _VARIATION.match(character) is not None
    )


@lru_cache(maxsize=65_536)
def folded(character: str) -> str:
    """What a character reads like, in lower case: no mark, no accent, a plain letter in place of its look-alikes.

    Returns:
        Mostly one character; none for what is not seen or a mark, several where a sign stands for several letters.

    >>> "".join(map(folded, "ＴＲＵＳＴ Т𝐑υ\u200dş\u0336𝕥 🅃 Ⅰ 可信"))
    'trust trust t i 可信'
    """
    if is_unseen(character):
        return ""
    if character in _LETTER_OF:
        return _LETTER_OF[character]
    plain = (part for part in unicodedata.normalize("NFKD", character) if unicodedata.category(part)[0] != "M")
    return "".join(map(_letter, plain)).casefold()


def _letter(character: str) -> str:
    if character.isascii():
        return character
    if character in _LETTER_OF:
        return _LETTER_OF[character]
    variant = _VARIANT.fullmatch(unicodedata.name(character, ""))
    return (variant[1] or variant[2]) if variant else character
