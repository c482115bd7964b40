import pytest

from handlers.html.citations import CitationWords, is_wire_report
from tests.handlers.html.rules import READING, facts_of
from tests.tables import tables

TABLES = tables(__file__)

WORDS = CitationWords(READING)
PROSE = "<p>Some words of the page's own, long enough to be taken for its running text.</p>"
ENTRY = "<li>Curie, M. On radium. Journal of Rays 3, 1911.</li>"


@pytest.mark.parametrize(("html", "has_doi", "count", "references"), TABLES["find_citations"])  # fmt: skip
def test_find_citations(html: str, has_doi: bool, count: int, references: bool) -> None:
    found = facts_of(html)
    assert (found.has_doi, found.citation_count, found.has_references_section) == (has_doi, count, references)


@pytest.mark.parametrize(("html", "holds"), TABLES["has_statistics"])
def test_has_statistics(html: str, holds: bool) -> None:
    assert facts_of(html).has_statistics is holds


def test_boilerplate_supports_nothing_and_the_reader_says_so() -> None:
    html = f"""<article>{PROSE}<h2>What changed</h2>{PROSE}<p>It cost $5, and
        <a href="https://elsewhere.example.org/report">the report</a> names order 10.1234/abc.</p></article>
        <aside><h2>Newsletter</h2><a href="https://mail.example.org/">Subscribe</a></aside>
        <footer><h3>Follow us</h3><a href="https://social.example.org/us">Follow</a></footer>"""
    found = facts_of(html)
    assert (found.headings_count, found.external_links_count) == (1, 1)
    assert found.not_counted == TABLES["boilerplate_supports_nothing_and_the_reader_says_so"]


@pytest.mark.parametrize("around", TABLES["a_list_of_other_releases_supports_nothing"])
def test_a_list_of_other_releases_supports_nothing(around: str) -> None:
    found = facts_of(f"<main><h1>Acme opens a plant</h1>{PROSE}{PROSE}{around}</main>")
    assert (found.headings_count, found.external_links_count, found.has_statistics) == (0, 0, False)


def test_a_page_that_says_it_is_a_copy_has_no_citations() -> None:
    text = f"{PROSE}<p>It holds [1].</p><h2>References</h2><ol>{ENTRY}</ol>"
    copies = (
        f"<p>From Wikipedia, the free encyclopedia</p>{text}",
        f"<link rel=canonical href=https://first.org/a>{text}",
    )
    own = f"<link rel=canonical href=https://www.example.com/b><p>From Paris, she wrote a letter: it is here.</p>{text}"
    assert [facts_of(html).citation_count for html in (*copies, own)] == [0, 0, 1]
    assert facts_of(copies[1]).not_counted["references_section"] == "the page says that it is a copy from first.org"


@pytest.mark.parametrize(("head", "holds"), TABLES["is_wire_report"])
def test_is_wire_report(head: str, holds: bool) -> None:
    assert is_wire_report(head, WORDS) is holds
