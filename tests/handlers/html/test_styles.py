"""How styles hide text."""

from functools import partial

import pytest

from handlers.html.styles import has_boxes, hiding, hiding_rules, page_background, showing_classes
from tests.cpu import cpu_seconds
from tests.tables import tables

TABLES = tables(__file__)


@pytest.mark.parametrize(("style", "kind"), [*TABLES["hiding_styles"], *TABLES["other_forms_of_the_same_values"]])
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


def test_the_colour_of_a_class_may_be_that_of_a_box() -> None:
    sheet = "body{background:#fff} .a{color:#fff} .b{color:#fff;background:#fff} .c{color:transparent}"
    assert {selector: how.is_sure for selector, how in hiding_rules(sheet).items()} == TABLES[
        "the_colour_of_a_class_may_be_that_of_a_box"
    ]


def test_rules_of_a_sheet() -> None:
    sheet = """/* .z */ .a, #b p { display: none } .E:hover { display: none } @media print { .c { display: none } }
        @media screen { .d { opacity: 0 } } body { background: #000 } .f { color: #000 }"""
    assert list(hiding_rules(sheet)) == [".a", "#b p", ".d", ".f"]
    assert page_background(sheet) == (0, 0, 0)


def test_a_large_sheet_takes_bounded_time() -> None:
    for unit in TABLES["a_large_sheet_takes_bounded_time"]:
        sheet = unit * (5_000_000 // len(unit))
        assert cpu_seconds(partial(hiding_rules, sheet)) < 2
        assert cpu_seconds(partial(has_boxes, sheet)) < 1
        assert cpu_seconds(partial(showing_classes, sheet, "font-size")) < 1


@pytest.mark.parametrize("style", TABLES["values_of_visible_text"])
def test_values_of_visible_text(style: str) -> None:
    assert hiding(style, (255, 255, 255)) is None


@pytest.mark.parametrize("style", TABLES["styles_that_alone_do_not_tell"])
def test_styles_that_alone_do_not_tell(style: str) -> None:
    found = hiding(style, (255, 255, 255))
    assert found is not None
    assert not found.is_sure


def test_a_rule_inside_of_another_hides_nothing_of_the_other() -> None:
    sheet = ".card { color: #333; &.off { display: none } @media print { display: none } }"
    sheet += ".a { opacity: 0; b { top: 0 } }"
    assert list(hiding_rules(sheet)) == [".a"]


def test_a_later_rule_can_show_what_an_earlier_one_hides() -> None:
    rules = hiding_rules(".a, .b { display: none } .a { display: block } .c { visibility: visible }")
    assert [(selector, how.is_sure) for selector, how in rules.items()] == [(".a", False), (".b", True)]
