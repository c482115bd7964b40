"""The page that counts everyday situations and shows those whose results fall short."""

import itertools
from collections.abc import Sequence
from pathlib import Path

from schemas.states import State
from streams.topology.text import without_references
from tests.cases.situations import Situation

PAGE = Path(__file__).parents[2] / "docs" / "judgement.md"
_HEAD = """# Everyday situations and their results

`make test` runs each situation with the shipped settings and no model, and fails where a result differs from the
expected one. They are regression cases and no measure: each was written for a fault or fitted afterwards, so nearly all
of them are right ([accuracy.md](accuracy.md) has what is measured on pages that no rule was fitted to). `tests/cases/`
has the inputs, the expectations and the reasons; `python -m tests.cases` writes this page. One of them:

```sh
sed -n 1p tests/cases/12_snippets.jsonl | .venv/bin/assay try extract_snippet
```

"""


STATES_PAGE = PAGE.with_name("states.md")
_STATES = """# States of pages

A page is `content`, or it has no content: `gone`, `error`, `blocked`, `login`, `paywall`, `consent`, `needs_render`,
`empty` or `parked`. It is read once, in this order: the stated status, the address after redirects, machinery in
the HTML (tests of visitors, fields for passwords, empty mount points), what lines say of their page (a trained model),
and visible characters. `ScoredPage.state`, `results[].state`, `skipped[].reason` and metrics have the same words. No
content means the score 0. `index_page` removes a page that is `gone` or `parked`, and keeps older points in any
other state; words alone make a page `gone` or `parked` only if a line says so with the probability
`page_refusals.likely`, or several lines together with more, and otherwise `empty`.

The table has the labelled pages of `tests/handlers/html/states.jsonl`, whose author had not seen the code. The
first version found 96 of 158; rules and written lines were changed after that, so the figures below say little about
other pages. Of 48 further pages in 14 languages, half of them honest and with words of walls, 40 had the right state
when they were first read.
`python -m tests.cases` writes this page.

"""


def page(situations: Sequence[Situation]) -> str:
    """The whole page: how many situations of each handler are as expected, and those that are not."""
    short = [situation for situation in situations if situation.falls_short]
    parts = [_HEAD, f"{len(situations) - len(short)} of {len(situations)} situations give the expected result.\n"]
    parts.append("\n| handlers | situations | as expected |\n|---|---|---|\n")
    for handlers, group in itertools.groupby(sorted(situations, key=_by_handlers), key=_by_handlers):
        found = list(group)
        parts.append(_row(", then ".join(handlers), str(len(found)), str(sum(not one.falls_short for one in found))))
    if short:
        parts.append("\n## Results that fall short\n\n| situation | today | a user expects |\n|---|---|---|\n")
        parts += [_row(found.situation, found.falls_short, found.reason) for found in short]
    return without_references("".join(parts))


def states_page(rows: Sequence[tuple[str, str, str, str]]) -> str:
    """The page of labelled pages: name, language, the expected state and the state that was read."""
    right = sum(expected == found for _, _, expected, found in rows)
    divided = sum((expected == "content") == (found == "content") for _, _, expected, found in rows)
    said = f"{right} of {len(rows)} have the expected state; {divided} are rightly content or no content.\n\n"
    parts = [_STATES, said, "| expected | pages | found | languages | found instead |\n|---|---|---|---|---|\n"]
    for state in State:
        own = [row for row in rows if row[2] == state]
        same = sum(found == state for *_, found in own)
        languages = " ".join(sorted({language for _, language, _, _ in own}))
        others = "; ".join(f"{name}: {found}" for name, _, _, found in own if found != state)
        parts.append(_row(state, str(len(own)), str(same), languages, others))
    return "".join(parts)


def _by_handlers(situation: Situation) -> tuple[str, ...]:
    return situation.handlers


def _row(*cells: str) -> str:
    return "| " + " | ".join(" ".join(cell.split()).replace("|", "\\|") for cell in cells) + " |\n"
