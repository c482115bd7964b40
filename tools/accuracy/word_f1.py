"""Word F1 of the main text by page type: the metric of the Web Content Extraction Benchmark (WCXB), written here.

Words are ``\\w+`` of the lower-case text, counted with repeats. A type's figure is the mean over its pages; types are
weighted as in the benchmark's development split.
"""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Mapping

PAGES, TEXTS = "wcxb_page_types", "wcxb_main_content"
WEIGHTS = {
    "article": 793, "service": 165, "product": 119, "collection": 117, "forum": 113, "listing": 99, "documentation": 91
}  # fmt: skip
"""Pages of each type in the development split of the benchmark."""


def words(text: str) -> Counter[str]:
    """The words of a text with how often each occurs."""
    return Counter(re.findall(r"\w+", text.lower()))


def word_f1(reference: Counter[str], answer: Counter[str]) -> float:
    """The F1 of an answer's words; an empty reference counts 1 against an empty answer, else 0."""
    if not reference:
        return float(not answer)
    shared = (reference & answer).total()
    return 2 * shared / (reference.total() + answer.total())


def weighted(means: Mapping[str, float]) -> float:
    """The mean of the types' figures by their pages in the benchmark."""
    return sum(WEIGHTS[kind] * mean for kind, mean in means.items()) / sum(WEIGHTS[kind] for kind in means)
