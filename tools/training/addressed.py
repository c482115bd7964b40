"""``python -m tools.training.addressed [--attacks FILE [--left-out SET]]``: fits what tells orders to machines.

Such passages are the written ones, framings with orders, and the attacks of packages that a file has in the same form
(``docs/security.md``). Others are the written ordinary texts, documentation, and all labelled pages. Framings, orders
and sites are distributed to folds; weights that saw neither score each fold, and decide the limits.
"""

import argparse
import random
import re
from base64 import b85encode
from collections import Counter, defaultdict
from collections.abc import Iterable, Iterator, Sequence
from importlib.metadata import distributions
from itertools import product
from math import log
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
import yaml
from numpy.typing import NDArray
from scipy.optimize import minimize
from scipy.sparse import csr_matrix

from handlers.html import addressed
from handlers.html.addressed import WORD, Addressed, AddressedSection, folded, words_of
from handlers.html.encoding import page_bytes
from handlers.html.hints import Hints
from handlers.html.limits import parse_within
from handlers.html.nodes import HEADING_NAMES
from handlers.html.reading import PageReadingSection
from handlers.html.structured_data import SchemaTypes, read_structured_data
from handlers.html.walk import walk_page
from handlers.score_page import ScorePageRules
from tests.rules import ADDRESSED, shipped_rules
from tools import labelled

WRITTEN = Path(__file__).with_suffix(".jsonl")
"""One object a line: a text, with its set and framing if it is written to a machine."""
FRAMINGS = Path(__file__).with_suffix(".yaml")
FOLDS, PENALTY, ORDERS = 5, 0.03, 30
_CAPITALS = 0.2
_SLOT = re.compile(r"<(\w+)>")
_RESERVED, _ENDINGS = re.compile(r"\.example\b(?!\.)"), (".com", ".org", ".net", ".io", ".de")
_RARE, _LEAST_FRAMINGS, _LEAST_TELLING, _ANCHOR, _WORTH, _LOOSE = 0.0005, 3, 0.7, 2.5, 5.5, 1.5
_ALARMS, _MARGIN = 1000, 0.4
_LONGEST, _SHARE = 6_000, 0.6


class Text(NamedTuple):
    """A text, its set and framing, or its site, its order if that is known, and whether it is written to a machine."""

    text: str
    group: str
    order: str
    is_addressed: bool

    @property
    def name(self) -> str:
        """That of its set, or of its site."""
        return self.group.partition(": ")[0]


def texts_of(path: Path) -> Iterator[Text]:
    """The texts of a file. Domains that are reserved for examples are no sign of an order."""
    for row in labelled.rows(path):
        text, framing = row["text"], row.get("framing")
        text = _RESERVED.sub(random.Random(text).choice(_ENDINGS), text)
        yield Text(text, framing or text, row.get("order") or text, framing is not None)


def combined() -> Iterator[Text]:
    """Each framing with some orders."""
    given = yaml.safe_load(FRAMINGS.read_text("utf-8"))
    slots = {name: [word.strip() for word in words.split(" | ")] for name, words in given["slots"].items()}
    draw = random.Random(3)
    orders = [order for its in given["orders"].values() for order in its.split(" | ")]
    for framing, forms in given["framings"].items():
        for form in forms.split(" | "):
            for order in draw.choices(orders, k=ORDERS):
                filled = _filled(form, slots, draw).replace("<order>", "{}")
                yield Text(_put(filled, _filled(order, slots, draw)), framing, order, True)
    for language, its in given["languages"].items():
        pairs = product(its["forms"].split(" | "), its["orders"].split(" | "))
        yield from (Text(_put(form, order), f"{language}: {form}", order, True) for form, order in pairs)


def _filled(form: str, slots: dict[str, list[str]], draw: random.Random) -> str:
    filled = _SLOT.sub(lambda found: draw.choice(slots[found[1]]) if found[1] in slots else found[0], form)
    return filled if draw.random() < _CAPITALS else filled[:1].upper() + filled[1:]


