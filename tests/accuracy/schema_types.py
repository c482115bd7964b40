"""Schema.org types on small documents that name them in JSON-LD, in microdata or not at all. (Assay reads no RDFa.)"""

from __future__ import annotations

import re

from tests import labelled
from tests.accuracy import plan_rules
from tests.accuracy.contestants import ASSAY, PLAN, ask_assay
from tests.accuracy.counting import Miss, Tally
from tests.accuracy.labels import SCHEMA_SET

FORMS = {"html_jsonld": "JSON-LD", "html_microdata": "microdata"}


def types() -> tuple[Tally, int, int]:
    """The tally over forms that name a type; then plain documents (no markup at all), and how many got a type still.

    An answer is right where it is one of the types that the example is labelled with and that this form names.
    """
    tally = Tally("schema.org type, on forms that name a labelled type", (ASSAY, PLAN))
    plain = plain_wrong = 0
    for case in labelled.cases(SCHEMA_SET):
        if "types" not in case:
            continue
        names = [name for name in case["types"] if name[:1].isupper()]
        for form, title in FORMS.items():
            html = case[form] or ""
            if form == "html_jsonld" and not case["jsonld_is_example"]:
                continue
            if allowed := {name for name in names if _names_type(html, name, form)}:
                said = {
                    ASSAY: ask_assay(html, "https://case.invalid/").schema_type,
                    PLAN: plan_rules.read(html)["schema_type"],
                }
                for name, answer in said.items():
                    tally.add(title, name, is_right=answer in allowed, is_answered=answer is not None)
                if said[ASSAY] not in allowed:
                    place = f"{SCHEMA_SET} {case['id']} {form}"
                    tally.misses.append(Miss(place, ", ".join(sorted(allowed)), {k: v or "-" for k, v in said.items()}))
        plain += 1
        plain_wrong += ask_assay(case["html_plain"], "https://case.invalid/").schema_type is not None
    return tally, plain, plain_wrong


def _names_type(html: str, name: str, form: str) -> bool:
    if form == "html_jsonld":
        prefix = r"(?:https?://schema\.org/|schema:)?"
        return re.search(rf'"@type"\s*:\s*\[?[^\]}}:]*"{prefix}{re.escape(name)}"', html) is not None
    values = re.findall(r"""itemtype\s*=\s*(?:"([^"]*)"|'([^']*)'|([^\s>]+))""", html)
    return name in {re.split(r"[/:#]", word)[-1] for found in values for word in "".join(found).split()}
