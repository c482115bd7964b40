"""The rubric of a search, part by part (R-084 to R-088, C-12 to C-14)."""

from typing import Any

import pytest
from pydantic import ValidationError

from handlers.evaluate_search import EvaluateSearchRules
from handlers.retrieval.search_rubric import (
    Assessment,
    Bands,
    RelevancePoints,
    assess,
    gaps_of,
    refinements_of,
)
from schemas.retrieval import RetrievalBatch, RetrievedContent
from tests.rules import shipped_rules
from tests.tables import tables

TABLES = tables(__file__)

RULES = shipped_rules(EvaluateSearchRules)


def result(url: str = "", title: str = "", content: str = "") -> RetrievedContent:
    return RetrievedContent(url=url, title=title, content=content)


def assessed(
    *results: RetrievedContent, goal: str = "jazz", fields: tuple[str, ...] | None = None, **section: Any
) -> Assessment:
    batch = RetrievalBatch(batch_id="b", query=goal, required_fields=fields, retrieved_content=results)
    return assess(batch, RULES.search_evaluation.model_copy(update=section), RULES.queries, RULES.credits)


@pytest.mark.parametrize(
    ("count", "points"), [(0, -0.4), (1, -0.2), (2, -0.2), (3, 0.1), (4, 0.1), (5, 0.2), (6, 0.2), (50, 0.2)]
)
def test_points_for_the_number_of_results(count: int, points: float) -> None:
    """C-12: five are many, and fewer than three are few."""
    found = assessed(*[result()] * count)
    assert (found.rubric.count, found.few) == (points, points < 0)


@pytest.mark.parametrize(
    ("content", "fields", "points", "missing"),
    [
        *(
            (result(**content), fields, points, missing)
            for content, fields, points, missing in TABLES["points_for_required_fields"]
        ),
        (RetrievedContent(title=None, content="x"), ("title",), 0.0, ("title",)),
        (result(content="x" * 4990 + " for $12"), ("price",), 0.4, ()),
        (result(content="x" * 5000 + " for $12"), ("price",), 0.0, ("price",)),
        (result("https://a.example/"), ("link", "URL"), 0.4, ()),
    ],
)
def test_points_for_required_fields(
    content: RetrievedContent, fields: tuple[str, ...] | None, points: float, missing: tuple[str, ...]
) -> None:
    found = assessed(content, fields=fields)
    assert found.rubric.coverage == pytest.approx(points)
    assert found.missing == missing


def test_a_field_without_a_rule_is_left_to_a_model() -> None:
    """C-14."""
    found = assessed(result(), fields=("horse power", " horse  power ", "Horse_Power", ""))
    assert found.unchecked == ("horse power",)
    assert found.rubric.coverage == 0.0


@pytest.mark.parametrize(("hosts", "points"), TABLES["points_for_where_results_come_from"])
def test_points_for_where_results_come_from(hosts: tuple[str, ...], points: float) -> None:
    assert assessed(*[result(f"https://{host}/x") for host in hosts]).rubric.diversity == pytest.approx(points)


@pytest.mark.parametrize(("goal", "titles", "points"), TABLES["points_for_what_results_say"])
def test_points_for_what_results_say(goal: str, titles: tuple[str, ...], points: float) -> None:
    found = assessed(*[result(title=title, content="x") for title in titles], goal=goal)
    assert found.rubric.relevance == pytest.approx(points)


@pytest.mark.parametrize(("goal", "fields", "shopping"), TABLES["a_goal_is_to_buy_by_its_words_or_by_a_required_field"])
def test_a_goal_is_to_buy_by_its_words_or_by_a_required_field(
    goal: str, fields: tuple[str, ...], shopping: bool
) -> None:
    assert assessed(result(), goal=goal, fields=fields).shopping is shopping


def test_results_beside_the_point_are_known_by_their_hosts() -> None:
    """Two of three are: 0.1 for the goal's word, less 0.1."""
    hosts = ("ptt.cc", "www.reddit.com", "notptt.cc")
    results = [result(f"https://{host}/x", "Jazz") for host in hosts]
    assert assessed(*results, goal="buy jazz").rubric.relevance == 0.0
    assert assessed(*results).rubric.relevance == 0.1, "a goal that buys nothing may be met by a forum"


def test_a_goal_without_words_of_its_own_is_not_met() -> None:
    relevance = RelevancePoints(keywords_coverage=0.0)
    assert assessed(result(title="the"), goal="the", relevance=relevance).off_goal
    assert not assessed(result(title="the"), goal="jazz", relevance=relevance).off_goal


