"""Where not all paragraphs fit into a snippet, those that are worth most do."""

from handlers.html.snippet import snippet_of
from handlers.judge_relevance import JudgeRelevanceRules
from schemas.relevance import Paragraph
from tests.rules import shipped_rules

LIMITS = shipped_rules(JudgeRelevanceRules).relevance_gate.snippet
FILLER = "The town of Oybin has a castle on a rock, which many people visit in summer. "


def test_the_paragraph_with_the_words_of_the_query_is_kept_in_its_place() -> None:
    texts = [f"{FILLER * 5}{number}." for number in range(8)]
    answer = "A day ticket for the cable car in Oybin costs twelve euros, and children go free."
    paragraphs = [Paragraph(text=text) for text in (*texts, answer, "Dogs must be on a lead in the whole of the park.")]
    assert answer not in snippet_of(paragraphs, LIMITS)
    chosen = snippet_of(paragraphs, LIMITS, lambda text: "ticket" in text)
    assert answer in chosen
    assert chosen.startswith(texts[0])
    assert len(chosen) <= LIMITS.max_characters
