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


def test_trees_are_named_where_their_order_counts() -> None:
    assert all(any(line.startswith("generated 1 gives it ") for line in said) for said in reasons(section("on")))
    for mode in ("off", "shadow"):
        assert not any("generated" in line for said in reasons(section(mode)) for line in said)
