from __future__ import annotations

import pytest

from handlers.page.citations import CitationWords, find_citations, has_statistics, is_wire_report
from handlers.page.text import main_text
from tests.handlers.page.rules import READING, outline_of

WORDS = CitationWords(READING)


@pytest.mark.parametrize(
    ("html", "has_doi", "count", "references"),
    [
        ("<p>See doi:10.1234/ab.cd.</p>", True, 1, False),
        ('<p><a href="https://doi.org/10.1234/ab">a</a> <a href="https://doi.org/10.1234/AB">b</a>', True, 1, False),
        ('<meta name="citation_doi" content="10.1234/ab">', True, 1, False),
        ("<p>As (Curie et al., 1911) and (Bohr, 1913) say, arXiv:1234.56789</p>", False, 3, False),
        ("<p>It holds [1], and more [2][2].</p><h2>References</h2>", False, 2, True),
        ("<p>An array x[1] and y[2].</p>", False, 0, False),
        ("<h3>5. References [edit]</h3>", False, 0, True),
        ("<p>參考資料</p>", False, 0, True),
        ("<p>資料來源：中央氣象署，豪雨特報與山區坍方落石之警戒說明，以及各地雨量統計。</p>", False, 0, True),
        ("<p>Sources: a friend of a friend who was there at the time</p>", False, 0, False),
        ("<nav><a href=/r>References</a></nav>", False, 0, False),
        ("<p>version 10.12345 and 10.1/x</p>", False, 0, False),
    ],
)  # fmt: skip
def test_find_citations(html: str, has_doi: bool, count: int, references: bool) -> None:
    page = outline_of(html)

    found = find_citations(page, main_text(page, 10_000), WORDS)

    assert (found.has_doi, found.count, found.has_references_section) == (has_doi, count, references)


@pytest.mark.parametrize(
    ("html", "holds"),
    [
        ("<p>12 % of 30 km, $5, 40 percent, 3 萬, NT$ 70</p>", True),
        ("<p>12 % of 30 km</p>", False),
        ("<table><tr><th>a<th>b<tr><td>1<td>2</table>", True),
        ("<table><tr><td>a<td>b<tr><td>1<td>2</table>", False),
        ("<table><tr><th>a<tr><td>1</table>", False),
        ("<table><tr><th>a<th>b<tr><td><table><tr><td>1</table><td>2</table>", False),
    ],
)
def test_has_statistics(html: str, holds: bool) -> None:
    page = outline_of(html)

    assert has_statistics(page, main_text(page, 10_000).text, READING) is holds


@pytest.mark.parametrize(
    ("head", "holds"),
    [
        ("（中央社記者王小明台北3日電）豪雨", True),
        ("(中央社)豪雨", True),
        ("中央社台北3日電 豪雨", True),
        ("PARIS (AP) — Rain fell.", True),
        ("LONDON, May 3 (Reuters) - Rain fell.", True),
        ("Paris, AFP - Rain fell.", True),
        ("Rain\nBERLIN (AFP) – Rain fell.", True),
        ("The minister told Reuters that rain fell.", False),
        ("Rain fell, the office said, according to a report that was later confirmed (AP).", False),
        ("豪雨造成災情，中央社的記者在現場。", False),
        ("An app (APple) fell.", False),
        ("", False),
    ],
)
def test_is_wire_report(head: str, holds: bool) -> None:
    assert is_wire_report(head, WORDS) is holds
