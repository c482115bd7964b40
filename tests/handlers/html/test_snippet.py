"""The two views of a source: title and summary for its judgment, and the snippet of a relevant source."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from handlers.html.snippet import SnippetLimits, SourcePage, begin, paragraphs_of, snippet_of
from handlers.judge_relevance import JudgeRelevanceRules
from schemas.relevance import Paragraph
from tests.rules import shipped_rules
from tests.tables import tables

TABLES = tables(__file__)

RULES = shipped_rules(JudgeRelevanceRules)
READER, LIMITS = RULES.pages, RULES.relevance_gate.snippet
SAID = "The tram depot opens at seven, and the first car leaves for the harbour a quarter of an hour later."
MORE = "On Sundays everything happens an hour later, and no car leaves before the bells of the harbour church."
ZH = "電車總站早上七點開門，第一班車在七點一刻開往港口，星期日則晚一個小時出發。"


def snippet(html: str | None = None, text: str | None = None, **limits: int) -> str:
    page, sizes = SourcePage(html, text, "", READER), LIMITS.model_copy(update=limits)
    return snippet_of(paragraphs_of(page.facts, page.text, sizes), sizes)


def seen(html: str | None = None, text: str | None = None, title: str = "") -> tuple[str, str]:
    found = begin(SourcePage(html, None, "", READER).facts, title, text or "", LIMITS)
    return found.title, found.summary


def unreadable(html: str | None) -> str | None:
    return SourcePage(html, None, "", READER).unreadable


def page(body: str, head: str = "<title>The depot</title>") -> str:
    return f"<html><head>{head}</head><body>{body}</body></html>"


def test_the_summary_is_the_description() -> None:
    described = page(
        f"<p>{SAID}</p>", "<title>The depot</title><meta name='description' content=' When\nthe tram leaves. '>"
    )
    assert seen(described) == ("The depot", "When the tram leaves.")


def test_without_a_description_the_summary_is_the_first_words() -> None:
    title, summary = seen(page("".join(f"<nav>Home</nav><p>{SAID} Car {n}.</p>" for n in range(20))))
    assert title == "The depot"
    assert len(summary.split()) == LIMITS.summary_words
    assert summary.startswith("The tram depot opens")


@pytest.mark.parametrize(("head", "body", "title"), TABLES["a_title_is_looked_for_where_it_is_most_likely"])
def test_a_title_is_looked_for_where_it_is_most_likely(head: str, body: str, title: str) -> None:
    assert seen(page(f"{body}<p>{SAID}</p>", head), title="Given")[0] == title


TABLE = "<table><tr><th>Opening hours</th><td>Mon-Fri 9-17</td></tr><tr><th>Price</th><td>12 euros</td></tr></table>"


def filled(text: str) -> str:
    return text.replace("{SAID}", SAID).replace("{MORE}", MORE).replace("{TABLE}", TABLE)


@pytest.mark.parametrize(("body", "expected"), TABLES["snippets"].values(), ids=TABLES["snippets"])
def test_snippets(body: str, expected: str) -> None:
    assert snippet(page(filled(body))) == filled(expected)


@pytest.mark.parametrize("about_the_site", TABLES["paragraph_about_the_site_is_dropped"])
def test_paragraph_about_the_site_is_dropped(about_the_site: str) -> None:
    assert snippet(page(f"<main><p>{SAID}</p><p>{about_the_site}</p></main>")) == SAID
    assert snippet(text=f"{about_the_site}\n{SAID}") == SAID


@pytest.mark.parametrize(("said", "expected"), TABLES["a_sentence_may_be_all_that_a_page_says"])
def test_a_sentence_may_be_all_that_a_page_says(said: str, expected: str) -> None:
    assert snippet(page(f"<main><p>{said}</p></main>")) == expected
    assert snippet(text=f"Home\n{said}") == expected


def test_noscript_text_is_left_out_beside_other_content() -> None:
    assert MORE not in snippet(page(f"<main><p>{SAID}</p></main><noscript><p>{MORE}</p></noscript>"))


def test_the_text_counts_where_the_page_says_nothing() -> None:
    for html in ("<div>" * 5_000, page("<p>Loading")):
        assert snippet(html, SAID) == SAID
    assert snippet(page(f"<p>{SAID}</p>"), MORE) == SAID


@pytest.mark.parametrize(
    ("html", "text"), [*TABLES["a_source_without_content_has_no_snippet"], (page("<div>" * 5_000), None)]
)
def test_a_source_without_content_has_no_snippet(html: str | None, text: str | None) -> None:
    assert snippet(html, text) == ""


def test_a_snippet_is_cut_at_the_end_of_a_sentence() -> None:
    text = f"{SAID} {MORE}"
    assert snippet(text=text, max_characters=len(text)) == text
    assert snippet(text=text, max_characters=len(text) - 1) == SAID
    assert snippet(text=f"{SAID}\n{text}", max_characters=2 * len(SAID) + 20) == f"{SAID}\n{SAID}"
    assert snippet(text=ZH + ZH, max_characters=len(ZH) + 10) == ZH


def test_a_first_sentence_longer_than_a_snippet_is_cut_at_a_word() -> None:
    cut = snippet(text="word " * 100, max_characters=52)
    assert cut == ("word " * 10).strip()


def test_why_a_page_can_not_be_read() -> None:
    assert unreadable(None) is None
    assert unreadable(page(f"<p>{SAID}</p>")) is None
    assert unreadable("<div>" * 5_000)
    assert "more than" in (unreadable("x" * (8 * 1024 * 1024 + 1)) or "")


TAGS = ["<p>", "</p>", "<li>", "<ul>", "<noscript>", "</noscript", "<title>"]
PIECES = st.sampled_from([*TAGS, SAID, ZH, "cookies", ":", "\x00", "\ud800", "\n"])


@given(st.lists(PIECES, max_size=30).map("".join), st.integers(50, 300))
def test_nothing_raises_and_nothing_is_longer_than_it_may_be(text: str, most: int) -> None:
    for html, content in ((text, None), (None, text)):
        begin(SourcePage(html, None, "", READER).facts, text, content or "", LIMITS)
        said = snippet(html, content, max_characters=most)
        assert len(said) <= most
        assert said == said.strip()


def test_phrases_are_written_in_lower_case() -> None:
    with pytest.raises(ValueError, match="boilerplate"):
        SnippetLimits.model_validate(LIMITS.model_dump() | {"boilerplate": ["Cookies"]})


def test_the_paragraph_with_the_query_s_words_is_kept() -> None:
    texts = [f"{'The town of Oybin has a castle on a rock. ' * 9}{number}." for number in range(8)]
    answer = "A day ticket for the cable car in Oybin costs twelve euros, and children go free."
    paragraphs = [Paragraph(text=text) for text in (*texts, answer, "Dogs must be on a lead in the whole of the park.")]
    assert answer not in snippet_of(paragraphs, LIMITS)
    chosen = snippet_of(paragraphs, LIMITS, lambda text: "ticket" in text)
    assert answer in chosen
    assert chosen.startswith(texts[0])
    assert len(chosen) <= LIMITS.max_characters
