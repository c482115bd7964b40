"""The explanation of a rank: it names every stage that affected it, and no other."""

from handlers.rank_results import RankResultsRules
from handlers.ranking.candidates import Candidate
from handlers.ranking.config import RankingSection
from handlers.ranking.query import read_query
from handlers.ranking.stages import Standing, Weighed, after_diversity, after_judge, after_trees, explain, weigh
from schemas.llm import LlmCall
from schemas.replies import ModelReply
from tests.handlers.ranking.models import generated_model
from tests.rules import shipped_rules
from tests.tables import tables

TABLES = tables(__file__)

SECTION = shipped_rules(RankResultsRules).ranking
TEXTS = TABLES["texts"]


def section(trees: str = "off", mmr: bool = True, shown: int = 20) -> RankingSection:
    return SECTION.model_copy(
        update={
            "trees": SECTION.trees.model_copy(update={"mode": trees, "confidence": 0.0}),
            "mmr": SECTION.mmr.model_copy(update={"enabled": mmr}),
            "model_ranking": SECTION.model_ranking.model_copy(update={"candidates": shown}),
        }
    )


def candidates() -> tuple[Candidate, ...]:
    return tuple(
        Candidate(url=f"https://a.example/{place}", title="", text=text, passage=text, position=place)
        for place, text in enumerate(TEXTS)
    )


def ranked(under: RankingSection, judged_by: str = "model") -> tuple[Weighed, Standing]:
    weighed = weigh(read_query("boat race mill", under.intent), candidates(), None, under)
    call = {"judged_by": judged_by, "model": "m", "prompt_version": "0" * 12, "temperature": 0.0, "outcome": "ok"}
    reply = ModelReply('{"scores": [{"number": 1, "score": 1.0}]}', (), LlmCall.model_validate(call))
    standing = after_judge(weighed, reply, under.model_ranking)
    standing = after_trees(weighed, standing, under.trees, generated_model())
    return weighed, after_diversity(weighed, standing, under, 10)


def reasons(under: RankingSection, judged_by: str = "model") -> list[tuple[str, ...]]:
    """By rank."""
    weighed, standing = ranked(under, judged_by)
    return [explain(weighed, standing, place) for place in standing.order]


def test_explanation_begins_with_words_vectors_and_the_judge() -> None:
    first, *others = reasons(section())
    assert "3 of 3 words in the text" in first
    assert "the model gives it 1" in first
    assert "the offline judge gives it 1" in reasons(section(), "offline")[0]
    for said in (*others, *reasons(section(shown=1))[1:]):
        assert "the model said nothing of it" in said


def test_trees_are_named_where_their_order_counts() -> None:
    assert all(any(line.startswith("generated 1 gives it ") for line in said) for said in reasons(section("on")))
    for mode in ("off", "shadow"):
        assert not any("generated" in line for said in reasons(section(mode)) for line in said)


def test_explanation_mentions_likeness_only_where_it_counts() -> None:
    weighed, standing = ranked(section())
    twin = 1 if standing.order.index(1) > standing.order.index(0) else 0
    rank = standing.order.index(1 - twin) + 1
    [told] = [line for line in explain(weighed, standing, twin) if "which counts against it" in line]
    assert told.endswith(f"like result {rank}, which counts against it")
    assert not any("counts against" in line for line in reasons(section())[0])
    assert not any("counts against" in line for said in reasons(section(mmr=False)) for line in said)
