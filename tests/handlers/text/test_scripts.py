"""Scripts without blanks between words."""

import pytest

from handlers.text.scripts import has_cjk, has_han, is_ideographic


@pytest.mark.parametrize("character", ["一", "鿿", "㐀", "豈", "\U00020000", "々", "ー", "か", "カ", "가", "〇"])
def test_characters_of_chinese_japanese_and_korean(character: str) -> None:
    assert is_ideographic(character)
    assert has_cjk(f"a {character}")


@pytest.mark.parametrize("character", ["a", "é", "я", "ا", "ก", "。", "，", "１", "\U0001f600", "—"])
def test_other_letters_and_signs_are_none_of_them(character: str) -> None:
    assert not is_ideographic(character)
    assert not has_cjk(character)


def test_kana_and_hangul_are_not_chinese() -> None:
    assert has_han("東京")
    assert not has_han("とうきょう 서울")
