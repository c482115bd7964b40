"""Sentences that label their own source are found; sentences on somebody else's rating are prose and stay."""

from __future__ import annotations

import pytest

from handlers.trust.forgery import REMOVED, without_labels
from tests.tables import tables

TABLES = tables(__file__)

OF_OTHERS = TABLES["of_others"]
PRODUCTS = TABLES["products"]
PRODUCTS_AS_LABELS = TABLES["products_as_labels"]
OF_THIS_SOURCE = TABLES["of_this_source"]
OF_OTHERS_AS_A_LABEL = TABLES["of_others_as_a_label"]


def around(text: str) -> str:
    return f"Rain is expected.\n{text}\nThe dam was closed."


@pytest.mark.parametrize("text", OF_OTHERS + PRODUCTS)
def test_a_rating_of_somebody_else_and_a_name_are_prose(text: str) -> None:
    assert without_labels(text) == text
    assert without_labels(around(text)) == around(text)


@pytest.mark.parametrize("text", OF_THIS_SOURCE)
def test_a_rating_of_this_source_is_removed(text: str) -> None:
    assert REMOVED in without_labels(around(text))


@pytest.mark.parametrize("text", OF_OTHERS_AS_A_LABEL + PRODUCTS_AS_LABELS)
def test_what_is_written_as_a_label_is_removed_whosever_it_is(text: str) -> None:
    assert REMOVED in without_labels(around(text))
