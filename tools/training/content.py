"""``python -m tools.training.content``: trains the trees for the content of a page, and writes them.

A place of a template (``handlers.html.template``) is content by the share of its characters that the reference text
has. Each page of a type counts the same, and each type more, the more pages of it the benchmark has.
"""

import random
import re
from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from itertools import pairwise
from pathlib import Path
from typing import Any

import numpy as np
import yaml

from handlers.html.encoding import page_bytes
from handlers.html.hints import Hints
from handlers.html.limits import parse_within
from handlers.html.main_content import candidates, once
from handlers.html.outline import Block
from handlers.html.reading import PageReadingSection
from handlers.html.template import OF_MARKS, OF_PAGE, OF_PLACE, marks, measured
from handlers.html.walk import walk_page
from handlers.score_page import ScorePageRules
from handlers.trees.forest import Trees
from streams.training.config import GrowthSection
from tests.rules import CONTENT_TREES, shipped_rules
from tools import labelled
from tools.accuracy.contestants import ask_assay
from tools.accuracy.labels import PAGES, TEXTS
from tools.accuracy.matching import WEIGHTS
from tools.training.trees import grow, write

GROWTH = GrowthSection(trees=80, depth=3, rate=0.15, rows=0.7, columns=0.3, leaf_weight=2.0, penalty=5.0)
SEEDS = (1, 2)
FOLDS = 5
MARKUP = yaml.safe_load(Path(__file__).with_suffix(".yaml").read_text("utf-8"))
"""Of cards, and of lists of comments: what is above them, and what is before and of each."""
ARTICLES = "article_bodies"
BESIDE_CARDS, BESIDE_COMMENTS = "beside cards", "beside comments"
_VARIED = frozenset((BESIDE_CARDS, BESIDE_COMMENTS))
_WEIGHT_OF_SET = {ARTICLES: 3.0, BESIDE_CARDS: 0.8, BESIDE_COMMENTS: 0.8}
"""How much more a page of a set counts. Those of ``ARTICLES`` have more comments and teasers than those of WCXB."""


@dataclass(frozen=True, slots=True)
class Page:
    """One labelled page: the measures of its places, the share of each that is content, and its weight in the page."""

    case: Mapping[str, Any]
    measures: list[dict[str, float]]
    shares: list[float]
    weights: list[float]


def cases() -> Iterator[dict[str, Any]]:
    """The pages, each with its set, its type and the reference text."""
    texts = {case["id"]: case for case in labelled.cases(TEXTS)}
    for case in labelled.cases(PAGES):
        if case["id"] in texts:
            yield case | {name: texts[case["id"]][name] for name in ("main_content", "page_type")} | {"set": PAGES}
    for case in labelled.cases(ARTICLES):
        yield case | {"main_content": case["article_body"], "page_type": "article", "set": ARTICLES}


def _pages() -> list[Page]:
    """The measured pages, then half of the articles beside cards, and the others above comments."""
    known = list(cases())
    articles = [case for case in known if case["page_type"] == "article"]
    known += [*map(beside_cards, articles[::2]), *map(above_comments, articles[1::2])]
    return [page for case in known if (page := _measured(case)) is not None]


def beside_cards(case: Mapping[str, Any]) -> dict[str, Any]:
    """An article with a stream of cards that lead to other pages, above or below it or beside its heading.

    Labelled articles rarely have one; its texts are words without a meaning, because no measure asks about words.
    """
    draw = random.Random(case["id"])
    card, before = draw.choice(MARKUP["cards"]), draw.random() < 0.5
    tease = draw.choice((0, 80, 160, 300))
    cards = ""
    for number in range(draw.randint(3, 20)):
        title, length = _filler(draw, draw.randint(25, 90)), round(tease * draw.uniform(0.5, 1.5))
        cards += card.format(number, title=title, text=_filler(draw, length))
    stream = f"<ul>{cards}</ul>" if card.startswith("<li") else f'<div class="stream">{cards}</div>'
    text = _html(case)
    body = re.search(r"<body\b[^>]*>", text)
    at = (body.end() if body else 0) if before else _end(text, "</body>")
    heading = re.search(r"<h1\b", text)
    if heading and before and draw.random() < 0.5:
        at = heading.start()
    return _varied(case, BESIDE_CARDS, text[:at] + stream + text[at:])


def above_comments(case: Mapping[str, Any]) -> dict[str, Any]:
    """An article above a list of comments, which often is longer than the article."""
    draw = random.Random(case["id"])
    opening, comment = draw.choice(MARKUP["comments"]).split("|")
    length = draw.choice((60, 200, 500))
    comments = ""
    for number in range(draw.randint(2, 40)):
        title, text = _filler(draw, draw.randint(5, 25)), _filler(draw, round(length * draw.uniform(0.2, 2)))
        comments += comment.format(number, title=title, text=text, more=_filler(draw, length))
    text = _html(case)
    at = _end(text, draw.choice(("</main>", "</body>")))
    listed = f"<div>{draw.choice(MARKUP['above_comments'])}{opening}{comments}</{opening[1:].partition(' ')[0]}></div>"
    return _varied(case, BESIDE_COMMENTS, text[:at] + listed + text[at:])


