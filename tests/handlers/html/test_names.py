from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from handlers.html.names import NameWords
from tests.handlers.html.rules import PATTERNS, READING

WORDS = NameWords(READING, tuple(PATTERNS.months))


@pytest.mark.parametrize(
    ("text", "names"),
    [
        ("Ada Lovelace", ["Ada Lovelace"]),
        ("By Ada Lovelace and Mary Shelley", ["Ada Lovelace", "Mary Shelley"]),
        ("Ada Lovelace, Mary Shelley, and Emily Brontë", ["Ada Lovelace", "Mary Shelley", "Emily Brontë"]),
        ("Von Ada Lovelace und Mary Shelley", ["Ada Lovelace", "Mary Shelley"]),
        ("Par Ada Lovelace et Mary Shelley", ["Ada Lovelace", "Mary Shelley"]),
        ("Dr. Ada Lovelace, PhD", ["Dr. Ada Lovelace"]),
        ("ADA LOVELACE | 3 May 2024", ["ADA LOVELACE"]),
        ("Lovelace, Ada", ["Ada Lovelace"]),
        ("Lovelace, A. K.", ["A. K. Lovelace"]),
        ("Lovelace, Ada; Shelley, Mary", ["Ada Lovelace", "Mary Shelley"]),
        ("By O'Connor, Sinead", ["Sinead O'Connor"]),
        ("Brontë-Nicholls, Emily", ["Emily Brontë-Nicholls"]),
        ("Lovelace, Editor", ["Lovelace"]),
        ("王小明 記者", ["王小明"]),
        ("王小明記者", ["王小明"]),
        ("王小明 編輯", ["王小明"]),
        ("Posted on May 3, 2024 by Ada Lovelace", ["Ada Lovelace"]),
        ("VON ADA LOVELACE am 21. April 2020", ["ADA LOVELACE"]),
        ("Text und Interview: Ada Lovelace", ["Ada Lovelace"]),
        ("Text: Ada Lovelace Fotos: Mary Shelley", ["Ada Lovelace"]),
        ("Ludwig van der Rohe", ["Ludwig van der Rohe"]),
        ("ada99", ["ada99"]),
        ("By Ada Lovelace December 2, 2025", ["Ada Lovelace"]),
        ("By\nAda Lovelace\nSenior Reporter", ["Ada Lovelace"]),
        ("Von Deutscher Tennis Bund 4. 2. 2022", ["Deutscher Tennis Bund"]),
        ("Ada\nLovelace", ["Ada Lovelace"]),
        ("Ada Lovelace\nMary Shelley", ["Ada Lovelace", "Mary Shelley"]),
        ("Ada Lovelace Chefredakteurin", ["Ada Lovelace"]),
        ("배윤경 기자", ["배윤경"]),
        ("嶋田 健志 監訳、木下 哲也 訳", ["嶋田 健志", "木下 哲也"]),
        ("By Ada Lovelace, Senior Health Writer", ["Ada Lovelace"]),
        ("By Ada Lovelace in London and Mary Shelley in Bath", ["Ada Lovelace", "Mary Shelley"]),
        ("(Ada Lovelace)", ["Ada Lovelace"]),
        ("Ada Lovelace (Agency)", ["Ada Lovelace"]),
        ("Guardian staff reporter", []),
        ("Twitter Facebook", []),
        ("Dec", []),
        ("By Staff", []),
        ("Editorial Team", []),
        ("Published on", []),
        ("ada@example.com", []),
        ("https://example.com/ada", []),
        ("the rain came and went", []),
        ("記者王小明／台北報導", ["王小明"]),
        ("記者 王小明、陳大文 / 台北報導", ["王小明", "陳大文"]),
        ("（中央社記者王小明台北1日電）", ["王小明"]),
        ("作者：王小明", ["王小明"]),
        ("文／王小明", ["王小明"]),
        ("王小明", ["王小明"]),
        ("編輯部", []),
        ("", []),
    ],
)
def test_names(text: str, names: list[str]) -> None:
    assert list(WORDS.names(text)) == names


@pytest.mark.parametrize(
    ("line", "names"),
    [
        ("By Ada Lovelace", ["Ada Lovelace"]),
        ("by Ada Lovelace, Correspondent", ["Ada Lovelace"]),
        ("May 3, 2024 · 3 min read · By Ada Lovelace", ["Ada Lovelace"]),
        ("A column by Ada Lovelace", ["Ada Lovelace"]),
        ("Photo by Ada Lovelace", []),
        ("By the time the rain came, all was lost.", []),
        ("Ada Lovelace", []),
        ("By 2030 all will be well", []),
        ("文／王小明", ["王小明"]),
        ("記者會今天舉行", []),
    ],
)
def test_a_line_must_say_that_it_credits_somebody(line: str, names: list[str]) -> None:
    assert list(WORDS.line_names(line)) == names


@given(st.text(max_size=300))
def test_any_text_is_read(text: str) -> None:
    assert all(name.strip() for name in (*WORDS.names(text), *WORDS.line_names(text)))
