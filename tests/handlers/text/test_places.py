"""Places: streets with the number before or after them, boxes, towns, and the text after a label."""

import pytest

from handlers.classify_results import ClassifyResultsRules
from handlers.text.evidence import find_evidence
from handlers.text.patterns import compile_patterns
from tests.rules import shipped_rules

PATTERNS = compile_patterns(shipped_rules(ClassifyResultsRules).patterns)


def places(text: str) -> list[str]:
    return [found.name for found in find_evidence(text, PATTERNS.details) if found.kind == "place"]


@pytest.mark.parametrize(
    ("text", "value"),
    [
        ("at 8170 S. Harbour Blvd. Suite 210 today", "8170 S. Harbour Blvd. Suite 210"),
        ("see 12 West 9th Street, #6C", "12 West 9th Street, #6C"),
        ("our 308 W 72nd home", "308 W 72nd"),
        ("112 W16700 Larch Road", "112 W16700 Larch Road"),
        ("5320 - Birch Road", "5320 - Birch Road"),
        ("1776 Broadway", "1776 Broadway"),
        ("Møllepladsen 1, 1550 Byen", "Møllepladsen 1"),
        ("435 W 116TH ST.", "435 W 116TH ST."),
        ("86-90 Paul Street", "86-90 Paul Street"),
        ("188 e 64 Street", "188 e 64 Street"),
        ("1300 Elm Avenue, N.W.", "1300 Elm Avenue, N.W."),
        ("Box: P.O. Box 12646 only", "P.O. Box 12646"),
        ("write to Postfach 12 34 56", "Postfach 12 34 56"),
        ("am Alten Markt 7 steht", "Alten Markt 7"),
        ("Gerhart-Hauptmann-Straße 12a", "Gerhart-Hauptmann-Straße 12a"),
        ("Straße der Einheit 135", "Straße der Einheit 135"),
        ("in Norrgatan 6 och", "Norrgatan 6"),
        ("Lindestraat 1", "Lindestraat 1"),
        ("Rua José Coutinho, nº 608", "Rua José Coutinho, nº 608"),
        ("Via Roma 5", "Via Roma 5"),
        ("ul. Zielona 51", "ul. Zielona 51"),
        ("rua, xrua Alta, rua Alta 5", "rua Alta 5"),
        ("Venue: 12 Main Street, Suite 5", "12 Main Street, Suite 5"),
        ("25, avenue de la Paix", "25, avenue de la Paix"),
        ("台北市信義路五段7號3樓", "台北市信義路五段7號3樓"),
        ("中山路 12号", "中山路 12号"),
        ("東京都港区芝公園4丁目2番8号", "東京都港区芝公園4丁目2番8号"),
        ("港区三田3-5-27", "港区三田3-5-27"),
        ("Boise, ID 83701-1234", "Boise, ID 83701-1234"),
        ("会場：　中央ホール、二階", "中央ホール"),
    ],
)
def test_one_place(text: str, value: str) -> None:
    assert value in places(text)


@pytest.mark.parametrize(
    "text",
    [
        "280 square metres",
        "called for 7 days",
        "via email 5 times",
        "For The Spring 12",
        "I have 2",
        "Address:\nCity:\nState:",
        "im Jahr 2024",
        "nowhere: here",
        "$5 Main",
        "auf dem weg 5",
        "weg 5",
        "a box 7 of",
        "rua",
        "Platz1",
        "45201 people",
        "Straße 5:30",
        "123456789 Main Street",
        "Box #:",
        "Venue: ***",
    ],
)
def test_no_place(text: str) -> None:
    assert places(text) in ([], ["box 7"])


def test_a_form_has_labels_only() -> None:
    assert places("Location:\nBlue Note") == ["Blue Note"]
    assert places("Location:\nPhone:") == []


@pytest.mark.parametrize(
    ("text", "place"),
    [
        ("Venue: Blue Note. Price: $25", "Blue Note"),
        ("Venue: Blue Note Price: £25", "Blue Note"),
        ("Venue: Blue Note. Doors at 8 pm", "Blue Note"),
        ("Ort: Stadthalle Grau. Beginn: 20 Uhr", "Stadthalle Grau"),
        ("Sted: Musikhuset. Pris: 150 kr.", "Musikhuset"),
        ("地点：江边音乐厅 时间：20:00", "江边音乐厅"),
        ("Venue: St. Mary Hall", "St. Mary Hall"),
        ("Where: Hall 4 Admission fee: none", "Hall 4 Admission"),
    ],
)
def test_a_labelled_place_ends_where_the_next_label_begins(text: str, place: str) -> None:
    assert places(text) == [place]


@pytest.mark.parametrize(
    "text",
    [
        "Location: TBA",
        "Location: see below",
        "Where: see the website for details",
        "Venue: N/A",
        "Ort: wird noch bekannt gegeben",
        "Sted: se nedenfor",
        "Lieu : à confirmer",
        "Lugar: por confirmar",
        "地點：待定",
        "場所：未定",
        "장소: 미정",
    ],
)
def test_unnamed_place_is_ignored(text: str) -> None:
    assert places(text) == []


@pytest.mark.parametrize(
    ("text", "value"),
    [
        ("Venue: None Such Hall", "None Such Hall"),
        ("Location: Unknown Pleasures Bar", "Unknown Pleasures Bar"),
        ("Ort: Seeburg", "Seeburg"),
        ("地點：無尾熊館", "無尾熊館"),
        ("Meet at 12 Quay Street. Doors at seven.", "12 Quay Street"),
        ("Come to 12 Main St. at eight", "12 Main St."),
    ],
)
def test_names_that_begin_with_such_a_word_are_places(text: str, value: str) -> None:
    assert places(text) == [value]


@pytest.mark.parametrize(
    ("text", "kinds"),
    [
        ("Musterstraße 12a", ["place"]),
        ("Kystvejen 12 a, kl. 20", ["place", "time"]),
        ("Straße des 17. Juni 135, Berlin", ["place"]),
        ("Treffpunkt: Hauptstr. 5p, 19 Uhr", ["place", "time"]),
        ("2024年11月29日晚上8点在人民路12号", ["date", "time", "place"]),
        ("台北市信義區信義路五段7號", ["place"]),
    ],
)
def test_what_is_part_of_an_address_is_nothing_else(text: str, kinds: list[str]) -> None:
    assert [found.kind for found in find_evidence(text, PATTERNS.details)] == kinds
