"""Results of many kinds and languages, as search steps return them: snippets, small pages, broken pages."""

import pytest

from handlers.classify_results import ClassifyResultsRules
from schemas.retrieval import ResultType, RetrievedContent
from tests.rules import shipped_rules

CLASSIFIER = shipped_rules(ClassifyResultsRules).classifier
ITEM, LISTING, NAVIGATION = ResultType.SPECIFIC_CONTENT, ResultType.AGGREGATOR, ResultType.NAVIGATION
SITE = "https://www.site.example"
SENTENCE = "The barge came in on the morning tide and was made fast beside the old customs house, and many waited."
SNIPPETS = [
    (ITEM, "/concerts/anna-berg-trio", "Anna Berg Trio – Friday 28 November",
     "Anna Berg Trio at the Wardrobe, Leeds. Friday 28 November 2025, doors 7:30pm, tickets £14."),
    (LISTING, "/concerts", "Concerts in Leeds 2025/26 - tickets and dates",
     "Find upcoming concerts in Leeds. Browse all gigs, festivals and live music events, compare prices."),
    (LISTING, "", "All events in Odense", "Find events in Odense. Concert: Read more. Play: Read more."),
    (ITEM, "/news/harbour-dredging-begins-after-wait", "Harbour dredging begins after two-year wait",
     "Work to deepen the inner harbour started on Monday, two years after the council first approved the plan."),
    (ITEM, "", None, "The trio played for two hours in the old hall on Friday, and nobody left before the end."),
    (NAVIGATION, "/", "Acme Pumps: Home", "Welcome to Acme Pumps. Industrial pumps, service and parts since 1954."),
    (NAVIGATION, "/account/login", "Log in", "Enter your email address and password to sign in. Forgot your password?"),
    (LISTING, "/ladies/hiking-boots", "Women's Hiking Boots | Free delivery",
     "Shop our range of women's hiking boots. 124 products from Alder, Birch, Cedar and more. Free returns."),
    (ITEM, "/p/doug-trail-3-gtx-1003", "Doug Trail 3 GTX Hiking Boot",
     "Doug Trail 3 GTX Hiking Boot in brown. £111.00. In stock, free delivery. Full leather upper."),
    (LISTING, "/search?q=lamp", "Search: lamp", "1-24 of 312 results for lamp. Sort by relevance. Filter by price."),
    (LISTING, "/veranstaltungen/", "Veranstaltungen in Kassel heute",
     "Alle Veranstaltungen in Kassel: Konzerte, Theater, Märkte. Jetzt finden und Tickets sichern."),
    (ITEM, "/termin/orgelkonzert-advent-2025", "Orgelkonzert zum Advent",
     "Sonntag, 30.11.2025, 17:00 Uhr in der Martinskirche Kassel. Eintritt 12 €. Werke von Bach und Reger."),
    (LISTING, "/events", "Alle begivenheder i Aarhus",
     "Se alle arrangementer i Aarhus denne weekend. Koncerter, udstillinger og markeder. Læs mere. Se mere."),
    (ITEM, "/koncert/jazz-fatter-eskil-28-november", "Jazz på Fatter Eskil",
     "Fredag den 28. november kl. 21.00 på Fatter Eskil. Entré 120 kr. Billetter i døren."),
    (LISTING, "/events", "台北活動列表", "查看所有台北近期活動：音樂會、展覽、市集。更多活動請點擊查看詳情。"),
    (ITEM, "/events/501", "古典音樂會：冬之夜", "2025年11月29日 19:30，國家音樂廳。票價 NT$600 起。青年管弦樂團演出。"),
    (ITEM, "/a/20251112/1188.html", "量子通信卫星地面站建成启用",
     "记者从有关部门获悉，我国新一代量子通信卫星地面站近日在西部地区建成并正式启用。"),
    (ITEM, "", "外媒：折叠屏新机为何注定先在南方制造", "外媒：折叠屏新机为何注定先在南方制造"),
    (ITEM, "/shows/cats", "Cats", "Thursday 4 December 2025, 7.30pm at the Playhouse, Leeds. Tickets from £18."),
    (ITEM, "/gig/the-beatles", "The Beatles", "29 November 2025, 8 PM. The Cavern, 10 Mathew Street. $25."),
    (ITEM, "/arrangement/123-messias", "Händels Messias",
     "Lørdag den 7. december 2024 kl. 19.30 i Domkirken. Pris: 250 kr. Billetter ved indgangen."),
    (ITEM, "/konzert/les-miserables", "Les Misérables",
     "Samstag, 6. Dezember 2025, 20 Uhr im Stadttheater. Eintritt 35 €."),
    (ITEM, "/news/floods", "Floods",
     "Two villages were cut off on Monday after the river rose by three metres in a night, the county said."),
    (ITEM, "/wiki/Athens", "Athens - Wiki", "Athens is the capital of Greece, and one of the oldest cities there are."),
    (ITEM, "/science/dinosaurs", "Dinosaurs",
     "Dinosaurs were reptiles that first lived some 240 million years ago and ruled the land for most of that time."),
    (ITEM, "/wiki/热泵", "热泵", "热泵是一种将热量从低温处转移到高温处的装置，广泛用于供暖和制冷。"),
    (LISTING, "/damen/jacken", "Damenjacken online kaufen",
     "1.204 Artikel. Sortieren nach Beliebtheit. Steppjacke 79,99 € In den Warenkorb. Parka 129,00 € In den Warenkorb. "
     "Wollmantel 199,00 € In den Warenkorb."),
    (LISTING, "/have/redskaber", "Haveredskaber",
     "Spade 199 kr. Læg i kurv. Rive 149 kr. Læg i kurv. Skovl 249 kr. Læg i kurv."),
    (LISTING, "/viewforum.php?f=9", "Vegetables - Board",
     "Topics Replies Views Last post. Carrots forking 14 512 by june. Blight again 31 990 by otto. Nets 6 121 by ines"),
    (LISTING, "/forum-12-1.html", "园艺版",
     "主题 回复 查看 西红柿裂果怎么办 12/340 小红 又是蜗牛 44/1201 老王 什么堆肥好 8/210 安娜"),
    (LISTING, "/huodong/", "上海演出", "12月6日 哈姆雷特 12月7日 新年音乐会 12月7日 脱口秀 12月8日 弥赛亚"),
    (ITEM, "/item/4412", "帆布背包 黑色", "￥159 有货 七天无理由退货 轻便耐磨，适合通勤与短途旅行。加入购物车"),
]  # fmt: skip