def _varied(case: Mapping[str, Any], name: str, text: str) -> dict[str, Any]:
    return {**case, "id": f"{case['id']} {name}", "html": text, "set": name}


def _html(case: Mapping[str, Any]) -> str:
    return page_bytes(labelled.body(case["set"], case)).utf8.decode("utf-8", "replace")


def _end(text: str, tag: str) -> int:
    """Where the last of an end tag is, else the end of the body or of the page."""
    at = text.rfind(tag)
    return at if at >= 0 else _end(text, "</body>") if tag != "</body>" else len(text)


def _filler(draw: random.Random, length: int) -> str:
    filler: list[str] = []
    while length > 0:
        filler.append("".join(draw.choices("etaoinshr", k=draw.randint(2, 9))))
        length -= len(filler[-1]) + 1
    return " ".join(filler)


def by_site() -> dict[str, str]:
    """The content of each page, by trees that saw none of its site."""
    found: dict[str, str] = {}
    pages = _pages() if labelled.has(TEXTS) else []
    for fold in range(FOLDS) if pages else ():
        grown = Trees.model_validate(section([page for page in pages if _fold(page.case) != fold]))
        reading = _reading().model_copy(update={"content_trees": grown})
        rules = shipped_rules(ScorePageRules).model_copy(update={"page_reading": reading})
        for case in (page.case for page in pages if _fold(page.case) == fold and "html" not in page.case):
            body = labelled.body(case["set"], case)
            found[case["id"]] = ask_assay(body, labelled.address(case), rules).text or ""
    return found


def section(pages: Sequence[Page]) -> dict[str, Any]:
    """The field ``content_trees``, grown on some pages."""
    kinds = Counter(page.case["page_type"] for page in pages if page.case["set"] not in _VARIED)
    shares = np.array([share for page in pages for share in page.shares])
    weights = np.array([weight * _weight(page.case, kinds) for page in pages for weight in page.weights])
    rows = [measures for page in pages for measures in page.measures]
    return grow(rows, shares, weights * len(weights) / weights.sum(), GROWTH, SEEDS)


def _weight(case: Mapping[str, Any], kinds: Mapping[str, int]) -> float:
    kind = case["page_type"]
    return float(_WEIGHT_OF_SET.get(case["set"], 1.0) * (WEIGHTS[kind] / kinds[kind]) ** 0.6)


def _measured(case: Mapping[str, Any]) -> Page | None:
    """A page with the measures of its places; None if there is nothing to measure."""
    html = page_bytes(labelled.body(case["set"], case)).utf8 if "html" not in case else case["html"].encode()
    tree = parse_within(html, _reading())
    if isinstance(tree, str):
        return None
    outline = walk_page(tree, Hints(_reading()), _reading().max_nodes)
    blocks = candidates(outline)
    of_page, found = measured(outline, blocks) if blocks else ([], iter(()))
    names = (*OF_PLACE, *OF_MARKS, *OF_PAGE)
    places, rows = [], []
    for place, said, measures in found:
        places.append(place)
        rows.append(dict(zip(names, (*measures, *marks(said), *of_page), strict=True)))
    total = sum(place.characters for place in places)
    is_content = _matcher(case["main_content"])
    originals = {block.start for block in once(blocks)}
    lengths = [len(block.text) if block.start in originals else 0 for block in blocks]
    wanted = [is_content(block) * length for block, length in zip(blocks, lengths, strict=True)]
    return Page(
        case,
        rows,
        [sum(wanted[n] for n in place.numbers) / (sum(lengths[n] for n in place.numbers) or 1) for place in places],
        [place.characters / total + 0.1 / len(places) for place in places],
    )


def _matcher(reference: str) -> Any:
    """How much of a line the reference text has: whole lines, or sequences of three words."""
    tokens = re.findall(r"\w+", reference.lower())
    lines = {" ".join(re.findall(r"\w+", line.lower())) for line in reference.splitlines()}
    threes, twos = set(zip(tokens, tokens[1:], tokens[2:], strict=False)), set(pairwise(tokens))

    def share(block: Block) -> float:
        found = re.findall(r"\w+", block.text.lower())
        if not found:
            return 0.0
        if " ".join(found) in lines:
            return 1.0
        if len(found) == 2:
            return float(tuple(found) in twos)
        sequences = list(zip(found, found[1:], found[2:], strict=False))
        return sum(one in threes for one in sequences) / len(sequences) if sequences else 0.0

    return share


def _fold(case: Mapping[str, Any]) -> int:
    return labelled.fold(case["split_key"], FOLDS)


def _reading() -> PageReadingSection:
    return shipped_rules(ScorePageRules).page_reading


if __name__ == "__main__":
    if labelled.has(TEXTS):
        write(CONTENT_TREES, labelled.about("content"), section(_pages()))
    else:
        labelled.skipped()
