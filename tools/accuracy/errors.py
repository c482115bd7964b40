"""Every page of every set through ``score_page``: how many there are, what raised, and what was refused and why."""

from __future__ import annotations

import gzip
from dataclasses import dataclass, field

from tools import labelled
from tools.accuracy.contestants import ask_assay
from tools.accuracy.labels import SCHEMA_SET


@dataclass(slots=True)
class Errors:
    """The results of reading everything: pages by set, and place and reason of each page without a score."""

    pages: dict[str, int] = field(default_factory=dict)
    raised: list[tuple[str, str]] = field(default_factory=list)
    refused: list[tuple[str, str]] = field(default_factory=list)

    def add(self, name: str, place: str, body: bytes | str) -> None:
        """Reads one page."""
        self.pages[name] = self.pages.get(name, 0) + 1
        answer = ask_assay(body, "https://case.invalid/")
        if answer.failed:
            (self.raised if answer.raised else self.refused).append((place, answer.failed))


def read_all() -> Errors:
    """Reads all pages of all sets."""
    errors = Errors()
    for path in sorted(labelled.DATA.glob("*/pages/*")):
        data = path.read_bytes()
        name = path.parent.parent.name
        errors.add(name, f"{name}/pages/{path.name}", gzip.decompress(data) if path.suffix == ".gz" else data)
    if labelled.has(SCHEMA_SET):
        for case in labelled.cases(SCHEMA_SET):
            for form in ("html", "html_plain", "html_jsonld", "html_microdata", "html_rdfa"):
                if case.get(form):
                    errors.add(SCHEMA_SET, f"{SCHEMA_SET} {case['id']} {form}", case[form])
    return errors
