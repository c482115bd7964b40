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
        ("The bridge", ARTICLE, None),
        ("Opening hours", "Open from nine to five, every day of the week.", None),
        ("404 Not Found", "Please use the search.", SOFT_404),
        ("Shop: 404 Error Page", "Please use the search.", SOFT_404),
        ("Page not found | Harbour News", TEASERS, SOFT_404),
        ("Oops! - Harbour News", "The page you’re looking for has moved or never was.", SOFT_404),
        ("Harbour Jobs", "This job has expired. See similar ones.", SOFT_404),
        ("Butik", "Siden findes ikke. Prøv igen.", SOFT_404),
        ("Ups", "Vi kan ikke finde siden, du leder efter.", SOFT_404),
        ("Hafenblatt", "Die gesuchte Seite wurde nicht gefunden.", SOFT_404),
        ("Hafenblatt – Seite nicht gefunden", TEASERS, SOFT_404),
        ("Le Port", "Désolé, cette page n’existe plus.", SOFT_404),
        ("El Puerto", "Página no encontrada", SOFT_404),
        ("Hamnen", "Sidan kunde inte hittas.", SOFT_404),
        ("Гавань", "Страница не найдена", SOFT_404),
        ("港口新聞", "很抱歉，您要找的頁面不存在。", SOFT_404),
        ("港口新闻", "抱歉，您访问的页面不存在或已被删除", SOFT_404),
        ("港", "お探しのページは見つかりませんでした。", SOFT_404),
        ("Just a moment...", "", CHALLENGE),
        ("harbour.example", "Verifying you are human. This may take a few seconds.", CHALLENGE),
        ("Attention Required! | Front door", "Sorry, you have been blocked", CHALLENGE),
        ("Access Denied", "You don't have permission to access this on this server. Reference #18", CHALLENGE),
        ("Shop", "We saw unusual traffic. Are you a robot?", CHALLENGE),
        ("Havnen", "Bekræft, at du er et menneske", CHALLENGE),
        ("Hafen", "Bitte bestätigen Sie, dass Sie kein Roboter sind.", CHALLENGE),
        ("Le Port", "Merci de confirmer que vous n’êtes pas un robot.", CHALLENGE),
        ("安全验证", "请拖动滑块完成拼图", CHALLENGE),
        ("港口", "系統偵測到異常流量，請輸入驗證碼", CHALLENGE),
        ("Harbour", "Please log in to continue reading.", CHALLENGE),
        ("Rente mit 70?", "Jetzt abonnieren und diesen Artikel freischalten. Schon Abonnent? Anmelden.", CHALLENGE),
        ("La reforma", "Suscríbete para seguir leyendo. ¿Ya eres suscriptor? Inicia sesión.", CHALLENGE),
        ("年金改革", "この記事は有料会員限定です。ログインして続きを読む", CHALLENGE),
        ("年金改革", "本文為付費會員專屬內容，訂閱後即可閱讀全文。", CHALLENGE),
        ("Best teas", "This domain is available for purchase. Related searches: tea, coffee.", NOTHING),
        ("Harbour Shop", "Enter the characters you see below. Sorry, we just need to make sure.", CHALLENGE),
        ("港口", "当前环境异常，完成验证后即可继续访问。", CHALLENGE),
        ("港口", "该内容已被发布者删除", SOFT_404),
        (
            "Before you continue to the Harbour",
            "We use cookies to deliver our services. Before you continue to the Harbour: Accept all. Reject all.",
            CHALLENGE,
        ),
        ("Hafen", "Wir und unsere Partner speichern. Alle akzeptieren. Alle ablehnen.", CHALLENGE),
        ("Havnen", "Vi bruger cookies, og vores partnere gør det også. Accepter alle. Afvis alle.", CHALLENGE),
        ("App", "You need to enable JavaScript to run this app.", NOTHING),
        ("Under maintenance", "", NOTHING),
        ("Harbour TV", "This programme is not available in your country.", NOTHING),
        ("App", "Bitte aktivieren Sie JavaScript.", NOTHING),
        ("Lantern Fair", "We are sorry. The event you followed a link to has been taken down.", SOFT_404),
        ("Laternenfest", "Diesen Laternen geht es gut, aber diese Seite gibt es leider nicht.", SOFT_404),
        ("Lanternefest", "Den side, du kom efter, er desværre blevet slettet.", SOFT_404),
        ("Fête des lanternes", "Ce contenu a été déplacé ou n’existe plus.", SOFT_404),
        ("灯会", "您访问的页面可能已经失效", SOFT_404),
        ("Lantern Fair", "Signed in readers only: log in to read this article.", CHALLENGE),
        ("Laternenfest", "Sie müssen angemeldet sein, um diesen Inhalt zu lesen.", CHALLENGE),
        ("Fête", "Vous devez être connecté pour accéder à cette page.", CHALLENGE),
        ("灯会", "您需要登录后才可以浏览", CHALLENGE),
        ("Too Many Requests", "Slow down.", CHALLENGE),
        ("Lantern Fair", "JavaScript must be enabled to buy a lantern.", NOTHING),
        ("lantern.example", "This domain is for sale. Make an offer.", NOTHING),
        ("Lantern Fair", "Our browser test says: your browser is not supported.", NOTHING),
        ("Internal Server Error", "Reference 17.", NOTHING),
        ("Lanternefest", "Det arrangement findes. Dette arrangement er desværre blevet slettet.", SOFT_404),
        ("Lanternefest", "Denne koncert findes ikke længere hos os.", SOFT_404),
        ("Laternenfest", "Dieser Termin existiert nicht mehr.", SOFT_404),
        ("Fête", "Ce spectacle n’existe plus.", SOFT_404),
        ("灯会", "抱歉，该演出已下架。", SOFT_404),
        ("Lanterns", "The check runs by itself. Your browser will be redirected to the fair in a moment.", CHALLENGE),
        ("Laternen", "Ihr Browser wird gleich automatisch weitergeleitet.", CHALLENGE),
        ("Lanterner", "Din browser viderestilles om lidt.", CHALLENGE),
        ("Lanternes", "Votre navigateur va être redirigé vers la page voulue.", CHALLENGE),
        ("灯会", "您的浏览器即将自动跳转到所请求的内容。", CHALLENGE),
        ("Hafen", "Wir und unsere 1.204 Partner nutzen Daten. Alles zulassen. Optionen.", CHALLENGE),
        ("Harbour", "We and our 77 partners use your data. Accept all. Settings.", CHALLENGE),
        ("Havnen", "Vi og vores 310 partnere bruger data. Tillad alle. Indstillinger.", CHALLENGE),
        ("Le Port", "Nos 512 partenaires et nous utilisons des données. Tout accepter. Tout refuser.", CHALLENGE),
        ("港口", "我们与77家合作伙伴处理数据。全部接受。设置。", CHALLENGE),
        ("Wine", "You must be at least 21 to visit this website. Yes. No.", CHALLENGE),
        ("Wein", "Sind Sie über 18? Ja. Nein, ich möchte gehen.", CHALLENGE),
        ("Vin", "Du skal være fyldt 18 for at besøge denne side.", CHALLENGE),
        ("Vin", "Ce site est pour les majeurs: il faut être majeur.", CHALLENGE),
        ("酒", "您必须年满18岁才能访问本网站。", CHALLENGE),
        ("Lanterns", "0 results found for lanterns. Change your words.", NOTHING),
        ("Laternen", "Leider keine Treffer. Ändern Sie die Suche.", NOTHING),
        ("Lanterner", "Din søgning gav ingen resultater.", NOTHING),
        ("灯", "没有找到相关内容，换个词试试。", NOTHING),
        ("Lanterns", "An error occurred while processing your request. Reference #18.2f", NOTHING),
        ("Laternen", "Bei der Verarbeitung Ihrer Anfrage ist ein Fehler aufgetreten.", NOTHING),
        ("Lanterner", "Der opstod en fejl under behandlingen af din anmodning.", NOTHING),
        ("Lanternes", "Une erreur est survenue lors du traitement de votre demande.", NOTHING),
        ("灯", "处理您的请求时出错，请稍后再试。", NOTHING),
        ("Lanterns", "1 March 2026, 17:00. Log in to continue reading. Subscribe for $1 a week.", CHALLENGE),
        ("Lanterns", "Your request was blocked. Are you a robot? 2026-03-01 17:00 UTC, Mill Street 5.", CHALLENGE),
    ],
)
def test_what_a_page_says_of_itself(title: str, text: str, expected: FetchFailure | None) -> None:
    assert reason_of(title, text) is expected


