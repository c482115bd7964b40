"""What is beside the point changes no type: loops over results of other tests, in other words than the training's."""

from collections.abc import Iterable

import pytest

from schemas.retrieval import ClassifiedResult, ResultType
from tests.handlers.results.test_kinds_of_results import ITEM, LISTING, NAVIGATION, SNIPPETS, classify

CALLS = (
    "Reserva tu plaza. Leer más.", "Prenota ora.", "Koop kaarten. Lees verder.", "Compre já o bilhete.", "Kup bilet.",
    "Köp biljett.", "지금 예매하기.", "今すぐ予約。", "Hemen bilet al.", "Buy yours.", "Jetzt buchen.",
)  # fmt: skip
FORMS = ("Subscribe to {}", "Passwort für {}", "Registro de {}", "{} checkout", "Cart and {}", "{}: Warenkorb")


SURE = 0.8


def surely(results: Iterable[ClassifiedResult]) -> set[ResultType]:
    return {result.result_type for result in results if result.confidence >= SURE}


ITEMS = [rest for kind, *rest in SNIPPETS if kind is ITEM]
TITLED = [(path, title, text) for path, title, text in ITEMS if path and title]


@pytest.mark.parametrize(("path", "title", "text"), ITEMS)
def test_a_call_to_act_makes_no_item_surely_a_listing(path: str, title: str | None, text: str) -> None:
    assert LISTING not in surely(classify(path, title, f"{text} {call}") for call in CALLS)


@pytest.mark.parametrize(("path", "title", "text"), [rest for kind, *rest in SNIPPETS if kind is LISTING])
def test_a_call_to_act_leaves_a_listing_one(path: str, title: str | None, text: str) -> None:
    assert surely(classify(path, title, f"{text} {call}") for call in CALLS) <= {LISTING}


@pytest.mark.parametrize(("path", "title", "text"), [rest for rest in TITLED if rest[0].strip("/").count("/") == 1])
def test_an_identifier_in_the_query_changes_no_type(path: str, title: str, text: str) -> None:
    folder, _, last = path.rpartition("/")
    moved, own = classify(f"{folder}?entry={last}", title, text), classify(path, title, text)
    assert moved.result_type is own.result_type


@pytest.mark.parametrize(("path", "title", "text"), TITLED)
def test_a_log_in_word_in_a_longer_title_is_no_form(path: str, title: str, text: str) -> None:
    named = [form.format(title) for form in FORMS]
    assert NAVIGATION not in surely(classify(f"/{'-'.join(name.split())}", name, text) for name in named)
