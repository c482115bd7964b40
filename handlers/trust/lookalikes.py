"""What a text reads like, whatever characters it is written in: for patterns that must not be got round by spelling.

In: a text. Out: the plain ASCII letters that it looks like, nothing where it is not seen. Folded texts
are compared and never shown. Standard library only (R-178).
"""

from __future__ import annotations

import re
import unicodedata

_ALIKE = {
    "a": "ɑΑαАаᎪᗅ⍺ꓮ𐊠𖽀卂ꋫ",
    "b": "ƄΒВвЬᏏᏴᑲᖯᗷꓐꞴ𐊂𐊡𐌁",
    "c": "ϹϲСсᏟⲤⲥꓚꮯ𐊢𐌂𐐕𐐽𐔜𑣩𑣲🝌匚",
    "d": "ԁᎠᏧᑯᗞᗪꓒꓓꀷ",
    "e": "ΕεЕеЄєЭэҽᎬ℮⋿∃ⴹꓰ𐊆𑢦𑢮乇€Σꍟቿꬲ∑ΞᕮԐⵟꏂᏋꂅᙓ彐",
    "f": "Ϝքᖴꓝꬵ𐊇𐊥𐔥𑢢𑣂𝈓千",
    "g": "ƍɡԌցᏀᏳꓖᎶꁅኗƃᘜᏩ₲Ⴚɠ",
    "h": "ΗНнһհᎻᏂᕼⲎꓧ𐋏卄ћђꃅዘҤⱧꁝɧ廾",
    "i": "ıɩΙιІіӀӏᎥᛁ∣⍳⏽ⵏⲒꓲꙇꭵ𐊊𐌉𐌠𑣃𖼨丨工ㅣ¡Ꮖꀤጎ˛ͺ۱￨│ߊוןاﺍ⏐❘׀",
    "j": "ͿϳЈјᎫᒍꓙ",
    "k": "ΚκКкᏦᛕⲔꓗ𐔘Ҝҝ",
    "l": "ƖǀᏞᒪⳐꓡ𐐛𐔦𑢣𑢲𖼖𝈪ㄥ꒒",
    "m": "ΜϺМмᎷᗰᛖⲘꓟ𐊰𐌑爪",
    "n": "ΝηոռⲚꓠ𐔓几",
    "o": "ΟοσОоՕօ۵०০੦૦ଠ୦௦ం౦ಂ೦ംഠ൦ං๐໐ဝ၀ჿዐᴑⲞⲟⵔ〇ꓳ𐊒𐊫𐐄𐐬𐓂𐓪𐔖𑓐𑢵𑣈𑣗𑣠ㄖ",
    "p": "ΡρРрᏢᑭ⍴Ⲣⲣꓑ𐊕卩",
    "q": "ԛգզⵕ",
    "r": "гЯяᎡᏒᖇᴦⲅꓣꭇꭈꮁ𐒴𖼵𝈖尺ꋪዪƦЃѓʁᴙཞⲄꓤɌⱤ",
    "s": "ƽЅѕՏᏕᏚꓢꮪ𐊖𐐠𐑈𑣁𖼺丂Ƨƨ₴֏ֆꌗነᎦςʂ§ᔕ∫ßẞꇙऽꗟꒌ",
    "t": "ΤτТтᎢ⊤⟙Ⲧꓔ𐊗𐊱𐌕𑢼𖼊🝨丅ㅜ†₮ㄒƚɬꋖ꓄ፕᏖ┬╤⊺Ҭҭᛏ〸⊥ߠ𐍄ꉣ",
    "u": "ʋυՍսሀᑌ∪⋃ꓴꞟ𐓎𐓶𑢸𑣘𖽂凵ㄩЦцƲʊɄꀎሁᏬᏌµμ⊔ų꒤ป⊍꒦",
    "v": "νѴѵ۷Ꮩᐯ∨⋁ⴸꓦꛟꮩ𐔝𑜆𑢠𑣀𖼈𝈍",
    "w": "ɯωѡԜԝաШшᎳᏔꓪꮃ𑜊𑜎𑜏𑣦𑣯山ᏇЩщ",
    "x": "×ΧχХхᕁᕽ᙭᙮ᚷ╳⤫⤬⨯ⲬⵝꓫꞳ𐊐𐊴𐌗𐌢𐔧𑣬乂",
    "y": "ɣΥγУуҮүყᎩᎽᶌⲨꓬ𐊲𑢤𑣜𖽃ㄚ",
    "_": "ˍˏ‾‗‿⁀﹍﹎﹏⎵⎽⏑␣▁╴╶˗⎯﹘ـ",
    "z": "ΖζᏃꓜꮓ𐋵𑢩𑣄𑣥",
    ":": "\u0903\u0a83։׃܃܄᛬᠃᠉⁚˸꞉∶ːꓽː፡᠄⁝ˑ",
}
"""Characters of other scripts, and signs, that look like a letter, underscore or colon in usual fonts (after UTS #39,
and what writers of "fancy text" use); compatibility forms and letters with marks are left to Unicode's own data."""
_LETTER_OF = {alike: letter for letter, all_of_it in _ALIKE.items() for alike in all_of_it}
_VARIANT = re.compile(
    r"(?:LATIN|REGIONAL INDICATOR SYMBOL) (?:CAPITAL |SMALL )?LETTER "
    r"(?:SMALL CAPITAL |TURNED |REVERSED |OPEN |DOTLESS |INSULAR |SCRIPT |BLACKLETTER )?([A-Z])(?: .*)?"
    r"|NEGATIVE (?:SQUARED|CIRCLED) LATIN CAPITAL LETTER ([A-Z])"
)
# Not shown though neither control nor format: an unassigned place among the controls of direction, fillers of Hangul,
# Khmer's inherent vowels, empty Braille.
_BLANK = frozenset("\u2065\u115f\u1160\u17b4\u17b5\u2800\u3164\uffa0\U0001d159")
_KEPT_CONTROLS = frozenset("\t\n")
_UNSEEN_CATEGORIES = frozenset(("Cc", "Cf", "Co", "Cs", "Zl", "Zp"))
_VARIATION = re.compile("[\u034f\u180b-\u180f\ufe00-\ufe0f\U000e0000-\U000e0fff]")


