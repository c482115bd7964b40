"""Schema.org types on small documents that name them in JSON-LD, in microdata or not at all. (Assay reads no RDFa.)

An example is labelled with the types that it illustrates. Those need not be what the document as a whole is (a map in
a museum, an offer on a product page), so there are two tallies: right by the label, and right by the label or by the
type of an outermost item, as a plain reading of the markup has it.
"""

from __future__ import annotations

import json
import re
from collections.abc import Iterator
from typing import Any

from selectolax.lexbor import LexborHTMLParser

from tools import labelled
from tools.accuracy import plan_rules
from tools.accuracy.contestants import ASSAY, PLAN, ask_assay
from tools.accuracy.counting import Miss, Tally
from tools.accuracy.labels import SCHEMA_SET

FORMS = {"html_jsonld": "JSON-LD", "html_microdata": "microdata"}
_URL = "https://case.invalid/"


def types() -> tuple[Tally, Tally, int, int]:
    """Both tallies over forms that name a labelled type; documents without markup, and how many still got a type."""
    by_label = Tally("schema.org type, one that is labelled", (ASSAY, PLAN))
    by_either = Tally("schema.org type, one that is labelled or that of an outermost item", (ASSAY, PLAN))
    plain = plain_wrong = 0
    for case in labelled.cases(SCHEMA_SET):
        if "types" not in case:
            continue
        for form, title in FORMS.items():
            html = _document(case, form)
            named, outermost = (_json_ld if form == "html_jsonld" else _microdata)(html)
            if allowed := {name for name in case["types"] if name[:1].isupper()} & named:
                place = f"{SCHEMA_SET} {case['id']} {form}"
                said = {ASSAY: ask_assay(html, _URL).schema_type, PLAN: plan_rules.read(html)["schema_type"]}
                _count(by_label, title, place, said, allowed)
                _count(by_either, title, place, said, allowed | outermost)
        plain += 1
        plain_wrong += ask_assay(case["html_plain"], _URL).schema_type is not None
    return by_label, by_either, plain, plain_wrong


def _count(tally: Tally, group: str, place: str, said: dict[str, str | None], allowed: set[str]) -> None:
    for name, answer in said.items():
        tally.add(group, name, is_right=answer in allowed, is_answered=answer is not None)
    if said[ASSAY] not in allowed:
        found_by = tuple(name for name, answer in said.items() if answer in allowed)
        answers = {name: answer or "-" for name, answer in said.items()}
        tally.misses.append(Miss(place, ", ".join(sorted(allowed)), answers, found_by))


def _document(case: dict[str, Any], form: str) -> str:
    """The form as a page would have it: some examples are the script's text without the script around it."""
    html = str(case[form] or "")
    if form == "html_jsonld":
        if not case["jsonld_is_example"]:
            return ""
        if "<script" not in html:
            return f'<script type="application/ld+json">{html}</script>'
    return html


def _json_ld(html: str) -> tuple[set[str], set[str]]:
    """The types that the scripts name anywhere, and those of their outermost objects."""
    named: set[str] = set()
    outermost: set[str] = set()
    for script in LexborHTMLParser(html).css('script[type="application/ld+json"]'):
        try:
            data = json.loads(script.text(), strict=False)
        except ValueError:
            continue
        named |= {name for item in _objects(data) for name in _types_of(item)}
        for item in data if isinstance(data, list) else [data]:
            graph = item.get("@graph", item) if isinstance(item, dict) else []
            outermost |= {name for node in (graph if isinstance(graph, list) else [graph]) for name in _types_of(node)}
    return named, outermost


def _objects(data: Any) -> Iterator[dict[str, Any]]:
    waiting = [data]
    while waiting:
        value = waiting.pop()
        if isinstance(value, dict):
            yield value
            waiting += value.values()
        elif isinstance(value, list):
            waiting += value


def _types_of(item: Any) -> set[str]:
    types = item.get("@type") if isinstance(item, dict) else None
    return {_local(name) for name in (types if isinstance(types, list) else [types]) if isinstance(name, str)}


def _microdata(html: str) -> tuple[set[str], set[str]]:
    """The types that items name anywhere, and the types of items that are not a property of another item."""
    tree = LexborHTMLParser(html)
    items = [(node.attributes.get("itemtype") or "", "itemprop" in node.attributes) for node in tree.css("[itemtype]")]
    named = {_local(name) for types, _ in items for name in types.split()}
    return named, {_local(name) for types, is_property in items if not is_property for name in types.split()}


def _local(name: str) -> str:
    return re.split(r"[/:#]", name)[-1]