@pytest.mark.parametrize(("kind", "path", "title", "text"), SNIPPETS)
def test_snippets(kind: ResultType, path: str, title: str | None, text: str) -> None:
    url = SITE + path if path else ""
    result = RetrievedContent(url=url, title=title, content=text, content_kind="snippet")
    assert CLASSIFIER.classify(result).result_type is kind


@pytest.mark.parametrize(
    ("url", "title", "text", "kind"),
    [
        ("https://jobs.example/stelle/77", "Pflegefachkraft (m/w/d)",
         "Für unsere Station suchen wir ab 01.02.2026 eine Pflegefachkraft. Klinik Nord, Hauptstraße 7, 50667 Köln. "
         "Zu den Aufgaben gehören die Pflege der Patienten und die Dokumentation.", ITEM),
        ("https://search.example.com/syntax/operators", "Operators",
         "Put a phrase in quotation marks to find the pages that have these words in this order. A minus sign before a "
         "word leaves out the pages that have it.", ITEM),
    ],
)  # fmt: skip
def test_content_outweighs_the_host(url: str, title: str, text: str, kind: ResultType) -> None:
    result = RetrievedContent(url=url, title=title, content=text, content_kind="snippet")
    assert CLASSIFIER.classify(result).result_type is kind


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
    (LISTING, "/events/this-weekend", "Events this weekend", cards(EVENTS, "Sat 29 Nov, 7:30pm", "<a>View event</a>")),
    (LISTING, "/c/hiking-boots", "Hiking boots", cards(EVENTS, "£90.00", "<button>Add to basket</button>")),
    (LISTING, "/fahrradhelme", "Fahrradhelme online kaufen", cards(EVENTS, "49,95 €", "<a>In den Warenkorb</a>")),
    (LISTING, "/kalender", "Det sker i Aarhus – kalender", cards(EVENTS, "lør. 29. nov. kl. 10", "<a>Læs mere</a>")),
    (LISTING, "/search?q=tide", "Search results for tide", cards(EVENTS, "Printed tables of high and low water.")),
    (ITEM, "/item/9002.html", "云帆 N20 长续航手机", "<h1>云帆 N20 长续航手机</h1><p>价格：¥1599</p><p>库存：有货</p>"
     "<h2>商品介绍</h2><p>配备六千毫安时大电池，日常使用可达两天。屏幕采用护眼设计。</p>"),
    (ITEM, "/whats-on/the-winters-tale", "The Winter's Tale",
     "<h1>The Winter's Tale</h1><p>Thu 4 Dec 2025, 7.45pm</p><p>Tickets £12</p><p>A late play.</p>"),
    (ITEM, "/2025/11/harbour-dredging-begins", "Harbour dredging begins",
     f"<article><h1>Harbour dredging begins</h1>{f'<p>{SENTENCE}</p>' * 12}</article>"),
    (ITEM, "/threads/queen-not-laying.4/", "Queen not laying | Bee forum",
     "<h1>Queen not laying</h1>" + f"<div class=post><b>marigold</b><p>{SENTENCE}</p></div>" * 5),
    (LISTING, "/opskrifter/dessert", "Desserter",
     "".join(f"<a class=card href=/opskrift/{name}><h3>{name}</h3><span>30 min</span></a>" for name in SWEETS)),
    (LISTING, "/bbs/12", "园艺版 - 论坛",
     "".join(f"<tr><td><a href=/t/{n}>蜗牛和西红柿 {n}</a><td>{n * 3}<td><a href=/u/{n}>用户{n}</a>" for n in range(6))
     .join(("<table>", "</table>"))),
    (ITEM, "/opskrift/risalamande", "Risalamande",
     "<h1>Risalamande</h1><p>Tid: 45 min.</p><h2>Ingredienser</h2><ul><li>2 dl ris<li>1 l mælk<li>100 g mandler</ul>"
     "<h2>Sådan gør du</h2><p>Kog risene i mælken. Hak mandlerne og vend dem i grøden sammen med flødeskummet.</p>"),
    (ITEM, "/stelle/77", "Pflegefachkraft",
     "<h1>Pflegefachkraft</h1><p>Klinik Nord, Hauptstraße 7, 50667 Köln. Vollzeit, ab 01.02.2026.</p><h2>Aufgaben</h2>"
     "<ul><li>Pflege<li>Dokumentation</ul><h2>Profil</h2><p>Wir freuen uns auf Ihre Bewerbung bis zum 15.12.2025.</p>"),
    (NAVIGATION, "/", "Acme Pumps", "<h1>Pumps that keep going</h1><p>Service and parts.</p><a href=/service>More</a>"),
    (NAVIGATION, "/login", "用户登录", "<form><input><input type=password></form><a href=/forget>忘记密码</a>"),
    (NAVIGATION, "/kontakt", "Kontakt – Praxis", "<h1>Kontakt</h1><form><input><textarea></textarea></form>"),
]  # fmt: skip


