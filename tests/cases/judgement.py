"""The page that shows everyday situations, their results and the reasons. It is made by running them."""

import itertools
from collections.abc import Sequence
from pathlib import Path
from typing import Any

from streams.topology.text import without_references
from tests.cases.situations import MISSING, Judge, Situation, value_at

PAGE = Path(__file__).parents[2] / "docs" / "judgement.md"
_LONGEST = 80
"""Characters of a value that the page shows."""
_HEAD = """# Everyday situations and their results

`python -m tests.cases` writes this page: it runs each situation with the shipped settings and no model. `make test`
fails where a result differs from the expected one. The inputs and the expectations are in `tests/cases/`. One of them:

```sh
sed -n 1p tests/cases/12_snippets.jsonl | .venv/bin/assay try extract_snippet
```

"""


def page(situations: Sequence[Situation], judge: Judge) -> str:
    """The whole page."""
    short = [situation for situation in situations if situation.falls_short]
    parts = [_HEAD, f"{len(situations) - len(short)} of {len(situations)} situations give the expected result.\n"]
    if short:
        parts.append("\n## Results that fall short\n\n| situation | today | a user expects |\n|---|---|---|\n")
        parts += [_row(found.situation, found.falls_short, found.reason) for found in short]
    for handlers, group in itertools.groupby(sorted(situations, key=_by_handlers), key=_by_handlers):
        parts.append(f"\n## {', then '.join(handlers)}\n\n| situation | result | reason |\n|---|---|---|\n")
        parts += [
            _row(found.situation, _result(found, judge.answer_of(found)), found.reason)
            for found in group
            if not found.falls_short
        ]
    return without_references("".join(parts))


def _by_handlers(situation: Situation) -> tuple[str, ...]:
    return situation.handlers


def _row(*cells: str) -> str:
    return "| " + " | ".join(" ".join(cell.split()).replace("|", "\\|") for cell in cells) + " |\n"


def _result(situation: Situation, answer: dict[str, Any]) -> str:
    """The resulting fields that the situation is about."""
    return ", ".join(f"`{path}` {_short(value_at(answer, path))}" for path in situation.expect)


def _short(value: Any) -> str:
    text = "null" if value is None or value is MISSING else str(value)
    return text if len(text) <= _LONGEST else f"{text[:_LONGEST]}…"
