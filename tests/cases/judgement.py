"""The page that counts everyday situations and shows those whose results fall short."""

import itertools
from collections.abc import Sequence
from pathlib import Path

from streams.topology.text import without_references
from tests.cases.situations import Situation

PAGE = Path(__file__).parents[2] / "docs" / "judgement.md"
_HEAD = """# Everyday situations and their results

`make test` runs each situation with the shipped settings and no model, and fails where a result differs from the
expected one. `tests/cases/` has the inputs, the expectations and the reasons; `python -m tests.cases` writes this page.
One of them:

```sh
sed -n 1p tests/cases/12_snippets.jsonl | .venv/bin/assay try extract_snippet
```

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


def _by_handlers(situation: Situation) -> tuple[str, ...]:
    return situation.handlers


def _row(*cells: str) -> str:
    return "| " + " | ".join(" ".join(cell.split()).replace("|", "\\|") for cell in cells) + " |\n"
