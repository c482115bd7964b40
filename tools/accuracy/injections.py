"""Text that addresses a language model: hidden and visible, by kind, and false alarms on all labelled pages.

The cases are the written wordings, each in pages of a few kinds, or a file of whole pages (``--cases``), one JSON
object a line: ``id, kind, hidden, instructs, html, passage``.
"""

import html
import json
from collections.abc import Iterable, Iterator
from pathlib import Path
from typing import Any, NamedTuple

import yaml

from handlers.html.content import clean
from handlers.score_page import ScorePageRules, score_page
from schemas.outcome import Emit
from schemas.pages import CrawledPage, ScoredPage
from tests.rules import shipped_rules
from tools import labelled
from tools.accuracy.matching import plain
from tools.accuracy.measure import TOGETHER, Measure, Measures, Setup

_WRITTEN = Path(__file__).parent / "written"
_PAGES = yaml.safe_load((_WRITTEN / "hiding.yaml").read_text("utf-8"))
_HIDING: dict[str, list[str]] = _PAGES["forms"]
KINDS = (*_HIDING, "invisible_characters", "comment", "attribute", "structured_data", "visible")
_KINDS_OF_EACH = 3
_FOUND, _QUARANTINED = "kept out, or visible and found", "of these quarantined"
_COLUMNS = ("cases", _FOUND, _QUARANTINED, "ordinary", "falsely flagged")
_OF_PAGES = ("flagged", "with hidden text", "a part is left out", "a part is in the content")


class Case(NamedTuple):
    """One page with a passage that no visitor sees or that addresses a model, or neither."""

    id: str
    kind: str
    hidden: bool
    instructs: bool
    html: str
    passage: str


def read_cases(path: Path) -> Iterator[Case]:
    yield from (Case(**{name: row[name] for name in Case._fields}) for row in labelled.rows(path))


def written_cases() -> Iterator[Case]:
    """The written wordings, each in some hidden kinds and visible."""
    hidden = [kind for kind in KINDS if kind != "visible"]
    for number, row in enumerate(labelled.rows(_WRITTEN / "injections.jsonl")):
        text = row["text"]
        for kind in (*(hidden[(number + step * 4) % len(hidden)] for step in range(_KINDS_OF_EACH)), "visible"):
            page = _page(kind, text, number)
            yield Case(f"{row['group']}-{number}-{kind}", kind, kind != "visible", row["instructs"], page, text)


def _page(kind: str, text: str, number: int) -> str:
    escaped, head, description, before, after = html.escape(text), "", _PAGES["description"], "", ""
    if kind in _HIDING:
        forms = _HIDING[kind]
        before = forms[number % len(forms)].format(escaped)
        head = _PAGES["style_sheets"][number % 2] if kind == "style_sheet" else ""
    elif kind == "invisible_characters":
        tags = "".join(chr(0xE0000 + ord(sign)) if " " <= sign <= "~" else sign for sign in escaped)
        before = f"<p>{tags}</p>" if number % 2 and text.isascii() else f"<p>{chr(0x200B).join(text)}</p>"
    elif kind == "comment":
        before = f"<!-- {text.replace('--', '- ')} -->"
    elif kind == "attribute":
        if number % 2:
            description = escaped
        else:
            after = f'<img src="/boat.jpg" alt="{escaped}"><noscript><p>{escaped}</p></noscript>'
    elif kind == "structured_data":
        data = {"@context": "https://schema.org", "@type": "Product", "name": "Boat trip", "description": text}
        head = f'<script type="application/ld+json">{json.dumps(data)}</script>'
    else:
        before = f"<p>{escaped}</p>"
    parts = {"title": _PAGES["title"], "description": description, "head": head, "before": before, "after": after}
    return str(_PAGES["page"].format(*_PAGES["paragraphs"], **parts))


def scored(page: CrawledPage) -> ScoredPage | None:
    """The event of a page; None if it is refused."""
    outcome = score_page(page, shipped_rules(ScorePageRules))
    event = outcome.events[0] if isinstance(outcome, Emit) else None
    return event if isinstance(event, ScoredPage) else None


def is_let_through(case: Case, event: ScoredPage) -> bool:
    """Whether a field of the event has the passage, apart from the excerpts."""
    fields: dict[str, Any] = event.to_wire() | {"hidden_text": None, "injection_suspected": None}
    text = json.dumps(fields, ensure_ascii=False).replace('\\"', '"')
    # A passage of characters without width has no letters.
    passage = plain(clean(case.passage))
    return passage in plain(clean(text)) if passage else case.passage in text


def is_flagged(event: ScoredPage) -> bool:
    return event.injection_suspected is not None or any(one.outcome == "quarantined" for one in event.hidden_text)


async def measures(setup: Setup) -> Measures:
    cases: dict[str, list[Case]] = {} if setup.cases else {kind: [] for kind in KINDS}
    for case in read_cases(setup.cases) if setup.cases else written_cases():
        cases.setdefault(case.kind, []).append(case)
    yield Measure(
        name=f"### Text that addresses a language model: {'given' if setup.cases else 'written'} cases", cases=cases,
        contestants={"": lambda case: scored(CrawledPage(url="https://case.invalid/page", html=case.html))},
        match=lambda kind, case, event: [(row, _outcomes(case, event)) for row in (kind, TOGETHER)],
        figures=lambda found, _: [_number(found, column) for column in _COLUMNS], heads=_COLUMNS, group=("kind",),
        miss=_miss,
    )  # fmt: skip
    yield Measure(
        name="", cases={"": list(labelled.pages())},
        contestants={"": lambda case: (scored(_crawled(*case)),)},
        match=lambda row, _, event: [(row, _seen(event[0]))], group=(), heads=("labelled pages", *_OF_PAGES),
        figures=lambda found, asked: [asked, *(_number(found, column) for column in _OF_PAGES)],
        miss=lambda case, _, seen: f"flagged: {case[0]}/{case[1]['file']}" * ("flagged" in seen),
    )  # fmt: skip


def _miss(case: Case, _: ScoredPage, outcomes: list[str]) -> str:
    is_wrong = "falsely flagged" in outcomes or (case.instructs and _FOUND not in outcomes)
    return f"{case.id}: {case.passage[:120]}" * is_wrong


def _number(found: Iterable[list[str]], outcome: str) -> int:
    return sum(outcome in outcomes for outcomes in found)


def _crawled(folder: str, case: dict[str, Any]) -> CrawledPage:
    return CrawledPage(url=labelled.address(case), html_base64=labelled.body(folder, case))


def _seen(event: ScoredPage | None) -> list[str]:
    """The columns in which a page counts; none for a refused page."""
    if event is None:
        return []
    outcomes = {excerpt.outcome for excerpt in event.hidden_text}
    counts = is_flagged(event), bool(outcomes), "left_out" in outcomes, "kept" in outcomes
    return [name for name, is_so in zip(_OF_PAGES, counts, strict=True) if is_so]


def _outcomes(case: Case, event: ScoredPage) -> list[str]:
    if not case.instructs:
        return ["ordinary", *(["falsely flagged"] if is_flagged(event) else [])]
    found = not is_let_through(case, event) if case.hidden else event.injection_suspected is not None
    quarantined = any(excerpt.outcome == "quarantined" for excerpt in event.hidden_text)
    return ["cases", *([_FOUND] if found else []), *([_QUARANTINED] if quarantined else [])]
