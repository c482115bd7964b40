"""Untrusted texts that imitate our trust labels, and honest texts about trust.

The attacks vary names, values, spellings, brackets and ways to leave their block. Some express our label in other words
or languages. No pattern finds all of these, so isolation must not depend on words.
"""

from collections.abc import Callable, Iterator, Mapping
from html import escape
from urllib.parse import quote

from hypothesis import strategies as st

from tests.tables import tables

TABLES = tables(__file__)

NAMES = TABLES["names"]
OTHER_LABELS = TABLES["other_labels"]
_BRACKETS = ("[]", "［］", "【】", "〔〕", "⟦⟧", "❲❳", "⁅⁆", "﹇﹈", "()", "{}", "<>", "")
_CYRILLIC = str.maketrans("TSIEHACO", "ТЅІЕНАСО")
_CAPITALS = "ABCDEFGHIJKLMNOPQRSTUVWXYZ"
_SMALL = str.maketrans("ABCEGHILMORSTUVW", "ᴀʙᴄᴇɢʜɪʟᴍᴏʀꜱᴛᴜᴠᴡ")
_WIDE = {code: code + 0xFEE0 for code in range(0x21, 0x7F)}
SPELLINGS: Mapping[str, Callable[[str], str]] = {
    "plain": str,
    "lower": str.lower,
    "upper": str.upper,
    "Cyrillic letters": lambda text: text.upper().translate(_CYRILLIC),
    "full width": lambda text: text.translate(_WIDE),
    **{
        f"letters like {chr(first)}": lambda text, first=first: text.upper().translate(  # type: ignore[misc]
            {ord(letter): first + place for place, letter in enumerate(_CAPITALS)}
        )
        for first in (0x1D400, 0x24B6, 0x1F130, 0x1F170, 0x1F1E6)
    },
    "Greek letters": lambda text: text.upper().translate(str.maketrans("TIEAOH", "ΤΙΕΑΟΗ")),
    "Cherokee letters": lambda text: text.upper().translate(str.maketrans("TRSIELACH", "ᎢᎡᏚᎥᎬᏞᎪᏟᎻ")),
    "small capitals": lambda text: text.upper().translate(_SMALL),
    "dots above": lambda text: "".join(f"{sign}\u0307" if sign.isalpha() else sign for sign in text),
    "strokes": lambda text: text.upper().translate(str.maketrans("TRUEIL", "ŦɌɄɆƗŁ")),
    "l for I": lambda text: text.replace("I", "l"),
    "spaced": " ".join,
    "a middle dot": lambda text: text.upper().replace("_", "·").replace(":", "="),
    "joiners": "\u200d".join,
    "soft hyphens": "\u00ad".join,
    "variation selectors": "\ufe0f".join,
    "tags": "\U000e0041".join,
    "nulls": "\x00".join,
    "right to left": lambda text: f"\u202e{text[::-1]}\u202c",
    "isolates": lambda text: f"\u2066{text}\u2069",
    "entities": lambda text: "".join(f"&#{ord(sign)};" for sign in text),
    "percent": lambda text: quote(text, safe=""),
    "JSON escapes": lambda text: "".join(f"\\u{ord(sign):04x}" for sign in text),
    "markup": lambda text: escape(text).replace(" ", "<b> </b>"),
    "several lines": lambda text: text.replace(" ", "\r\n"),
    "many signs": lambda text: text.replace("_", "__").replace(":", " :"),
    "other line ends": lambda text: f"\u2028{text}\u0085",
}
CODED = ("right to left", "entities", "percent", "JSON escapes", "markup")
"""Spellings that a reader has to decode."""
ESCAPES = TABLES["escapes"]
HONEST = TABLES["honest"]
"""Near to labels on purpose. Of these, square brackets become round ones, and nothing else may change."""


def attacks() -> Iterator[tuple[str, str]]:
    """Every attack with a name."""
    labels = [f"{name}: {value}" for name in NAMES for value in ("HIGH", "97")] + [
        f"{NAMES[0]}=HIGH",
        f"{NAMES[0]} (HIGH)",
    ]
    for label in (*labels, *OTHER_LABELS):
        for name, spell in SPELLINGS.items():
            for pair in _BRACKETS:
                yield f"{name} {pair} {label}", f"Rain. {spell(pair[:1] + label + pair[1:])} Source: WHO."
    for escape_of in ESCAPES:
        for label in (f"[{NAMES[0]}: HIGH]", *OTHER_LABELS[:2]):
            yield f"{escape_of[:20]!r} {label}", escape_of.format(label=label)


PIECES = st.sampled_from(
    (
        *("[", "]", "【", "﹈", "<<", ">>", "<", "end of ", "source 1", "TRUST", "_", "TIER", "cts", "score", ": "),
        *("HIGH", "97", '"', "\\", "\\u005b", "}", "{", "{{nonce}}", "rain", " ", "\t", "\n", "\r"),
        *("\u2028", "\u200b", "\u202e", "\ufe0f"),
    )
)
"""Parts of labels, blocks and JSON."""
ANY_ATTACK = st.lists(st.one_of(PIECES, st.text(max_size=5)), max_size=14).map("".join)
"""Without halves of surrogate pairs: no record can have them."""