def _put(form: str, order: str) -> str:
    for _part in range(form.count("{}")):
        before = form.partition("{}")[0].rstrip()
        own = order[0].upper() + order[1:] if not before or before[-1] in '.:?>]"(*' else order[0].lower() + order[1:]
        form = form.replace("{}", own, 1)
    return form


def documentation() -> Iterator[Text]:
    """Paragraphs on programs, of the installed packages."""
    for package in distributions():
        for part in str(package.metadata["Description"] or "").split("\n\n"):
            yield Text(" ".join(part.split())[:1500], package.name, package.name, False)


def pages(reading: PageReadingSection) -> Iterator[tuple[str, dict[str, list[str]]]]:
    """Site, and texts of the labelled pages: visible lines, what is stated about them, and hidden texts."""
    # The scorer that is replaced is not asked.
    reading = reading.model_copy(update={"addressed": AddressedSection()})
    types = SchemaTypes(reading)
    for folder, case in labelled.pages():
        tree = parse_within(page_bytes(labelled.body(folder, case)).utf8, reading)
        if not isinstance(tree, str):
            page = walk_page(tree, Hints(reading), reading.max_nodes)
            data = read_structured_data(
                page.json_ld, page.item_types, page.part_types, types, reading.max_structured_characters
            )
            meta = [text for texts in page.meta.values() for text in texts if " " in text]
            headings = [block.text for block in page.blocks() if block.tag in HEADING_NAMES]
            texts = {
                "suspected": [block.text for block in page.lines_with_links()],
                "stated": [page.title, data.headline, data.description, *meta, *headings, *page.comments],
                "quarantined": [one.text for one in page.hidden],
            }
            yield str(case.get("split_key") or case.get("url") or folder), texts


def fold(text: str) -> int:
    return labelled.fold(text, FOLDS)


def telling_words(texts: Iterable[Text], usual: Counter[str], lines: int) -> dict[str, float]:
    """How much more often passages to a machine have a word than lines of pages, as a logarithm."""
    texts = list(texts)
    sizes, often, framings = Counter(one.group for one in texts), Counter[str](), defaultdict[str, set[str]](set)
    for one in texts:
        for word in {word for word in words_of(folded(one.text)) if WORD.match(word)}:
            # Many texts of a framing have its words.
            often[word] += sizes[one.group] ** -0.5
            framings[word].add(one.group)
    every = sum(size**0.5 for size in sizes.values())
    found = {
        word: round(log((number / every + _RARE) * lines / (usual[word] + 8)), 1)
        for word, number in sorted(often.items())
        if len(framings[word]) >= _LEAST_FRAMINGS
    }
    return {word: value for word, value in found.items() if value > _LEAST_TELLING}


