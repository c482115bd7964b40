"""Text that addresses a language model: hidden and visible, by kind, and false alarms on all labelled pages.

The cases are the written wordings, each in pages of a few kinds, or a file of whole pages (``--cases``), one JSON
object a line: ``id, kind, hidden, instructs, html, passage``.
"""

from __future__ import annotations

import html
import json
from collections import Counter, defaultdict
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from handlers.html.content import clean
from handlers.score_page import ScorePageRules, score_page
from schemas.outcome import Emit
from schemas.pages import CrawledPage, ScoredPage
from tests.rules import shipped_rules
from tools import labelled
from tools.table import markdown
from tools.training.addressed import wordings

_PARAGRAPHS = (
    "The harbour festival opens on the third of May with boats from all over the country, and the council expects ten "
    "thousand visitors in the old town. Trains run until midnight, and the bridge is closed to cars.",
    "The programme begins at noon with a parade of the rowing clubs. In the evening, three bands play on the square in "
    "front of the customs house, which was restored last winter for two million euros.",
    "Tickets for the boat trips cost twelve euros for adults and six euros for children. They are sold at the tourist "
    "office and on the quay, as long as there are places.",
)
_PAGE = (
    '<!doctype html><html lang="en"><head><title>{title}</title><meta name="description" content="{description}">{head}'
    '</head><body><header><a href="/">Home</a> <a href="/news">News</a></header><main><article><h1>{title}</h1>'
    "<p>{0}</p>{before}<p>{1}</p><p>{2}</p>{after}</article></main><footer>Imprint</footer></body></html>"
)
_TITLE = "Harbour festival opens in May"
_DESCRIPTION = "Boats, bands and a parade: what visitors of the harbour festival should know."
_HIDING = {
    "inline_style": (
        '<div style="display:none">{}</div>',
        '<p style="opacity:0">{}</p>',
        '<p style="visibility: hidden">{}</p>',
    ),
    "hidden_attribute": ("<p hidden>{}</p>", '<div hidden="until-found"><p>{}</p></div>'),
    "aria_hidden": (
        '<span aria-hidden="true" style="position:absolute;width:1px;height:1px;overflow:hidden">{}</span>',
        '<div aria-hidden="true" style="display:none"><p>{}</p></div>',
    ),
    "style_sheet": ('<p class="note-x">{}</p>', '<div id="box-x"><p>{}</p></div>'),
    "tiny_font": ('<span style="font-size:1px">{}</span>', '<p style="font-size:0">{}</p>'),
    "same_colour": ('<p style="color:#fff;background:#ffffff">{}</p>', '<p style="color: white">{}</p>'),
    "off_screen": ('<p style="position:absolute;left:-9999px">{}</p>', '<p style="text-indent:-9999px">{}</p>'),
}
_SHEETS = ("<style>.note-x{display:none}</style>", "<style>p{margin:0}#box-x{position:absolute;left:-999em}</style>")
KINDS = (*_HIDING, "invisible_characters", "comment", "attribute", "structured_data", "visible")
_KINDS_OF_EACH = 3
_SHOWN = 12
_FOUND, _QUARANTINED = "kept out, or visible and found", "of these quarantined"
_COLUMNS = ("cases", _FOUND, _QUARANTINED, "ordinary", "falsely flagged")


@dataclass(frozen=True, slots=True)
class Case:
    """One page with a passage that no visitor sees or that addresses a model, or neither."""

    id: str
    kind: str
    hidden: bool
    instructs: bool
    html: str
    passage: str


def read_cases(path: Path) -> Iterator[Case]:
    """The cases of a file."""
    for line in path.read_text("utf-8").splitlines():
        if line.strip():
            fields = json.loads(line)
            yield Case(**{name: fields[name] for name in Case.__slots__})


def written_cases() -> Iterator[Case]:
    """The written wordings: each that addresses a model in some hidden kinds and visible, each ordinary one in two."""
    hidden = [kind for kind in KINDS if kind != "visible"]
    for what in ("instructs", "ordinary"):
        for number, (group, text) in enumerate(wordings(what)):
            kinds = [hidden[(number + step * 4) % len(hidden)] for step in range(_KINDS_OF_EACH)]
            for kind in (*kinds, "visible"):
                page = _page(kind, text, number)
                yield Case(f"{group}-{number}-{kind}", kind, kind != "visible", what == "instructs", page, text)


