"""Writes ``config/sources/public`` from the lists of DATA/source_lists: ``python -m tools.source_lists``.

A file has a head, which stays as it is, and domains by what the list says of them: a line ``=unreliable`` begins a
group, a tab precedes a name. Public suffixes are left out, and so are domains that browsers do not open and those of
which a suffix rule says the kind (``edu.*``).
"""

from __future__ import annotations

import csv
import re
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import replace
from pathlib import Path

import yaml

from handlers.html.links import is_public_suffix
from handlers.indexing.config import listed_name, source_at
from handlers.score_page import ScorePageRules
from tests.rules import shipped_rules
from tools.labelled import DATA

PUBLIC = Path("config/sources/public")
_DOMAIN = re.compile(r"(?:[a-z0-9-]{1,63}\.)++[a-z0-9-]{2,63}")
_VALUES = ("category", "rating", "medium")
_WEAKEST = "mixed"  # a domain that is also in another group is left to that one


def main() -> None:
    """Writes the domains below the head of each file."""
    for path in sorted(PUBLIC.glob("*.txt")):
        head = path.read_text("utf-8").partition("\n---\n")[0]
        with (DATA / "source_lists" / f"{path.stem}.csv").open(encoding="utf-8") as rows:
            path.write_text(f"{head}\n---\n{grouped([*yaml.safe_load(head)['values']], csv.DictReader(rows))}", "utf-8")


def grouped(values: Sequence[str], rows: Iterable[Mapping[str, str]]) -> str:
    """The domains of a list by what it says of them, in alphabetical order; only these values are used.

    >>> rows = [{"domain": "www.b.example"}, {"domain": "a.example", "name": "The A"}, {"domain": "uk"}]
    >>> grouped(["publisher"], rows)
    '=publisher\\na.example\\tThe A\\nb.example\\n'
    """
    groups: dict[str, dict[str, str]] = {}
    for row in rows:
        said = next((row[column] for column in _VALUES if column in row), values[0])
        domain = listed_name(row["domain"]).removeprefix("www.")
        if said in values and _DOMAIN.fullmatch(domain) and not is_public_suffix(domain):
            groups.setdefault(said, {})[domain] = " ".join(row.get("name", "").split())
    rules = replace(shipped_rules(ScorePageRules).compiled.sources, own={}, listed={}, public=())
    lines, seen = [], set[str]()
    for said, domains in sorted(groups.items(), key=lambda group: group[0] == _WEAKEST):
        lines += [
            f"={said}",
            *(
                "\t".join(filter(None, item))
                for item in sorted(domains.items())
                if item[0] not in seen and source_at(f"https://{item[0]}/", None, "", rules).entry is None
            ),
        ]
        seen |= domains.keys()
    return "\n".join(lines) + "\n"


if __name__ == "__main__":
    main()