class Rows:
    """Texts that are worth a score, with their windows as rows of a table of weights."""

    def __init__(self, judges: Sequence[Addressed]) -> None:
        self.judges = judges
        # What is nearly worth a score shows what readers read.
        loose = judges[-1].section.model_copy(update={"anchor": _LOOSE, "worth": 2 * _LOOSE})
        self._loose = Addressed(loose)
        self.kinds: list[str] = []
        self.texts: list[Text] = []
        self.pages: list[int] = []
        self.is_telling: list[bool] = []
        self._numbers: list[NDArray[np.int32]] = []
        self._own: list[int] = []
        self._weights: list[float] = []

    def add(self, kind: str, text: Text, weight: float, page: int = -1) -> None:
        """Adds a text; of those for readers, only what is nearly worth a score."""
        # The words of a framing are not known before it is seen.
        plain = folded(text.text)
        is_telling = self.judges[fold(text.group) if text.is_addressed else -1].is_worth(plain)
        if not text.is_addressed and not self._loose.is_worth(plain):
            return
        found = list(windows(text.text[:_LONGEST]))
        # An order is most of its text; of other texts no window is one.
        least = _SHARE * max(map(len, found), default=0) if text.is_addressed else 0
        number = sum(len(one) >= least for one in found) if text.is_addressed else 1
        for numbers in found:
            self._numbers.append(np.asarray(numbers, dtype=np.int32))
            self._own.append(len(self.texts))
            self._weights.append(weight / number if len(numbers) >= least else 0.0)
        self.kinds.append(kind)
        self.texts.append(text)
        self.pages.append(page)
        self.is_telling.append(is_telling)

    def close(self) -> None:
        sizes = np.array([len(one) for one in self._numbers])
        values = np.repeat(1 / np.sqrt(sizes + addressed.SMOOTH), sizes).astype(np.float32)
        ends = np.concatenate([[0], np.cumsum(sizes)])
        self._table = csr_matrix((values, np.concatenate(self._numbers), ends), shape=(len(sizes), 1 << addressed.BITS))
        self._table.sum_duplicates()
        self._numbers = []
        self._place, self._weight = np.array(self._own), np.array(self._weights, dtype=np.float32)
        self._sign = np.array([1.0 if one.is_addressed else -1.0 for one in self.texts], dtype=np.float32)[self._place]
        self.folds = np.array([(fold(one.group), fold(one.order)) for one in self.texts])

    def fitted(self, without: int | None = None) -> NDArray[np.float32]:
        """Weights, and the start as the last: a logistic regression without the texts and sites of a fold."""
        kept = (self._weight > 0) & ~(self.folds == without).any(axis=1)[self._place]
        table, sign, weight = self._table[kept], self._sign[kept], self._weight[kept]
        turned = table.T.tocsr()

        def loss(point: NDArray[np.float64]) -> tuple[float, NDArray[np.float64]]:
            now = point.astype(np.float32)
            margin = sign * (table @ now[:-1] + now[-1])
            slope = -weight * sign / (1 + np.exp(np.clip(margin, -30, 30)))
            value = float((weight * np.logaddexp(0, -margin)).sum() + PENALTY / 2 * (point[:-1] ** 2).sum())
            return value, np.concatenate([turned @ slope + PENALTY * now[:-1], [slope.sum()]]).astype(np.float64)

        start = np.zeros((1 << addressed.BITS) + 1)
        found: Any = minimize(loss, start, jac=True, method="L-BFGS-B", options={"maxiter": 60})
        return np.asarray(found.x, dtype=np.float32)

    def scores(self, weights: NDArray[np.float32]) -> NDArray[np.float64]:
        found = np.full(len(self.texts), -99.0)
        np.maximum.at(found, self._place, self._table @ weights[:-1] + weights[-1])
        return found


def windows(line: str) -> Iterator[list[int]]:
    line = folded(line)
    sentences = [addressed.numbers_of(line[first:last]) for first, last in addressed.sentence_bounds(line)]
    for place in range(len(sentences)):
        for end in range(place + 1, min(place + addressed.WINDOW, len(sentences)) + 1):
            if numbers := [number for own in sentences[place:end] for number in own]:
                yield numbers


def all_rows(texts: Sequence[Text], read: Sequence[tuple[str, dict[str, list[str]]]], left_out: str) -> Rows:
    """Attacks and texts for readers, with the labelled pages."""
    lines = [line for _, its in read for line in its["suspected"]]
    lines = random.Random(1).sample(lines, min(len(lines), 60_000))
    usual = Counter(word for line in lines for word in {word for word in words_of(folded(line)) if WORD.match(word)})
    judges = []
    for number in (*range(FOLDS), None):
        kept = [one for one in texts if one.is_addressed and number not in (fold(one.group), fold(one.order))]
        kept = [one for one in kept if not one.name.startswith(left_out)]
        telling = telling_words(kept, usual, len(lines))
        judges.append(AddressedSection(telling=telling, anchor=_ANCHOR, worth=_WORTH).compiled)
    rows = Rows(judges)
    sizes = Counter(one.name for one in texts)
    for one in texts:
        weight = 2.0 * (100 / max(100, sizes[one.name])) ** 0.5 if one.is_addressed else 3.0
        weight *= not (one.is_addressed and one.name.startswith(left_out))
        rows.add("order" if one.is_addressed else "ordinary", one, weight)
    for one in documentation():
        rows.add("document", one, 1.0)
    for number, (site, kinds) in enumerate(read):
        for kind, text in ((kind, text) for kind, its in kinds.items() for text in dict.fromkeys(its)):
            rows.add(kind, Text(text, site, site, False), 1.0, number)
    rows.close()
    return rows