@pytest.mark.parametrize(
    ("title", "text"),
    [
        ("The lost page", "A page of the count was removed in 1632. This page tells how it came back."),
        ("Lanternefest", "For ti år siden blev festen flyttet. Nu er den slettet af kalenderen."),
        ("Lantern Fair", "Sign in at the desk to see the lanterns. Free for children."),
        ("Laternenfest", "Das Fest wurde verschoben und ist nun am Samstag."),
        ("Domaine", "Un domaine de 12 hectares est à vendre."),
        ("灯会", "旧桥已不存在，灯会在新桥举行。"),
        ("Developer wanted", "JavaScript is required, a love of lanterns is welcome."),
        ("Lantern Fair", "We use cookies. Accept all. Lanterns are lit at eight, entry is free."),
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
        ("Are you human? A play in two acts | Town theatre", "Thursday at 8 pm in the old hall. Tickets are $12."),
        ("I'm not a robot", "A short film about a captcha. Friday, 20:00, Blue Room."),
        ("Lantern walk", "We use cookies on this site. Accept all. The walk begins at 7 pm at Mill Bridge."),
        ("Car maintenance | Garage", "Oil, brakes and tyres, from nine to five. From $49."),
        ("Concert", "Tickets at the door are no longer available; those sold before stay valid. 8 pm, Blue Hall."),
        ("Lost and found", "A set of keys was not found again. Ask at the desk."),
        ("燈會", "晚上七點在老橋開始，歡迎參加。"),
        ("灯会", "元宵灯会，时间：2026年3月1日19:00，地点：老桥，票价30元。请先登录后购票。"),
        ("灯会", "2026年3月1日举行，票价30元，登录后才能订票。"),
        ("Lantern Fair", "Sunday 1 March 2026, 7 pm, Mill Hall. Log in to view this page as a helper. Guests pay $5."),
        ("Laternenfest", "1. März 2026, 19 Uhr, Eintritt 5 €. Melden Sie sich an, um diese Seite als Helfer zu sehen."),
        ("Lanternefest", "1. marts 2026 kl. 19, entré 40 kr. Log ind for at fortsætte til billetterne."),
        ("Lantern Fair", "This event has been moved to 1 March 2026, 7 pm, 5 Mill Street."),
        ("Lantern Fair", "1 March 2026, entry $5. Please enable JavaScript to see the map."),
        ("Lantern Fair", "1 March 2026 in Mill Hall, entry $5, at least 18 years old. Tickets are on this website."),
        ("Lantern race", "The team had 10 results found to be wrong, and 120 matches."),
        ("Lantern Fair", "We use cookies. Accept all. The fair is on 1 March 2026."),
        ("Opening hours | Library", "Mon–Fri 9–17. We use cookies. Accept all. Reject all."),
        ("HTTP 404", "The HTTP 404 or page not found error message means that the server did not find the page."),
        ("Erreur 404", "L'erreur 404 est un code d'état : le serveur n'a pas trouvé la page demandée."),
        ("404エラーとは", "404エラーとは、ページが見つかりませんという意味のメッセージです。"),
        ("Just a moment", "Two sisters meet again after twenty years. Paperback, 312 pages, $12.99."),
        (
            "Wiring a lamp",
            "Switch off the power. Before you continue, test that no current flows. Then join the wires.",
        ),
        (
            "Trial ends",
            "The trial showed no results in patients with diabetes, the company said in a statement on its site.",
        ),
        (
            "Ring road",
            "Unusual traffic at dawn. The tunnel is shut at night and under maintenance until May, as the county said.",
        ),
        ("The Lantern Book", "The book is available for purchase at the museum. It has 120 pictures."),
        ("City parking", "On the parking page of the town you can pay for a space by the hour."),
        (
            "Pruning roses",
            "Prune roses in late winter. Subscribe to our newsletter. Log in to comment on this article.",
        ),
        ("Rosen schneiden", "Rosen schneidet man im Februar. Melden Sie sich für den Newsletter an. Anmelden."),
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
        ("en/page-not-found", "Page not found", "Go back to the home page.", SOFT_404),
        ("en/page-not-found", "Page not found", "", SOFT_404),
        ("en/404", "404", "Go back to the home page.", SOFT_404),
        ("error/access-denied", "Access denied | Harbour News", "Go back to the home page.", CHALLENGE),
        ("dictionary/forbidden", "Forbidden", "Not allowed by law or custom. Go back to the home page.", None),
        ("rooms/404", "404", "A quiet double room. Go back to the home page.", None),
        ("rooms/404", "404", "Sleeps two.", None),
        ("cars/peugeot-404", "Peugeot 404", "Built from 1960 on. Go back to the home page.", None),
        ("blog/page-not-found", "Page not found", "How a small firm drew the sign for its lost visitors.", None),
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
