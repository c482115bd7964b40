"""Pages without content, detected by their own words and by the target of redirects."""

import pytest
from hypothesis import given
from hypothesis import strategies as st
from pydantic import ValidationError

from handlers.fetch_page import FetchPageRules
from handlers.html.refusals import PageRefusalsSection, Refusals
from handlers.text.patterns import compile_patterns
from schemas.replies import FetchFailure
from tests.rules import shipped_rules
from tests.tables import tables

TABLES = tables(__file__)

RULES = shipped_rules(FetchPageRules)
SECTION = RULES.page_refusals
REFUSALS = Refusals(SECTION, compile_patterns(RULES.patterns).details)
SOFT_404, CHALLENGE, NOTHING = FetchFailure.SOFT_404, FetchFailure.CHALLENGE, FetchFailure.NO_CONTENT


def reason_of(title: str, text: str, url: str = "") -> FetchFailure | None:
    refusal = REFUSALS.why_no_content((title,), text, url)
    return None if refusal is None else refusal.reason


ARTICLE = "The council met on Tuesday and spoke for three hours about the bridge. " * 40
TEASERS = "The bridge opens in May. The library stays shut. Five new buses. " * 20

REFUSING = """
soft_404    The product you are looking for is no longer available.
soft_404    The thread you requested could not be found.
soft_404    This account doesn't exist. Try searching for another.
soft_404    Die von Ihnen gesuchte Seite existiert nicht oder wurde verschoben.
soft_404    Diese Stellenanzeige ist nicht mehr verfügbar.
soft_404    La página que buscas no existe.
soft_404    Lo sentimos, no hemos podido encontrar la página que busca.
soft_404    Questo annuncio non è più disponibile.
soft_404    Desculpe, não conseguimos encontrar esta página.
soft_404    Deze vacature is niet meer beschikbaar.
soft_404    Indholdet er ikke længere tilgængeligt.
soft_404    Sidan du söker finns inte.
soft_404    Vi kan tyvärr inte hitta sidan du letar efter.
soft_404    Denne siden er ikke lenger tilgjengelig.
soft_404    Etsimääsi sivua ei löytynyt.
soft_404    Przepraszamy, ta strona nie istnieje lub została usunięta.
soft_404    К сожалению, страница была удалена или перемещена.
soft_404    抱歉，您要查看的文章已被作者删除。
soft_404    您要找的頁面不存在或已被移除。
soft_404    指定されたページは存在しないか、移動または削除された可能性があります。
soft_404    존재하지 않는 페이지입니다.
challenge   403 Forbidden / nginx
challenge   Please verify you are a human.
challenge   Dieser Inhalt ist exklusiv für Abonnenten.
challenge   Vous n'avez pas la permission d'accéder à cette page.
challenge   Inicia sesión para continuar leyendo.
challenge   Conferma di non essere un robot.
challenge   Conteúdo exclusivo para assinantes.
challenge   Log in om verder te lezen.
challenge   Logga in för att läsa vidare.
challenge   Kirjaudu sisään jatkaaksesi lukemista.
challenge   Zaloguj się, aby czytać dalej.
challenge   Материал доступен только подписчикам.
challenge   請驗證您是真人。
challenge   ログインして記事の続きを読む。
challenge   이 기사는 유료 회원 전용입니다.
no_content  502 Bad Gateway / nginx/1.18.0 (Ubuntu)
no_content  503 Service Unavailable / No server is available to handle this request.
no_content  Our site is currently undergoing scheduled maintenance.
no_content  Ihre Suche ergab leider keine Treffer.
no_content  Le site est actuellement en maintenance.
no_content  Este dominio está en venta.
no_content  Nessun risultato trovato per la tua ricerca.
no_content  Hjemmesiden er under vedligeholdelse.
no_content  Ota JavaScript käyttöön selaimessasi.
no_content  Tämä verkkotunnus on myytävänä.
no_content  По вашему запросу ничего не найдено.
no_content  請啟用JavaScript。
no_content  查無符合條件的結果。
no_content  검색 결과가 없습니다.
"""

HONEST = """
Dit artikel is niet meer beschikbaar in het blauw. In het groen: € 39,90, op voorraad.
This event has expired. 12 May 2024, 20:00, Musikhuset Aarhus, tickets 345 kr.
This concert has been moved to the big hall. Tickets of the small hall are valid, and doors open at seven.
The bridge is under maintenance until May; buses take the tunnel.
The building site is loud, neighbours say.
Our service covers scheduled maintenance and repairs of heat pumps.
Subscribe to our newsletter to read about gardens every Friday.
The platform said that the content has been removed.
The council removed 404 trees along the canal.
Traffic coming from the north is diverted over the old bridge.
JavaScript activities for kids teach loops with a turtle.
I am 18 years old and study law in Leeds.
If you can't find what you're looking for, ask at the desk.
Von der rechten Seite entfernt er die Schraube.
Wir haben die Heizung gewartet und den Filter getauscht.
L'article 49 permet au gouvernement de faire passer un texte sans vote.
Hay que tener permiso para acceder al parque con perros.
For ti år siden blev broen fjernet.
Du skal være fyldt 18 for at køre bil alene.
Artiklen handler om en ø, som ikke findes på kortet.
Siden fra dagboken finnes i arkivet i Bergen.
Сайт технического университета получил новую страницу.
会员才能借十本书，期限三周，可以续借一次。
检查显示，设备没有任何问题。
问题商品已下架，厂家道歉。
这篇文章讲一座已经不存在的村庄和它的井。
課程教你備份資料和更新外掛。
ロボットがいちごを収穫し、人が選別する。
난방기는 해마다 한 번 점검하는 것이 좋다.
"""