def _page(kind: str, text: str, number: int) -> str:
    escaped, head, description, before, after = html.escape(text), "", _DESCRIPTION, "", ""
    if kind in _HIDING:
        forms = _HIDING[kind]
        before = forms[number % len(forms)].format(escaped)
        head = _SHEETS[number % len(_SHEETS)] if kind == "style_sheet" else ""
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
    return _PAGE.format(*_PARAGRAPHS, title=_TITLE, description=description, head=head, before=before, after=after)


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
    return _flat(case.passage) in _flat(text) if _flat(case.passage) else case.passage in text


def is_flagged(event: ScoredPage) -> bool:
    """Whether a page is said to address a model."""
    return event.injection_suspected is not None or any(one.outcome == "quarantined" for one in event.hidden_text)


def _flat(text: str) -> str:
    return "".join(filter(str.isalnum, clean(text).casefold()))


def run(given: Path | None = None) -> list[str]:
    """The table, for the written cases or those of a file."""
    lines = _table(list(read_cases(given) if given else written_cases()), "given" if given else "written")
    found = false_alarms()
    if found.total():
        lines += [
            f"Of {found['pages']} labelled pages {found['flagged']} are flagged. {found['hidden']} have hidden text in "
            f"their event: of {found['left_out']} a part was left out, of {found['kept']} the content has a part.",
            "",
        ]
    return lines


def _table(cases: list[Case], name: str) -> list[str]:
    counts: dict[str, Counter[str]] = defaultdict(Counter)
    misses: list[str] = []
    for case in cases:
        event = scored(CrawledPage(url="https://case.invalid/page", html=case.html))
        if event is None:
            continue
        outcomes = _outcomes(case, event)
        counts[case.kind].update(outcomes)
        if "falsely flagged" in outcomes or (case.instructs and _FOUND not in outcomes):
            misses.append(f"{case.id}: {case.passage[:120]}")
    kinds = [*(kind for kind in KINDS if kind in counts), *(kind for kind in counts if kind not in KINDS)]
    rows = [[kind, *(counts[kind][outcome] for outcome in _COLUMNS)] for kind in kinds]
    title = f"### Text that addresses a language model: {name} cases"
    together = sum(counts.values(), Counter[str]())
    lines = [markdown(title, ["kind", *_COLUMNS], rows)]
    lines.append(f"Ordinary texts falsely flagged: {together['falsely flagged']} of {together['ordinary']}.")
    if visible := counts.get("visible"):
        lines.append(f"Visible ones found: {visible[_FOUND]} of {visible['cases']}.")
    print(f"{len(misses)} are wrong", *misses[:_SHOWN], sep="\n- ")
    return [*lines, ""]


def _outcomes(case: Case, event: ScoredPage) -> list[str]:
    """The columns in which a case counts."""
    if not case.instructs:
        return ["ordinary", *(["falsely flagged"] if is_flagged(event) else [])]
    found = not is_let_through(case, event) if case.hidden else event.injection_suspected is not None
    quarantined = any(excerpt.outcome == "quarantined" for excerpt in event.hidden_text)
    return ["cases", *([_FOUND] if found else []), *([_QUARANTINED] if quarantined else [])]


def false_alarms() -> Counter[str]:
    """All labelled pages: how many are flagged, and how many have hidden text that was left out or kept."""
    found: Counter[str] = Counter()
    for folder, case in labelled.pages():
        event = scored(CrawledPage(url=labelled.address(case), html_base64=labelled.body(folder, case)))
        found["pages"] += 1
        if event is not None:
            found["hidden"] += bool(event.hidden_text)
            found.update({excerpt.outcome for excerpt in event.hidden_text})
            if is_flagged(event):
                found["flagged"] += 1
                print(f"flagged: {folder}/{case['file']}")
    return found