@pytest.mark.parametrize(("kind", "path", "title", "main"), PAGES)
def test_small_pages(kind: ResultType, path: str, title: str, main: str) -> None:
    result = RetrievedContent(url=SITE + path, title=title, content="", html=page(title, main))
    assert CLASSIFIER.classify(result).result_type is kind


def test_a_page_that_scripts_write_leaves_it_to_the_text() -> None:
    shell = f"<title>App</title><body><div id=root></div><script>{'x=1;' * 2000}</script></body>"
    text = RetrievedContent(url=f"{SITE}/a/harbour-dredging-begins", content=SENTENCE * 30, content_kind="full")
    result = text.model_copy(update={"html": shell})
    assert CLASSIFIER.measures(result) == CLASSIFIER.measures(text.model_copy(update={"title": "App"}))
    read, classified = CLASSIFIER.read(result)
    assert (read.title, classified.result_type) == ("App", ITEM)


@pytest.mark.parametrize(
    "html", ["\x00" * 100, "<a href=" * 5000, "<div>" * 5_000, "<a " + "x=1 " * 20_000, "\ud800<p>x", "<!--" * 9999]
)
def test_pages_in_a_bad_state_have_a_type(html: str) -> None:
    result = RetrievedContent(url=f"{SITE}/{'a' * 5000}", title="\ud800", content="\ud800 x " * 50, html=html)
    assert CLASSIFIER.classify(result).result_type in ResultType
