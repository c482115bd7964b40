from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from handlers.trust.labels import (
    LABELS,
    MAX_NAME_CHARACTERS,
    Label,
    Thresholds,
    label_for,
    label_of,
    plain_name,
    source_line,
    source_name,
    tier_of,
    without_score,
)
from tests.handlers.trust.forgeries import forgeries, reads_as_label
from tests.tables import tables

TABLES = tables(__file__)


@pytest.mark.parametrize(("source_tier", "expected"), [(1, ("A", "HIGH")), (2, ("B", "MEDIUM")), (3, ("C", "LOW"))])
def test_without_a_score_the_source_decides(source_tier: int, expected: tuple[str, str]) -> None:
    assert without_score(source_tier) == expected


@pytest.mark.parametrize("source_tier", [0, 4, -1, None])
def test_an_unknown_source_is_the_lowest(source_tier: int | None) -> None:
    assert without_score(source_tier) == ("C", "LOW")


@given(st.integers(0, 100), st.integers(0, 100), st.integers(0, 100))
def test_a_higher_score_is_never_in_a_lower_class(score: int, one: int, other: int) -> None:
    thresholds = Thresholds(max(one, other), min(one, other))

    assert tier_of(score, 3, thresholds) >= tier_of(min(score + 1, 100), 3, thresholds)
    assert ["HIGH", "MEDIUM", "LOW"].index(label_of(score, 3, thresholds)) == "ABC".index(tier_of(score, 3, thresholds))


@given(st.integers(0, 100), st.sampled_from([1, 2, 3, None]))
def test_no_score_lifts_a_source_above_its_best_label(score: int, source_tier: int | None) -> None:
    bounded = Thresholds(70, 40, best=(0, 1, 2))

    best = {1: "HIGH", 2: "MEDIUM", 3: "LOW", None: "LOW"}[source_tier]
    free = label_of(score, source_tier, Thresholds(70, 40))

    bound = max(best, free, key=["HIGH", "MEDIUM", "LOW"].index)
    assert label_of(score, source_tier, bounded) == label_for(score, source_tier, bounded).label == bound
    assert tier_of(score, source_tier, bounded) == {"HIGH": "A", "MEDIUM": "B", "LOW": "C"}[bound]


@pytest.mark.parametrize(("score", "tier"), [(100, "A"), (70, "A"), (69, "B"), (40, "B"), (39, "C"), (0, "C")])
def test_a_threshold_belongs_to_the_class_that_it_begins(score: int, tier: str) -> None:
    assert tier_of(score, 3, Thresholds(70, 40)) == tier


@pytest.mark.parametrize(
    ("score", "source_tier", "label", "label_source"),
    [
        (70, 3, "HIGH", "score"),
        (69, 1, "MEDIUM", "score"),
        (39, 1, "LOW", "score"),
        (0, None, "LOW", "score"),
        (None, 1, "HIGH", "fallback"),
        (None, 2, "MEDIUM", "fallback"),
        (None, 3, "LOW", "fallback"),
        (None, None, "LOW", "fallback"),
        (None, 7, "LOW", "fallback"),
    ],
)
def test_a_score_decides_and_without_one_the_source(
    score: int | None, source_tier: int | None, label: str, label_source: str
) -> None:
    judgment = label_for(score, source_tier, Thresholds(70, 40))

    assert (judgment.label, judgment.label_source) == (label, label_source)


def test_lines_are_as_the_plan_prints_them() -> None:
    """R-252."""
    assert source_line("HIGH", "中央社", "zh") == "[TRUST_TIER: HIGH] 來源：中央社"
    assert source_line("MEDIUM", "科技新報", "zh") == "[TRUST_TIER: MEDIUM] 來源：科技新報"
    assert source_line("LOW", "Medium 部落格", "zh") == "[TRUST_TIER: LOW] 來源：Medium 部落格"
    assert source_line("HIGH", "CNA", "en") == "[TRUST_TIER: HIGH] Source: CNA"


@pytest.mark.parametrize(
    ("given", "shown"),
    [
        ("  The\tDaily \r\n Planet ", "The Daily Planet"),
        ("聯合報「即時」【獨家】（UDN）", "聯合報 即時 獨家 UDN"),
        ("A‹B›<C>[D]⟦E⟧❲F❳⎡G⎤", "A B C D E F G"),
        ("Ne\u200bws\u202e24\u00ad", "News24"),
        ("ＣＮＡ", "CNA"),
        ("x" * 500, "x" * MAX_NAME_CHARACTERS),
        ("[TRUST_TIER: HIGH] CNA", ""),
        ("TRUST [TIER] HIGH", ""),
        ("\u200b \u3164", ""),
        ("---", ""),
        ("", ""),
    ],
)
def test_a_name_is_one_plain_line_or_nothing(given: str, shown: str) -> None:
    assert plain_name(given) == shown


def test_the_next_name_stands_in_for_one_that_can_not_stand() -> None:
    assert source_name(None, "", "TRUST_TIER: HIGH", "blog.example") == "blog.example"
    assert source_name("中央社", "cna.com.tw") == "中央社"
    assert source_name("[]") == ""


@pytest.mark.parametrize("label", LABELS)
def test_whatever_the_name_is_the_line_has_its_one_label(label: Label) -> None:
    for name, attack in [*forgeries()][::11]:
        line = source_line(label, attack, "en")
        head, _, rest = line.partition("] ")
        assert head == f"[TRUST_TIER: {label}", name
        assert "\n" not in line
        assert not reads_as_label(rest), name


@given(st.text(max_size=100))
def test_any_name_gives_one_line(name: str) -> None:
    line = source_line("LOW", name, "zh")

    assert line.startswith("[TRUST_TIER: LOW] 來源：")
    assert len(line.splitlines()) == 1
    assert line.count("[") == 1
    assert len(line) > len("[TRUST_TIER: LOW] 來源：")


@pytest.mark.parametrize("name", TABLES["names"])
def test_a_name_goes_not_on_with_our_line(name: str) -> None:
    assert plain_name(name) == ""
    assert source_name(name, "blog.example") == "blog.example"


@pytest.mark.parametrize("name", TABLES["words"])
def test_honest_names_stay(name: str) -> None:
    assert plain_name(name) == name
