"""What is read from labelled pages: dates, authors, features, and content.

Shipped trees have seen these pages, so trees that were grown without the page's site answer in their place. A cell has
right among labelled, then right among answered. An answer is wrong where a set says that there is nothing to answer; a
page without a label counts for nothing.
"""

from collections import defaultdict
from collections.abc import Callable, Iterable, Mapping, Sequence
from functools import cache
from operator import attrgetter
from statistics import fmean
from typing import Any

from tools.accuracy import contestants as others
from tools.accuracy.contestants import ASSAY, HTMLDATE, RESILIPARSE, TRAFILATURA, Answer, Answers
from tools.accuracy.labels import PAGES, SETS, LabelledPage, pages
from tools.accuracy.matching import WEIGHTS, day_of, flat, matched_persons, same_text, weighted, word_f1, words
from tools.accuracy.measure import TOGETHER, Measure, Measures, Setup
from tools.labelled import has
from tools.table import share
from tools.training import content as content_trees
from tools.training.authors import AUTHORS
from tools.training.dates import DATES

BY_SITE = "assay, trees of other sites"
Counted = tuple[int, int, int]
"""Right, labelled and answered."""


@cache
def answered(sets: tuple[str, ...] = SETS) -> list[tuple[LabelledPage, Answers]]:
    asked = others.answers([page for name in sets if has(name) for page in pages(name)])
    for page, given in asked:
        if given[ASSAY].failed:
            print(f"no answer for {page.place}: {given[ASSAY].failed}")
    return asked


async def dates(setup: Setup) -> Measures:
    days, names = DATES.by_site(), (*HTMLDATE, TRAFILATURA)
    yield _of_labels(
        "Publication date, right to the day", setup, names, lambda page: page.days or None, attrgetter("date"),
        _single(lambda labels, day: day_of(day) in labels), days,
    )  # fmt: skip


async def authors(setup: Setup) -> Measures:
    label = attrgetter("authors")
    yield _of_labels("Authors, by persons", setup, (TRAFILATURA,), label, label, matched_persons, AUTHORS.by_site())


async def features(setup: Setup) -> Measures:
    for name in ("title", "site_name", "language"):
        title, label = f"{name.replace('_', ' ').capitalize()}, equal to the label", attrgetter(name)
        yield _of_labels(title, setup, (TRAFILATURA,), label, label, _single(same_text))


def _of_labels(
    title: str, setup: Setup, names: Iterable[str], label: Callable[[LabelledPage], Any],
    answer: Callable[[Answer], Any], match: Callable[[Any, Any], Counted], own: Mapping[str, Any] | None = None,
) -> Measure:  # fmt: skip
    """The measure of a label of the pages; ``own`` has Assay's answers by the places of pages."""
    cases: dict[str, list[tuple[LabelledPage, Answers]]] = defaultdict(list)
    for page, given in answered(setup.sets):
        if label(page) is not None:
            cases[page.set].append((page, given))

    def asked(name: str) -> Callable[[Any], Any]:
        return lambda case: (answer(case[1][name]),) if name in case[1] else None

    def ask_own(case: Any) -> Any:
        return ((own or {}).get(case[0].place, answer(case[1][ASSAY])),)

    def counted(group: str, case: Any, given: Any) -> list[tuple[str, Counted]]:
        counts = match(label(case[0]), given[0])
        return [(group, counts), (TOGETHER, counts)]

    def miss(case: Any, given: Any, counts: Counted) -> str:
        return f"{case[0].place}: {str(label(case[0]))[:200]} | {str(given[0])[:300]}" * (counts[0] < counts[1])

    return Measure(
        name=f"### {title}", cases=cases, contestants={ASSAY: ask_own, **{name: asked(name) for name in names}},
        match=counted, figures=_right_and_precise, heads=("labelled",), across=True, miss=miss,
    )  # fmt: skip


def _single(is_same: Callable[[Any, str], bool]) -> Callable[[Any, str | None], Counted]:
    return lambda label, given: (int(bool(given) and is_same(label, given or "")), 1, int(bool(given)))


def _right_and_precise(counts: Sequence[Counted], _: int) -> list[object]:
    right, labelled, given = map(sum, zip(*counts, strict=True))
    return [labelled, f"{share(right, labelled)} / {share(right, given)}" if given else share(right, labelled)]


async def content(_: Setup) -> Measures:
    """Word F1 by the metric of WCXB, and the snippets that belong to the content or do not."""
    if not (texts := content_trees.by_site()):
        return
    cases: dict[str, list[Any]] = {kind: [] for kind in WEIGHTS}
    for case in answered((PAGES,)):
        cases[case[0].kind or ""].append(case)
    contestants: dict[str, Callable[[Any], str | None]] = {
        BY_SITE: lambda case: texts.get(case[0].id, ""),
        ASSAY: lambda case: case[1][ASSAY].text or "",
        TRAFILATURA: lambda case: (case[1][TRAFILATURA].text or "") if TRAFILATURA in case[1] else None,
        RESILIPARSE: lambda case: others.ask_resiliparse(others.decoded(case[0].body())),
    }

    def f1(kind: str, case: Any, text: str) -> list[tuple[str, tuple[str, float]]]:
        value = kind, word_f1(words(case[0].gold_text or ""), words(text))
        return [(kind, value), ("weighted", value)]

    yield Measure(
        name="### Content by page type: word F1", cases=cases, contestants=contestants, match=f1, figures=_mean_f1,
        heads=("pages",), group=("page type",), across=True,
    )  # fmt: skip
    names = {"must_contain: more is better": "must_contain", "must_not_contain: less is better": "must_not_contain"}

    def found(group: str, case: Any, text: str) -> Iterable[tuple[str, bool]]:
        plain = flat(text)
        return [(group, flat(snippet) in plain) for snippet in getattr(case[0], names[group])]

    every = [case for kind in cases.values() for case in kind]
    yield Measure(
        name="", cases=dict.fromkeys(names, every), contestants=contestants, match=found,
        figures=lambda values, _: [f"{fmean(values):.3f}"], heads=(), group=("snippets",), across=True,
    )  # fmt: skip


def _mean_f1(values: Sequence[tuple[str, float]], _: int) -> list[object]:
    scores: dict[str, list[float]] = defaultdict(list)
    for kind, score in values:
        scores[kind].append(score)
    return [len(values), f"{weighted({kind: fmean(of_kind) for kind, of_kind in scores.items()}):.3f}"]
