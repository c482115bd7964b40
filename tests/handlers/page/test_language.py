from __future__ import annotations

import pytest

from handlers.page.language import find_language


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
