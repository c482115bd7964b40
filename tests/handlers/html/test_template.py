"""Content by places of the template: places are measured together, the trees decide about each as a whole."""

import pytest

from handlers.html.main_content import candidates, find_content
from handlers.html.template import OF_MARKS, OF_PAGE, OF_PLACE, Place, marks, measured
from handlers.trees.forest import Forest, Tree, Trees
from tests.handlers.html.rules import READING, outline_of

SENTENCE = "Three days of heavy rain have ended the longest drought in forty years, the weather office said."
MENU = "<ul class=menu-top>" + "".join(f"<li><a href=/{n}>Section {n}</a></li>" for n in range(8)) + "</ul>"
CARDS = "".join(
    f"<div class='card card-{n}'><h3 class=title><a href=/p/{n}>Kettle number {word}</a></h3>"
    f"<div class=text>A kettle of steel that holds {n + 1} litres and has a handle of wood.</div>"
    f"<div class=price>${n + 20}.00</div><div class=cart><a href=/cart/{n}>Add to cart</a></div></div>"
    for n, word in enumerate(["one", "two", "three", "four", "five", "six", "seven", "eight", "nine", "ten"])
)
SHOP = f"<body>{MENU}<main><h1>Kettles</h1><div class=grid>{CARDS}</div></main>"
POSTS = "".join(
    f"<article class='post post-{n}'><div class=user><h4>Member {word}</h4>"
    f"<dl class=pairs><dt>Joined</dt><dd>20{n}0</dd></dl></div>"
    f"<div class=body>{SENTENCE} I have measured it in {word} places.</div></article>"
    for n, word in enumerate(("Ada", "Bo", "Cy", "Di", "Ed", "Flo"))
)


def read(html: str, forest: Forest = READING.content_trees.forest) -> str:
    return find_content(outline_of(html), forest, 10_000).text


def stump(measure: str, threshold: float) -> Forest:
    """Trees that take what is above the threshold."""
    tree = Tree(of=0, measures=(0,), thresholds=(threshold,), leaves=(-5.0, 5.0))
    return Forest(Trees(measures=(measure,), start=(0.0,), trees=(tree,)))


def places_of(html: str) -> tuple[dict[str, float], list[tuple[Place, dict[str, float]]]]:
    """The measures of a page and of its places by their names."""
    page = outline_of(html)
    of_page, places = measured(page, candidates(page))
    named = [(place, dict(zip(OF_PLACE, found, strict=True))) for place, _, found in places]
    return dict(zip(OF_PAGE, of_page, strict=True)), named


def test_lines_of_one_make_are_measured_together() -> None:
    _, places = places_of(SHOP)
    assert [len(place.numbers) for place, _ in places] == [8, 1, 10, 10, 10, 10]
    carts = places[-1][1]
    assert (carts["linked"], carts["lines"]) == (1.0, 10)
    assert places[3][1]["text 2"] > places[3][1]["text 1"] > places[3][1]["text 0"]


def test_prose_and_boilerplate_are_measured() -> None:
    html = f"<div class=thread>{POSTS}</div><div class=sidebar><p>{SENTENCE} And so on.</p></div>"
    of_page, places = places_of(html)
    lines = outline_of(html).lines_with_links()
    by_text = {lines[place.numbers[0]].text: found for place, found in places}
    assert of_page["page prose"] > 0.8
    assert by_text[f"{SENTENCE} And so on."]["hidden"]
    assert by_text[f"{SENTENCE} I have measured it in Ada places."]["narrow"] == 1.0


def test_a_place_is_taken_as_a_whole() -> None:
    assert read(SHOP, stump("linked", 0.9)).count("Add to cart") == 10
    assert read(SHOP, stump("mean", 40.0)).count("litres") == 10
    assert "Section" not in read(SHOP, stump("mean", 40.0))


def test_cards_have_names_and_prices_and_no_menu() -> None:
    text = read(SHOP)
    assert text.startswith("Kettle number one\nA kettle of steel")
    assert text.count("Kettle number") == text.count(".00") == 10
    assert "Section" not in text