@pytest.mark.parametrize("line", REFUSING.strip().splitlines())
def test_pages_refuse_in_many_languages(line: str) -> None:
    reason, _, text = line.partition(" ")
    assert reason_of("Harbour", text.strip().replace(" / ", "\n")) == reason


@pytest.mark.parametrize("text", HONEST.strip().splitlines())
def test_everyday_texts_refuse_nothing(text: str) -> None:
    assert reason_of("Harbour", text) is None


@pytest.mark.parametrize(
    ("title", "text", "expected"),
    [
        *((title, text, expected and FetchFailure[expected]) for title, text, expected in TABLES["pages"]),
        ("The bridge", ARTICLE, None),
        ("Page not found | Harbour News", TEASERS, SOFT_404),
        ("Hafenblatt – Seite nicht gefunden", TEASERS, SOFT_404),
    ],
)
def test_what_a_page_says_of_itself(title: str, text: str, expected: FetchFailure | None) -> None:
    assert reason_of(title, text) is expected


@pytest.mark.parametrize(
    ("title", "text"),
    [
        *TABLES["what_only_sounds_like_it_is_content"],
        ("Why sites say access denied", ARTICLE),
        ("Access denied", ARTICLE),
        ("Access denied: a novel", TEASERS),
        (
            "Page not found",
            "The council met on Tuesday and spoke for three hours about the bridge in the old harbour. "
            "The mayor said that repairs cost more than all the other bridges of the town together. "
            "Builders begin in May with the arches, and the road over it will be shut until the summer.",
        ),
        ("404", ARTICLE),
        ("How to fix error 404: page not found", TEASERS),
    ],
)
def test_what_only_sounds_like_it_is_content(title: str, text: str) -> None:
    assert reason_of(title, text) is None


@pytest.mark.parametrize(
    ("title", "text"),
    TABLES["an_everyday_title_needs_a_second_sign"],
)
def test_an_everyday_title_needs_a_second_sign(title: str, text: str) -> None:
    assert reason_of(title, text) is None


@pytest.mark.parametrize(
    ("title", "text", "expected"),
    [(title, text, FetchFailure[expected]) for title, text, expected in TABLES["second_sign"]],
)
def test_second_sign_is_missing_text_or_words_for_the_reader(title: str, text: str, expected: FetchFailure) -> None:
    assert reason_of(title, text) is expected


@pytest.mark.parametrize("title", ["Forbidden", "forbidden", "HTTP 404"])
def test_a_title_that_the_address_names_is_the_subject(title: str) -> None:
    url = f"https://dictionary.example/words/{title.replace(' ', '_')}"
    assert reason_of(title, "", url) is None
    assert reason_of(title, "You don't have permission to access this.", url) is CHALLENGE


@pytest.mark.parametrize(
    ("path", "title", "text", "expected"),
    [
        *(
            (path, title, text, expected and FetchFailure[expected])
            for path, title, text, expected in TABLES["title_in_the_address"]
        ),
        ("blog/page-not-found", "Page not found", ARTICLE, None),
        ("blog/page-not-found", "Page not found", TEASERS, None),
    ],
)
def test_a_title_in_the_address_refuses_a_page_without_text(
    path: str, title: str, text: str, expected: FetchFailure | None
) -> None:
    assert reason_of(title, text, f"https://x.example/{path}") is expected


@pytest.mark.parametrize(
    ("title", "lines"),
    TABLES["a_consent_wall_has_its_buttons_on_lines_of_their_own"],
)
def test_a_consent_wall_has_its_buttons_on_lines_of_their_own(title: str, lines: str) -> None:
    assert reason_of(title, lines.replace(" / ", "\n")) is CHALLENGE


def test_the_nearest_of_several_places_of_a_phrase_counts() -> None:
    text = "The page of the guide that you asked for may be gone: page not found."
    assert reason_of("Harbour", text) is SOFT_404


def test_any_of_the_titles_may_say_it() -> None:
    refusal = REFUSALS.why_no_content(("Harbour News", "Harbour News", "Page not found"), TEASERS)
    assert refusal is not None
    assert refusal.reason is SOFT_404
    assert refusal.words == "Page not found"


@given(st.text(max_size=80), st.text(max_size=80))
def test_nothing_raises(one: str, other: str) -> None:
    REFUSALS.why_no_content((one,), other)


def test_a_statement_names_groups_that_exist() -> None:
    kinds = {"soft_404": {"titles": [], "close": [], "statements": [["no_such_group"]]}}
    with pytest.raises(ValidationError, match="words has no group 'no_such_group'"):
        PageRefusalsSection.model_validate(SECTION.model_dump() | {"kinds": kinds})
