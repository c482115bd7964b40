from __future__ import annotations

import pytest

from handlers.html.tables import has_data_table
from tests.handlers.html.rules import READING, outline_of

ROWS = "<tr><td>1<td>2<tr><td>3<td>4"


@pytest.mark.parametrize(
    ("html", "holds"),
    [
        (f"<table><tr><th>a<th>b{ROWS}</table>", True),
        (f"<table><caption>c</caption>{ROWS}</table>", True),
        (f"<table>{ROWS}</table>", False),
        ("<table><tr><th>a<th>b<tr><td>1</table>", False),
        (f"<table><tr><th>a<td><table>{ROWS}</table><tr><td>b<td>c</table>", False),
        (f"<nav><table><tr><th>a<th>b{ROWS}</table></nav>", False),
        ("<p>no table</p>", False),
    ],
)
def test_has_data_table(html: str, holds: bool) -> None:
    assert has_data_table(outline_of(html), READING) is holds