def test_a_thread_has_its_posts() -> None:
    text = read(f"<body>{MENU}<main><h1>Rain</h1><div class=thread>{POSTS}</div></main>")
    assert text.count("heavy rain") == 6
    assert "Section" not in text


def test_an_article_has_its_links_and_no_menu() -> None:
    story = "".join(f"<p>Day {number}: {SENTENCE} <a href=/more>More about it</a></p>" for number in range(6))
    text = read(f"<body>{MENU}<main><article><h1>Rain</h1><div class=story>{story}</div></article></main>")
    assert text.count("More about it") == 6
    assert "Section" not in text


def test_a_long_line_is_in_the_content_once() -> None:
    quoted = POSTS.replace("<div class=body>", f"<div class=body><blockquote>{SENTENCE} Said before.</blockquote>", 3)
    text = read(f"<body>{MENU}<main><h1>Rain</h1><div class=thread>{quoted}</div></main>")
    assert text.count("Said before") == 1
    story = "".join(f"<p>{SENTENCE} It fell on day {number}.</p>" for number in range(8))
    assert read(f"<article>{story}{story}</article>").count("heavy rain") == 8
    rows = f"<tr><td>{SENTENCE}</td><td>Oslo</td></tr>" * 8
    assert read(f"<table>{rows}</table>", stump("mean", 1.0)).count("heavy rain") == 8


STORY = "".join(f"<p>Day {number}: {SENTENCE}</p>" for number in range(6))


def test_a_paragraph_that_is_a_link_is_a_place_of_its_own() -> None:
    teaser = "<p>Read more: <a href=/more>The drought of the last ten years in pictures and maps</a></p>"
    _, places = places_of(
        f"<div class=story>{STORY}{teaser}<p>See <a href=/map>the map</a> of the rain there.</p></div>"
    )
    assert [(place.tag, len(place.numbers)) for place, _ in places] == [("p", 7), ("p", 1)]


@pytest.mark.parametrize("beside", ["", f"<div class=grid>{CARDS}</div>"], ids=["story", "trees"])
def test_captions_are_left_out(beside: str) -> None:
    figure = f"<figure><img src=a><figcaption><div><p>{SENTENCE} Photo: Ada.</p></div></figcaption></figure>"
    text = read(f"<main><h1>Rain</h1><div class=story>{STORY}{figure}<p>{SENTENCE} The end.</p></div>{beside}</main>")
    assert "The end." in text
    assert "Photo" not in text


def test_headings_without_their_text_are_left_out() -> None:
    nine = "".join(f"<li><a href=/{n}>Kettle {n}</a></li>" for n in range(9))
    html = (
        f"<main><h1>Rain</h1><h2>Week one</h2>{STORY}<h2>Most read</h2><ul>{nine}</ul><h2>Week two</h2><h3>Monday</h3>"
        f"<p>{SENTENCE} More.</p><h2>Shop</h2><ul>{nine}</ul></main>"
    )
    inverse = Tree(of=0, measures=(0,), thresholds=(0.9,), leaves=(5.0, -5.0))
    forest = Forest(Trees(measures=("linked",), start=(0.0,), trees=(inverse,)))
    assert [line for line in read(html, forest).split("\n") if len(line) < 10] == [
        "Rain",
        "Week one",
        "Week two",
        "Monday",
    ]


def test_the_best_of_doubtful_places_are_taken() -> None:
    timid = Tree(of=0, measures=(0,), thresholds=(60.0,), leaves=(-1.0, -0.2))
    never = Tree(of=0, measures=(0,), thresholds=(60.0,), leaves=(-9.0, -8.0))
    forests = [Forest(Trees(measures=("mean",), start=(0.0,), trees=(tree,))) for tree in (timid, never)]
    shown, empty = (read(SHOP, forest) for forest in forests)
    assert shown.count("litres") == 10
    assert "Add to cart" not in shown
    assert empty == "\n".join(f"${number + 20}.00" for number in range(10))


def test_the_trees_ask_for_measures_that_there_are() -> None:
    assert len(marks(0)) == len(OF_MARKS)
    assert set(READING.content_trees.measures) == {*OF_PAGE, *OF_PLACE, *OF_MARKS}
    assert "CC-BY-4.0" in READING.content_trees.about
