import pytest

from handlers.html.citations import CitationWords, is_wire_report
from handlers.html.content import PageFacts, PageReader
from handlers.html.encoding import parse_page
from tests.handlers.html.rules import PATTERNS, READING
from tests.tables import tables

TABLES = tables(__file__)

WORDS = CitationWords(READING)
READER = PageReader(READING, PATTERNS)
PROSE = "<p>Some words of the page's own, long enough to be taken for its running text.</p>"
ENTRY = "<li>Curie, M. On radium. Journal of Rays 3, 1911.</li>"


def read(html: str) -> PageFacts:
    return READER.read(parse_page(html).tree, "https://example.com/a", None)


@pytest.mark.parametrize(
    ("html", "has_doi", "count", "references"),
    [
        ("<p>See doi:10.1234/ab.cd.</p>", True, 1, False),
        ("<p>The study (https://doi.org/10.1234/ab) is old.</p>", True, 1, False),
        ('<p><a href="https://doi.org/10.1234/ab">a</a> <a href="https://doi.org/10.1234/AB">b</a>.', True, 1, False),
        ('<meta name="citation_doi" content="10.1234/ab">', True, 1, False),
        ("<p>Order number 10.1234/abc, in stock.</p>", False, 0, False),
        ("<p>It holds [1].</p><h2>References</h2><p>Curie 1911, 10.1234/abc</p>", True, 2, True),
        ("<p>As (Curie et al., 1911) and (Bohr, 1913) say, arXiv:1234.56789</p>", False, 3, False),
        (f"<p>It holds [1], and more [2][2].</p><h2>References</h2><ol>{ENTRY}</ol>", False, 2, True),
        ("<p>It holds [1], and more [2][2].</p><h2>References</h2>", False, 0, False),
        ("<p>An array x[1] and y[2].</p>", False, 0, False),
        (f"{PROSE}<h3>5. References [edit]</h3><p>A report, https://example.org/report</p>", False, 0, True),
        (f'{PROSE}<h2>Sources</h2><ul><li><a href="https://example.org/a">A report</a></li></ul>', False, 0, True),
        (f"{PROSE}<h2>References</h2><p>See the study above for the details.</p>", False, 0, False),
        (f"{PROSE}<h2>References</h2><h2>Comments</h2><ul>{ENTRY}</ul>", False, 0, False),
        ("<p>參考資料</p><p>中央氣象署，2024。</p>", False, 0, True),
        ("<p>資料來源：中央氣象署，豪雨特報與山區坍方落石之警戒說明，以及各地雨量統計。</p>", False, 0, True),
        ("<p>Sources: a friend of a friend who was there at the time</p>", False, 0, False),
        (f"{PROSE}<nav><a href=/r>References</a></nav>", False, 0, False),
        (f"{PROSE}<footer><h3>References</h3><ul>{ENTRY}</ul></footer>", False, 0, False),
        (f"{PROSE}<div class=comments><p>Read doi:10.1234/ab, all of you, and think again.</p></div>", False, 0, False),
        ("<p>version 10.12345 and 10.1/x</p>", False, 0, False),
    ],
)  # fmt: skip
def test_find_citations(html: str, has_doi: bool, count: int, references: bool) -> None:
    found = read(html)
    assert (found.has_doi, found.citation_count, found.has_references_section) == (has_doi, count, references)


@pytest.mark.parametrize(
    ("html", "holds"),
    [
        ("<p>12 % of 30 km, 5 million, 40 percent, 3 萬, 70 GW</p>", True),
        ("<p>12 % of 30 km</p>", False),
        ("<p>$5, $6, 7 €, NT$ 70, 8 euros, 9 dollars, £10</p>", False),
        ("<table><tr><th>a<th>b<tr><td>1<td>2</table>", True),
        (f"{PROSE}<div class=sidebar><table><tr><th>a<th>b<tr><td>1<td>2</table></div>", False),
        ("<table><tr><td>a<td>b<tr><td>1<td>2</table>", False),
        ("<table><tr><th>a<tr><td>1</table>", False),
        ("<table><tr><th>a<th>b<tr><td><table><tr><td>1</table><td>2</table>", False),
    ],
)
def test_has_statistics(html: str, holds: bool) -> None:
    assert read(html).has_statistics is holds


def test_boilerplate_supports_nothing_and_the_reader_says_so() -> None:
    html = f"""<article>{PROSE}<h2>What changed</h2>{PROSE}<p>It cost $5, and
        <a href="https://elsewhere.example.org/report">the report</a> names order 10.1234/abc.</p></article>
        <aside><h2>Newsletter</h2><a href="https://mail.example.org/">Subscribe</a></aside>
        <footer><h3>Follow us</h3><a href="https://social.example.org/us">Follow</a></footer>"""
    found = read(html)
    assert (found.headings_count, found.external_links_count) == (1, 1)
    assert found.not_counted == {
        "doi_or_citation": "a DOI that is mentioned and not cited",
        "external_links": "2 outside the main text",
        "headings": "2 outside the main text",
        "statistics": "prices",
    }


@pytest.mark.parametrize(
    ("head", "holds"),
    TABLES["is_wire_report"],
)
def test_is_wire_report(head: str, holds: bool) -> None:
    assert is_wire_report(head, WORDS) is holds
