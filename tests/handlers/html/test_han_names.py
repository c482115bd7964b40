from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from handlers.html.han_names import HanNames
from tests.handlers.html.rules import READING

NAMES = HanNames(READING)


@pytest.mark.parametrize(
    ("text", "names"),
    [
        ("記者王小明／台北報導", ["王小明"]),
        ("記者 王小明／台北報導", ["王小明"]),
        ("記者王小明台北報導", ["王小明"]),
        ("〔記者王小明、陳大文／台北報導〕豪雨造成多處淹水", ["王小明", "陳大文"]),
        ("[記者王小明/綜合報導] 今天", ["王小明"]),
        ("（中央社記者王小明台北1日電）豪雨", ["王小明"]),
        ("（中央社記者王小明、陳大文台北1日電）豪雨", ["王小明", "陳大文"]),
        ("聯合報 記者王小明／台北即時報導", ["王小明"]),
        ("中國時報 王小明／台北報導", ["王小明"]),
        ("王小明／台北報導", ["王小明"]),
        ("記者歐陽小明／台北報導", ["歐陽小明"]),
        ("編譯陳大文／綜合外電", ["陳大文"]),
        ("新华社记者张三", ["张三"]),
        ("本报记者 张三 李四", ["张三", "李四"]),
        ("来源：新华网 作者：张三", ["张三"]),
        ("(责编：牛镛、岳弘彬)", ["牛镛", "岳弘彬"]),
        ("文／王小明 攝影／陳大文", ["王小明"]),
        ("文/王小明 圖/陳大文", ["王小明"]),
        ("採訪・撰文／王小明", ["王小明"]),
        ("撰文｜王小明", ["王小明"]),
        ("著者：後藤大地", ["後藤大地"]),
        ("（記者王小明攝）", []),
        ("記者王小明翻攝", []),
        ("記者會今天舉行", []),
        ("記者會上表示，今年", []),
        ("記者中心／台北報導", []),
        ("編譯中心／綜合報導", []),
        ("記者/綜合報導", []),
        ("即時中心／綜合報導", []),
        ("（中央社華盛頓3日綜合外電報導）豪雨", []),
        ("文化部今天宣布", []),
        ("文章來源", []),
        ("作者簡介", []),
        ("豪雨持續到明天，" * 4 + "記者王小明／台北報導", []),
        ("", []),
    ],
)
def test_reporters(text: str, names: list[str]) -> None:
    assert list(NAMES.reporters(text)) == names


@given(st.text(alphabet="記者王小明、／ 報導文作者：（）〔〕台北1日電", max_size=300))
def test_any_text_is_read(text: str) -> None:
    assert all(2 <= len(name) <= 8 for name in NAMES.reporters(text))
