from __future__ import annotations

import pytest

from handlers.text.language import find_language


@pytest.mark.parametrize(
    ("declared", "text", "language"),
    [
        ("en-GB", "", "en"),
        ("zh_TW", "", "zh"),
        ("", "これは日本語の文章です", "ja"),
        ("", "이것은 한국어 문장입니다", "ko"),
        ("", "Это русский текст", "ru"),
        ("uk", "Це український текст", "uk"),
        ("", "The rain that fell on the hills was heavy and is over", "en"),
        ("", "Der Regen ist vorbei und die Sonne scheint auf das Land", "de"),
        ("", "", None),
        ("nonsense value", "", None),
    ],
)
def test_find_language(declared: str, text: str, language: str | None) -> None:
    assert find_language(declared, text) == language


GERMAN = "Der Regen hat die Dürre beendet, und die Bauern sind froh über das Wasser, das nun im Boden ist. " * 8


def test_small_words_tell_more_than_a_template() -> None:
    assert find_language("en", GERMAN) == "de"
    assert find_language("de", GERMAN) == "de"
    assert find_language("sv", GERMAN) == "sv"
    assert find_language("en", GERMAN[:60]) == "en"
    assert find_language("en", "1 2 3 " * 200) == "en"
