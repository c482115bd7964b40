"""How styles hide text."""

from functools import partial

import pytest

from handlers.html.styles import hiding, hiding_rules, page_background
from tests.cpu import cpu_seconds


@pytest.mark.parametrize(
    ("style", "kind"),
    [
        ("display: NONE !important", "style"),
        ("visibility:hidden", "style"),
        ("opacity:0.0", "style"),
        ("height:0;overflow:hidden", "style"),
        ("clip: rect(0 0 0 0); position:absolute", "style"),
        ("transform: scale(0)", "style"),
        ("font-size:1px", "tiny_font"),
        ("font:0/0 a", "tiny_font"),
        ("color:#fefefe;background:white", "same_colour"),
        ("color:rgba(0,0,0,0)", "same_colour"),
        ("left:-9999px;position:absolute", "off_screen"),
        ("text-indent:-9999px", "off_screen"),
        ("transform:translateX(-200vw)", "off_screen"),
    ],
)
def test_hiding_styles(style: str, kind: str) -> None:
    found = hiding(style)
    assert found is not None
    assert found.kind == kind


@pytest.mark.parametrize(
    "style",
    ["", "opacity:.5", "color:#333", "font-size:.9em", "margin-left:-5px", "color:#fff;background:#036", "left:-20px"],
)
def test_styles_of_visible_text(style: str) -> None:
    assert hiding(style) is None


def test_white_text_is_hidden_by_a_white_page_only() -> None:
    assert hiding("color:white") is not None
    assert hiding("color:white", (0, 0, 0)) is None


def test_rules_of_a_sheet() -> None:
    sheet = """/* .z */ .a, #b p { display: none } .E:hover { display: none } @media print { .c { display: none } }
        @media screen { .d { opacity: 0 } } body { background: #000 } .f { color: #000 }"""
    assert list(hiding_rules(sheet)) == [".a", "#b p", ".d", ".f"]
    assert page_background(sheet) == (0, 0, 0)


def test_a_large_sheet_takes_bounded_time() -> None:
    for unit in (
        ".a{display:none}",
        "none",
        "{",
        "}",
        "body",
        "@media {",
        "/*a",
        ".a{color:#fff;background:",
        "display:none;",
    ):
        sheet = unit * (5_000_000 // len(unit))
        assert cpu_seconds(partial(hiding_rules, sheet)) < 2
