"""The data for measuring rankings: documents, and queries with known answers.

Known items: a page is looked for by its labelled title, by a part of the title, and by a sentence of its main text. The
page itself is the answer, and so is every other page with the same label. A hash of the page's id chooses the
sentence and the words, so that the choice is not made by hand.
"""

import re
from collections.abc import Iterable, Iterator, Mapping, Sequence
from hashlib import sha256
from typing import NamedTuple, TypeVar

from tools import labelled
from tools.accuracy.labels import LabelledPage, pages

PAGES, CHINESE, NEWS = "wcxb_page_types", "magic_html_article_forum", "twnews_zh_hant"
CHINESE_BESIDE = "zh_list_detail"
"""Pages without labels of a text or a title: they lie beside the others in the index."""
TITLE, PART, SENTENCE, CLAUSE = "title", "part of a title", "sentence", "part of a sentence"
PART_WORDS, PART_CHARACTERS = 5, 8
KNOWN = 4.0
"""The grade of the page that is looked for."""
_STOP = re.compile(r"(?<=[。！？])|\n")
_CLAUSE = re.compile(r"[，。！？；：、\s]+")
_SENTENCE_CHARACTERS = (12, 80)
_HAN = re.compile(r"[\u3400-\u9fff]")
T = TypeVar("T")


class Document(NamedTuple):
    url: str
    body: bytes


class Query(NamedTuple):
    """A query, what it was made of, and the grades of the documents that answer it; the others are of no use."""

    kind: str
    text: str
    grades: Mapping[str, float]


class RankingSet(NamedTuple):
    name: str
    documents: tuple[Document, ...]
    queries: tuple[Query, ...]


def ranking_sets() -> Iterator[RankingSet]:
    for needed, made in (((PAGES,), _known_pages), ((CHINESE, NEWS), _chinese)):
        if all(labelled.has(name) for name in needed):
            yield made()


def sample(whole: RankingSet, most: int | None) -> RankingSet:
    """The set with so many queries of each kind, drawn by a hash; with all of them for None."""
    if most is None:
        return whole
    drawn = sorted(whole.queries, key=lambda query: sha256(query.text.encode()).digest())
    kinds = dict.fromkeys(query.kind for query in whole.queries)
    kept = {id(query) for kind in kinds for query in [query for query in drawn if query.kind == kind][:most]}
    return whole._replace(queries=tuple(query for query in whole.queries if id(query) in kept))


def known_items(labels: Sequence[tuple[LabelledPage, str, str]]) -> tuple[Query, ...]:
    """A query for each (page, kind, words); pages that share the words under one kind answer each other's."""
    answers: dict[tuple[str, str], dict[str, float]] = {}
    for page, kind, words in labels:
        answers.setdefault((kind, " ".join(words.casefold().split())), {})[page.url] = KNOWN
    return tuple(Query(kind, words, answers[kind, " ".join(words.casefold().split())]) for _, kind, words in labels)


def part_of(title: str, salt: str) -> str | None:
    """Some words of a title that follow each other, or characters of a Chinese one; None where it has no more.

    >>> part_of("Cats and dogs", "1") is None
    True
    >>> len(part_of("The seven best cafés for cats and dogs in town", "1").split())
    5
    """
    if _HAN.search(title):
        plain = _CLAUSE.sub("", title)
        start = chosen(range(len(plain) - PART_CHARACTERS + 1), salt)
        return plain[start : start + PART_CHARACTERS] if start is not None and len(plain) > PART_CHARACTERS else None
    words = title.split()
    start = chosen(range(len(words) - PART_WORDS + 1), salt)
    return " ".join(words[start : start + PART_WORDS]) if start is not None and len(words) > PART_WORDS else None


def chosen(some: Sequence[T], salt: str) -> T | None:
    """One element of a sequence, chosen by a hash; None if the sequence is empty."""
    return some[int(sha256(salt.encode()).hexdigest()[:8], 16) % len(some)] if some else None


def _known_pages() -> RankingSet:
    found = list(pages(PAGES))
    return RankingSet(PAGES, _documents(found), known_items([label for page in found for label in _labels(page)]))


def _chinese() -> RankingSet:
    """Pages in both scripts. Few of them are labelled, so sentences of whole gold texts serve as well."""
    found = [*pages(NEWS), *(page for page in pages(CHINESE) if page.language == "zh")]
    beside: tuple[Document, ...] = ()
    if labelled.has(CHINESE_BESIDE):
        rows = [row for row in labelled.cases(CHINESE_BESIDE) if row["lang"].startswith("zh")]
        beside = tuple(Document(labelled.address(row), labelled.body(CHINESE_BESIDE, row)) for row in rows)
    labels = [label for page in found for label in _labels(page)]
    parts = [(page, CLAUSE, _longest_clause(words)) for page, kind, words in labels if kind == SENTENCE]
    labels += [(page, kind, part) for page, kind, part in parts if part]
    return RankingSet("Chinese pages", _documents(found) + beside, known_items(labels))


def _labels(page: LabelledPage) -> Iterator[tuple[LabelledPage, str, str]]:
    if page.title:
        yield page, TITLE, page.title
        if (part := part_of(page.title, page.id)) is not None:
            yield page, PART, part
    sentences = page.must_contain or tuple(_sentences(page.gold_text or ""))
    if (sentence := chosen(sentences, page.id)) is not None:
        yield page, SENTENCE, sentence


def _sentences(text: str) -> Iterator[str]:
    least, most = _SENTENCE_CHARACTERS
    found = (sentence.strip() for sentence in _STOP.split(text))
    yield from (sentence for sentence in found if least <= len(sentence) <= most and _HAN.search(sentence))


def _longest_clause(sentence: str) -> str:
    clauses = [clause for clause in _CLAUSE.split(sentence) if clause]
    longest = max(clauses, key=len, default="")
    return longest if len(clauses) > 1 and len(longest) >= PART_CHARACTERS else ""


def _documents(found: Iterable[LabelledPage]) -> tuple[Document, ...]:
    return tuple(Document(page.url, page.body()) for page in found)
