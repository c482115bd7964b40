"""``python -m tools.training.background``: counts in how many paragraphs of labelled pages words are, and writes it.

A page gives at most ``MOST_LINES`` paragraphs, so that a long one does not decide alone.
"""

import math
from collections import Counter, defaultdict
from collections.abc import Mapping

import assay
from handlers.html.links import host_of
from handlers.text.background import terms_of
from handlers.text.scripts import has_cjk
from tests.rules import WORD_FREQUENCIES
from tools import labelled

MOST_LINES, LEAST, LEAST_CJK, LONGEST = 80, 60, 20, 1000
LEAST_TIMES, LEAST_SITES, LEAST_PARAGRAPHS, STEP = 5, 3, 100, 4.0
UNSEEN = 500
"""Paragraphs that a language is taken to have besides: a few pages of a language show little of its words."""


def main() -> None:
    pages, paragraphs = 0, Counter[str]()
    having: defaultdict[str, Counter[str]] = defaultdict(Counter)
    sites: defaultdict[str, set[str]] = defaultdict(set)
    for name, case in labelled.pages():
        page = assay.read(labelled.body(name, case), url=labelled.address(case))
        if not page:
            continue
        pages += 1
        language = page.event.language or ""
        for line in page.content.split("\n")[:MOST_LINES]:
            if len(line) >= LEAST or (len(line) >= LEAST_CJK and has_cjk(line)):
                paragraphs[language] += 1
                terms = set(terms_of(line[:LONGEST]))
                having[language].update(terms)
                for term in terms:
                    sites[term].add(host_of(labelled.address(case)))
    if not pages:
        labelled.skipped()
        return
    languages = {
        language: _levels(having[language], number, sites)
        for language, number in paragraphs.most_common()
        if language and number >= LEAST_PARAGRAPHS
    }
    about = labelled.about("background", paragraphs=paragraphs.total(), pages=pages)
    written = {"about": about, "paragraphs": max(paragraphs.values()), "languages": languages}
    labelled.store(WORD_FREQUENCIES, written)


def _levels(counts: Counter[str], paragraphs: int, sites: Mapping[str, set[str]]) -> list[str]:
    levels: defaultdict[int, list[str]] = defaultdict(list)
    for word, times in sorted(counts.items()):
        if times >= LEAST_TIMES and len(sites[word]) >= LEAST_SITES and not word.isdecimal():
            levels[round(-STEP * math.log(times / (paragraphs + UNSEEN)))].append(word)
    return [" ".join(levels[level]) for level in range(max(levels, default=-1) + 1)]


if __name__ == "__main__":
    main()