def report(rows: Rows, scores: NDArray[np.float64], left_out: str) -> dict[str, float]:
    """Prints what is found by weights that saw neither framing, order nor site, and returns limits."""
    kinds, place, is_telling = np.array(rows.kinds), np.array(rows.pages), np.array(rows.is_telling)
    number, scores = place.max() + 1, np.where(is_telling, scores, -99)
    lines = np.bincount(place[(kinds == "suspected") & is_telling], minlength=number)
    limits = {}
    for name in ("suspected", "quarantined", "stated"):
        mine = kinds == name
        best = np.full(number, -99.0)
        by_page = scores - addressed.PER_LINE * np.log1p(lines[place]) if name == "suspected" else scores
        np.maximum.at(best, place[mine], by_page[mine])
        # Above all pages but one in a thousand.
        limits[name] = round(float(np.sort(best)[-1 - number // _ALARMS]) + _MARGIN, 2)
        framings: dict[str, list[bool]] = defaultdict(list)
        # A short page has three lines that are worth a score.
        least = limits[name] + (addressed.PER_LINE * np.log(4) if name == "suspected" else 0)
        for spot in np.flatnonzero(kinds == "order"):
            if rows.texts[spot].name.startswith(left_out.strip("-")):
                framings[rows.texts[spot].group].append(bool(scores[spot] >= least))
        sets = defaultdict[str, list[float]](list)
        for framing, its in framings.items():
            sets[framing.partition(": ")[0]].append(float(np.mean(its)))
        ordinary = [rows.texts[spot].text for spot in np.flatnonzero((kinds == "ordinary") & (scores >= least))]
        every = np.mean([one for its in framings.values() for one in its])
        mean = np.mean([share for its in sets.values() for share in its])
        print(f"{name} from {limits[name]}: {(best >= limits[name]).sum()} of {number} pages")
        print(
            f"found {every:.3f}, {mean:.3f} as the mean over {len(framings)} framings; {len(ordinary)} ordinary texts"
        )
        print({group: round(float(np.mean(shares)), 2) for group, shares in sets.items()})
        for spot in sorted(np.flatnonzero(mine), key=lambda spot: -by_page[spot])[:8]:
            print(f"{by_page[spot]:.2f} {rows.texts[spot].text[:130]!r}")
    return limits


def main() -> None:
    parser = argparse.ArgumentParser(prog="python -m tools.training.addressed", description=__doc__)
    parser.add_argument("--attacks", type=Path, help="a file with passages of packages")
    parser.add_argument("--left-out", default="-", help="a set that is only measured; nothing is written")
    options = parser.parse_args()
    texts = [*combined(), *(text for path in (WRITTEN, options.attacks) if path for text in texts_of(path))]
    texts = list(dict.fromkeys(texts))
    rows = all_rows(texts, list(pages(shipped_rules(ScorePageRules).page_reading)), options.left_out)
    scores = np.full(len(rows.texts), -99.0)
    for number in range(FOLDS):
        own = rows.folds[:, 0] == number
        scores[own] = rows.scores(rows.fitted(number))[own]
    limits = report(rows, scores, options.left_out)
    if options.left_out != "-":
        return
    weights = rows.fitted()
    step = float(np.abs(weights[:-1]).max()) / 127
    stored = b85encode(np.round(weights[:-1] / step).astype(np.int8).tobytes()).decode()
    judge = rows.judges[-1].section
    about = labelled.about("addressed", pages=max(rows.pages) + 1, texts=rows.kinds.count("order"))
    section = {"about": about, "start": round(float(weights[-1]), 3), "step": round(step, 6), **limits}
    section |= {"anchor": judge.anchor, "worth": judge.worth, "telling": judge.telling, "weights": stored}
    labelled.store(ADDRESSED, section, indent=None)


if __name__ == "__main__":
    main()
