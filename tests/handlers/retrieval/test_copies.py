"""Equal and nearly equal texts are one source."""

from handlers.retrieval.copies import Group, group_copies
from schemas.retrieval import RetrievedContent

REPORT = (
    "OSLO (Reuters) - The bank of Norway raised its key rate to 3.5 per cent on Thursday, the third rise in a year."
)


def grouped(*texts: str) -> tuple[Group, ...]:
    return group_copies([RetrievedContent(content=text) for text in texts])


def test_copies_are_one_group_and_other_texts_are_not() -> None:
    other = "The bank left its rate as it was, which surprised the markets in Oslo and Bergen."
    assert grouped(REPORT, other, REPORT, f"{REPORT} Read on.") == (Group((0, 2, 3)), Group((1,)))


def test_a_figure_that_differs_between_copies_is_named() -> None:
    assert grouped(REPORT, REPORT.replace("3.5", "3.75")) == (Group((0, 1), ("3.5", "3.75")),)


def test_short_texts_are_no_copies() -> None:
    assert grouped("Standing desk, $389", "Standing desk, $389") == (Group((0,)), Group((1,)))