def folded(text: str) -> str:
    """What a text reads like, in lower case: no mark, no accent, plain letters in place of their look-alikes.

    >>> folded("ＴＲＵＳＴ Т𝐑υ\u200dş\u0336𝕥 🅃 Ⅰ 可信")
    'trust trust t i 可信'
    """
    return text.casefold() if text.isascii() and text.isprintable() else text.translate(_FOLDS)


def folds_of(text: str) -> list[str]:
    """The same by character: none for what is not seen or a mark, several where one sign stands for several letters."""
    return [_FOLDS[ord(character)] for character in text]


def seen(text: str) -> str:
    r"""A text without the characters that nobody sees: controls, joiners, changes of direction, tags, fillers.

    >>> seen("a\u200db\u202e\u00ad\n")
    'ab\n'
    """
    return text if text.isascii() and text.isprintable() else text.translate(_SEEN)


class _Folds(dict[int, str]):
    """What each character reads like, found out when it is first met."""

    def __missing__(self, code: int) -> str:
        self[code] = result = _fold(chr(code))
        return result


class _Seen(dict[int, int | None]):
    """Each character, None for those that nobody sees."""

    def __missing__(self, code: int) -> int | None:
        self[code] = result = None if _is_unseen(chr(code)) else code
        return result


_FOLDS = _Folds()
_SEEN = _Seen()


def _is_unseen(character: str) -> bool:
    if character in _KEPT_CONTROLS:
        return False
    return (
        character in _BLANK
        or unicodedata.category(character) in _UNSEEN_CATEGORIES
        or _VARIATION.match(character) is not None
    )


def _fold(character: str) -> str:
    if _is_unseen(character):
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
