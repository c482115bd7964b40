"""Results of many kinds and languages, as search steps return them: snippets, small pages, broken pages."""

import pytest

from handlers.classify_results import ClassifyResultsRules
from schemas.retrieval import ClassifiedResult, ResultType, RetrievedContent
from tests.rules import shipped_rules
from tests.tables import tables

TABLES = tables(__file__)

CLASSIFIER = shipped_rules(ClassifyResultsRules).classifier
ITEM, LISTING, NAVIGATION = ResultType.SPECIFIC_CONTENT, ResultType.AGGREGATOR, ResultType.NAVIGATION
KINDS = {"item": ITEM, "listing": LISTING, "navigation": NAVIGATION}
SITE = "https://www.site.example"
SENTENCE = "The barge came in on the morning tide and was made fast beside the old customs house, and many waited."
SNIPPETS = [(KINDS[kind], *rest) for kind, *rest in TABLES["snippets"]]


def classify(path: str, title: str | None, text: str) -> ClassifiedResult:
    url = path if "://" in path else SITE + path if path else ""
    return CLASSIFIER.classify(RetrievedContent(url=url, title=title, content=text))


@pytest.mark.parametrize(("kind", "path", "title", "text"), SNIPPETS)
def test_snippets(kind: ResultType, path: str, title: str | None, text: str) -> None:
    assert classify(path, title, text).result_type is kind


def page(title: str, main: str) -> str:
    menu = "".join(f"<li><a href=/{name}>{name}</a></li>" for name in ("home", "events", "news", "about", "contact"))
    return (
        f"<!doctype html><title>{title}</title><body><header><nav><ul>{menu}</ul></nav></header>"
        f"<main>{main}</main><footer><p>Privacy policy, terms of use</p></footer></body>"
    )


def cards(items: tuple[str, ...], about: str, link: str = "") -> str:
    return "".join(
        f'<div class="card"><h3><a href="/item/{number}">{name}</a></h3><p>{about}</p>{link}</div>'
        for number, name in enumerate(items, 100)
    )


EVENTS = ("Jazz night at the hall", "Farmers market", "Big pub quiz", "Silent film with organ", "Swan lake", "Carols")
SWEETS = ("risalamande", "brownie", "tiramisu", "citronfromage", "pandekager", "æblekage", "lagkage")
PAGES = [
    *((KINDS[kind], *rest) for kind, *rest in TABLES["pages"]),
    (LISTING, "/events/this-weekend", "Events this weekend", cards(EVENTS, "Sat 29 Nov, 7:30pm", "<a>View event</a>")),
    (LISTING, "/c/hiking-boots", "Hiking boots", cards(EVENTS, "£90.00", "<button>Add to basket</button>")),
    (LISTING, "/fahrradhelme", "Fahrradhelme online kaufen", cards(EVENTS, "49,95 €", "<a>In den Warenkorb</a>")),
    (LISTING, "/kalender", "Det sker i Aarhus – kalender", cards(EVENTS, "lør. 29. nov. kl. 10", "<a>Læs mere</a>")),
    (LISTING, "/search?q=tide", "Search results for tide", cards(EVENTS, "Printed tables of high and low water.")),
    (
        ITEM,
        "/2025/11/harbour-dredging-begins",
        "Harbour dredging begins",
        f"<article><h1>Harbour dredging begins</h1>{f'<p>{SENTENCE}</p>' * 12}</article>",
    ),
    (
        ITEM,
        "/threads/queen-not-laying.4/",
        "Queen not laying | Bee forum",
        "<h1>Queen not laying</h1>" + f"<div class=post><b>marigold</b><p>{SENTENCE}</p></div>" * 5,
    ),
    (
        LISTING,
        "/opskrifter/dessert",
        "Desserter",
        "".join(f"<a class=card href=/opskrift/{name}><h3>{name}</h3><span>30 min</span></a>" for name in SWEETS),
    ),
    (
        LISTING,
        "/bbs/12",
        "园艺版 - 论坛",
        "".join(
            f"<tr><td><a href=/t/{n}>蜗牛和西红柿 {n}</a><td>{n * 3}<td><a href=/u/{n}>用户{n}</a>" for n in range(6)
        ).join(("<table>", "</table>")),
    ),
]


@pytest.mark.parametrize(("kind", "path", "title", "main"), PAGES)
def test_small_pages(kind: ResultType, path: str, title: str, main: str) -> None:
    result = RetrievedContent(url=SITE + path, title=title, content="", html=page(title, main))
    assert CLASSIFIER.classify(result).result_type is kind


def test_a_page_that_scripts_write_leaves_it_to_the_text() -> None:
    shell = f"<title>App</title><body><div id=root></div><script>{'x=1;' * 2000}</script></body>"
    text = RetrievedContent(url=f"{SITE}/a/harbour-dredging-begins", content=SENTENCE * 30, content_kind="full")
    result = text.model_copy(update={"html": shell})
    assert CLASSIFIER.measures(result) == CLASSIFIER.measures(text.model_copy(update={"title": "App"}))
    read, classified, _ = CLASSIFIER.read(result)
    assert (read.title, classified.result_type) == ("App", ITEM)


@pytest.mark.parametrize(
    "html", ["\x00" * 100, "<a href=" * 5000, "<div>" * 5_000, "<a " + "x=1 " * 20_000, "\ud800<p>x", "<!--" * 9999]
)
def test_pages_in_a_bad_state_have_a_type(html: str) -> None:
    result = RetrievedContent(url=f"{SITE}/{'a' * 5000}", title="\ud800", content="\ud800 x " * 50, html=html)
    assert CLASSIFIER.classify(result).result_type in ResultType
