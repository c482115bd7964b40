"""The features of a page that sets label: dates, authors and the rest, each as a tally of all who could answer."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from dataclasses import replace

from tools.accuracy.contestants import ASSAY, HTMLDATE, TRAFILATURA, Answer, Answers
from tools.accuracy.counting import Miss, Tally
from tools.accuracy.labels import LabelledPage
from tools.accuracy.matching import day_of, matched_persons, same_text, same_title

Asked = list[tuple[LabelledPage, Answers]]
Says = Callable[[Answer], str | None]
Judge = Callable[[str], bool]


def dates(asked: Asked, days: Mapping[str, str | None]) -> Tally:
    """Publication dates, right to the day.

    Shipped trees have seen these pages, so trees of other sites answer: ``days`` has their answers by page.
    """
    tally = Tally("publication date, right to the day", (ASSAY, *HTMLDATE, TRAFILATURA))
    for page, said in asked:
        if page.days:
            own = said[ASSAY]
            answers = said | {ASSAY: replace(own, date=days.get(page.place, own.date))}
            _count(tally, page, answers, lambda a: a.date, page.days[0], _is_day(page))
    return tally


def authors(asked: Asked, names: Mapping[str, tuple[str, ...]]) -> Tally:
    """Authors by persons. A person beyond the labelled ones counts as answered where there is nothing.

    Shipped trees have seen these pages, so trees of other sites answer: ``names`` has their answers by page.
    """
    tally = Tally("authors, by persons", (ASSAY, TRAFILATURA))
    for page, said in asked:
        if page.authors is None:
            continue
        own = said[ASSAY]
        answers = said | {ASSAY: replace(own, authors=names.get(page.place, own.authors))}
        counts = {
            name: matched_persons(page.authors, answers[name].authors) for name in tally.contestants if name in answers
        }
        for name, (right, labelled, answered) in counts.items():
            for number in range(max(labelled, answered)):
                if number < labelled:
                    tally.add(page.set, name, is_right=number < right, is_answered=number < answered)
                else:
                    tally.add_unlabelled(page.set, name)
        right, labelled, _ = counts[ASSAY]
        if right < labelled:
            shown = {name: ", ".join(answers[name].authors) or "-" for name in counts}
            found_by = tuple(name for name in counts if counts[name][0] == labelled)
            tally.misses.append(Miss(page.place, "; ".join(page.authors), shown, found_by))
    return tally


def texts(asked: Asked) -> list[Tally]:
    """Title (also with a site's name before or after it), site name and language."""
    title = Tally("title, equal to the label", (ASSAY, TRAFILATURA))
    loose = Tally("title, or one of the two with more before or after it", (ASSAY, TRAFILATURA))
    site = Tally("site name", (ASSAY, TRAFILATURA))
    language = Tally("language", (ASSAY,))
    for page, answers in asked:
        for tally, label, says, same in (
            (title, page.title, lambda a: a.title, same_text),
            (loose, page.title, lambda a: a.title, same_title),
            (site, page.site_name, lambda a: a.site_name, same_text),
            (language, page.language, lambda a: a.language, same_text),
        ):
            if label:
                _count(tally, page, answers, says, label, _is_text(label, same))
    return [title, loose, site, language]


def flags(asked: Asked) -> list[Tally]:
    """What is only seen or not seen, on pages where the label says that it is there; absence is labelled nowhere."""
    credit = Tally("an author or a byline seen, where an author is labelled", (ASSAY, TRAFILATURA))
    byline = Tally("a byline seen (has_byline), where an author is labelled", (ASSAY,))
    headings = Tally("headings seen (has_headings), where sub-headings are labelled", (ASSAY,))
    for page, answers in asked:
        if page.authors:
            _count(
                credit, page, answers, lambda a: "seen" if a.authors or a.has_byline else None, "; ".join(page.authors)
            )
            _count(byline, page, answers, lambda a: "seen" if a.has_byline else None, "; ".join(page.authors))
        if page.has_subheadings:
            _count(headings, page, answers, lambda a: "seen" if a.has_headings else None, "sub-headings")
    return [credit, byline, headings]


def failures(asked: Iterable[tuple[LabelledPage, Answers]], name: str) -> list[tuple[str, Answer]]:
    """The pages to which a contestant gave no answer at all, with its reason."""
    return [(page.place, answers[name]) for page, answers in asked if name in answers and answers[name].failed]


def _count(
    tally: Tally,
    page: LabelledPage,
    answers: Answers,
    says: Says,
    label: str,
    is_right: Judge = bool,
) -> None:
    said = {name: says(answers[name]) for name in tally.contestants if name in answers}
    right = {name: bool(text) and is_right(text or "") for name, text in said.items()}
    for name, text in said.items():
        tally.add(page.set, name, is_right=right[name], is_answered=bool(text))
    if not right.get(ASSAY, True):
        found_by = tuple(name for name, is_right_too in right.items() if is_right_too)
        tally.misses.append(Miss(page.place, label, {name: text or "-" for name, text in said.items()}, found_by))


def _is_day(page: LabelledPage) -> Judge:
    return lambda said: day_of(said) in page.days


def _is_text(label: str, same: Callable[[str, str], bool]) -> Judge:
    return lambda said: same(label, said)
