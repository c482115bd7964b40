"""The lines of a page that are its content, on short pages."""

import pytest

from tests.handlers.html.rules import content_of
from tests.tables import tables

TABLES = tables(__file__)

PARAGRAPH = "Three days of heavy rain have ended the longest drought in forty years, the weather office said."


def filled(text: str) -> str:
    """A text with the paragraph on rain, and with paragraphs of the same length on snow and hail."""
    for word in ("rain", "snow", "hail"):
        text = text.replace(f"{{{word.upper()}}}", PARAGRAPH.replace("rain", word))
    return text


@pytest.mark.parametrize(("html", "expected"), TABLES["contents"].values(), ids=TABLES["contents"])
def test_contents(html: str, expected: str) -> None:
    assert content_of(filled(html)).text == filled(expected)


@pytest.mark.parametrize("tag", ["aside", "dialog", "nav", "footer", "section", "menu"])
@pytest.mark.parametrize(
    "beside",
    TABLES["a_story_is_content_whatever_element_holds_it"],
    ids=["consent", "newsletter", "navigation"],
)
def test_a_story_is_content_whatever_element_holds_it(tag: str, beside: str) -> None:
    story = "".join(f"<p>Day {number}: {PARAGRAPH}</p>" for number in range(6))
    for heading in (f"<{tag}><h1>Rain</h1>", f"<h1>Rain</h1><{tag}>"):
        lines = content_of(f"{beside}{heading}{story}</{tag}>").text.split("\n")
        assert [line for line in lines if line != "Rain"] == [f"Day {number}: {PARAGRAPH}" for number in range(6)]


@pytest.mark.parametrize(
    "question", ["<label for=a>Who pays for it?</label><input id=a type=checkbox>", "<button>Who pays for it?</button>"]
)
def test_a_control_above_text_is_its_heading(question: str) -> None:
    answers = "".join(f"<div>{question}<div><p>{number} {PARAGRAPH}</p></div></div>" for number in range(3))
    form = "<form><label for=b>Your name</label><input id=b><button>Send</button></form>"
    text = content_of(f"<h1>Questions</h1>{answers}{form}").text
    assert text.count("Who pays for it?") == 3
    assert "Your name" not in text
    assert "Send" not in text


def test_a_table_of_data_between_paragraphs_is_text() -> None:
    told = "<p>{} program reads a list of files, works out a sum for each, and compares it with that of the day before."
    table = "<table><tr><th>Option<th>Meaning<tr><td>-q<td>print errors<tr><td>-r<td>read folders</table>"
    html = f"""<table><tr><td><a href=a>alarm</a><br><a href=s>sums</a><br><a href=w>words</a><td><h1>Manual</h1>
        {told.format("The")}{told.format("Each")}<h2>Options</h2>{told.format("This")}{table}{told.format("No")}</table>"""
    text = content_of(html).text
    assert "alarm" not in text
    assert "Option | Meaning\n-q | print errors\n-r | read folders" in text


@pytest.mark.parametrize("card", TABLES["cards_beside_a_story_are_no_content"])
def test_cards_beside_a_story_are_no_content(card: str) -> None:
    story = "".join(f"<p>Day {number}: {PARAGRAPH}</p>" for number in range(8))
    cards = "".join(card.format(number, f"Teaser {number}: {PARAGRAPH}") for number in range(12))
    parts = f"<div class=story>{story}</div>", f"<div class=stream>{cards}</div>"
    for shown in (parts, parts[::-1]):
        text = content_of(f"<h1>Rain</h1>{''.join(shown)}").text
        assert text.count("Day") == 8
        assert "Teaser" not in text


@pytest.mark.parametrize(("lines", "cards"), [(4, 12), (6, 20), (8, 30)])
def test_a_short_story_below_many_cards_is_content(lines: int, cards: int) -> None:
    story = "".join(f"<p>Day {number}: {PARAGRAPH} {PARAGRAPH}</p>" for number in range(lines))
    link = "<div class=teaser><h3><a href=/{0}>Another story of the week number {0}</a></h3><p>In town {0}.</p></div>"
    stream = "".join(map(link.format, range(cards)))
    for page in (f"<main><div>{stream}</div><h1>Rain</h1>{story}", f"<h1>Rain</h1><div>{stream}</div><div>{story}"):
        assert content_of(page).text.count("Day") == lines
