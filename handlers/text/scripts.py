r"""Scripts that put no blanks between words, by their Unicode properties: the one definition for all handlers.

The names in capitals are insides of a character class for expressions of the ``regex`` library, which knows ``\p``.
"""

from __future__ import annotations

import regex

HAN = r"\p{Han}"
KANA = r"\p{InHiragana}\p{InKatakana}"
HANGUL = r"\p{Hangul}"
CJK = HAN + KANA + HANGUL

HAN_RUN = regex.compile(f"[{HAN}]+")
_KANA_OR_HANGUL = regex.compile(f"[{KANA}{HANGUL}]")
CJK_SIGN = regex.compile(f"[{CJK}]")


def has_han(text: str) -> bool:
    """Whether a text has a Chinese character.

    >>> has_han("Tokyo 東京"), has_han("ひらがな")
    (True, False)
    """
    return not text.isascii() and HAN_RUN.search(text) is not None


def is_chinese(text: str) -> bool:
    """Whether a text has Chinese characters and none of Japanese or Korean only.

    >>> is_chinese("東京 2024"), is_chinese("東京の雨")
    (True, False)
    """
    return has_han(text) and _KANA_OR_HANGUL.search(text) is None


def has_cjk(text: str) -> bool:
    """Whether a text has a character of Chinese, Japanese or Korean."""
    return not text.isascii() and CJK_SIGN.search(text) is not None


def is_ideographic(character: str) -> bool:
    """Whether a character is of such a script.

    >>> is_ideographic("京"), is_ideographic("ん"), is_ideographic("글"), is_ideographic("é")
    (True, True, True, False)
    """
    return character > "\u10ff" and CJK_SIGN.match(character) is not None