def test_bands_out_of_order_are_refused() -> None:
    with pytest.raises(ValidationError, match="not in order"):
        Bands(high=0.5, acceptable=0.6)


@pytest.mark.parametrize(
    ("titles", "most"), [(("Pizza",) * 5, 0.3), (("Jazz", "Pizza", "Pizza"), 0.3), (("Jazz",) * 5, 1.0)]
)
def test_results_beside_the_goal_are_never_acceptable(titles: tuple[str, ...], most: float) -> None:
    results = [result(f"https://{n}.example/", title, "buy now for $9") for n, title in enumerate(titles)]
    found = assessed(*results, fields=("title", "price", "url"))
    assert (found.rubric.total <= most) is True
    assert (found.rubric.total < RULES.search_evaluation.bands.acceptable) is (most < 1.0)


def test_section_that_accepts_off_goal_results_is_refused() -> None:
    section = RULES.search_evaluation.model_dump()
    section["relevance"]["most_off_goal"] = section["bands"]["acceptable"]
    with pytest.raises(ValidationError):
        shipped_rules(EvaluateSearchRules, search_evaluation=section)


@pytest.mark.parametrize(
    ("field", "known"),
    [("URL/Link", True), ("url / link", True), ("Title|Name", True), ("title/price", False), ("Colour/Size", False)],
)
def test_a_field_with_a_stroke_is_one_where_its_names_mean_one(field: str, *, known: bool) -> None:
    found = assessed(result("https://a.example/", "Jazz"), fields=(field,))
    assert (found.unchecked == ()) is known


SECTION = RULES.search_evaluation
LISTS = SECTION.refinements
MANY = [result(f"https://{name}.example/", "Jazz tonight") for name in ("a", "b", "c")]
ONE_SITE = [result("https://a.example/1", "Jazz tonight")] * 5


@pytest.mark.parametrize(
    ("results", "goal", "fields", "suggested", "gap"),
    [
        (MANY[:2], "jazz", ("title", "availability"), LISTS.low_count, "few results"),
        (MANY, "jazz", ("price",), SECTION.fields["price"].refinements, "No result has: price."),
        (MANY, "jazz", ("availability",), ("Add 'availability' to the query",), "No result has: availability."),
        (MANY, "hamsters", ("title",), LISTS.poor_relevance, "beside the goal"),
        (ONE_SITE, "jazz", ("title", "availability"), LISTS.low_diversity_shopping, "few sites"),
        (ONE_SITE, "blues", ("title",), LISTS.low_diversity[:1], "beside the goal"),
        (MANY[:1], "hamsters", ("price",), LISTS.another_query, "No result has"),
    ],
)
def test_each_weakness_has_its_words(
    results: list[RetrievedContent], goal: str, fields: tuple[str, ...], suggested: tuple[str, ...], gap: str
) -> None:
    found = assessed(*results, goal=goal, fields=fields)
    assert suggested
    assert set(suggested) <= set(refinements_of(found, SECTION))
    assert gap in gaps_of(found, SECTION)


def test_suggestions_are_bounded_and_so_are_names_in_them() -> None:
    found = assessed(result(), goal="jazz", fields=("price", "availability", "x" * 9999))
    assert len(refinements_of(found, SECTION)) == SECTION.max_refinements
    assert len(gaps_of(found, SECTION)) < 400


def test_advice_without_results_is_a_wider_search() -> None:
    """R-090: advice that narrows the search, such as another field, is useless without results."""
    found = assessed(goal="Buy x", fields=("price", "colour"))
    assert gaps_of(found, SECTION) == "There are no results."
    suggested = refinements_of(found, SECTION)
    assert suggested[: len(LISTS.low_count)] == LISTS.low_count
    assert not set(suggested) & {*LISTS.poor_relevance, *SECTION.fields["price"].refinements}


def test_an_agency_and_then_the_earliest_day_is_first_of_copies() -> None:
    report = "The bank of Norway raised its key rate to 3.5 per cent, the third rise in a year, and banks follow."
    dated = [result(content=f"{day} May 2026. {report}") for day in (9, 7)]
    found = assessed(*dated)
    assert found.copies[0].places == (1, 0)
    assert "1 of them are copies of others." in gaps_of(found, SECTION)
    assert assessed(*dated, result(content=f"OSLO, 11 May (Reuters) - {report}")).copies[0].places == (2, 1, 0)


@pytest.mark.parametrize(("goal", "title"), [("找11月北京的爵士音乐会", "北京爵士音乐会 11月29日"), ("找猫", "猫")])
def test_a_sentence_in_chinese_is_met_by_its_words(goal: str, title: str) -> None:
    assert not assessed(result(title=title), goal=goal).off_goal
