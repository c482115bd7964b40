"""The shipped lists of sources: their size, and their agreement with a list of untrusted domains.

``cred1_domains`` names domains that fact-checking bodies call fake, unreliable, mixed, conspiracy or satire. The
shipped lists were written without it; an entry that it calls untrusted was deleted.
"""

from __future__ import annotations

from collections import Counter
from pathlib import Path

from handlers.indexing.config import source_at
from handlers.score_page import ScorePageRules
from tests.rules import shipped_rules
from tools.labelled import cases, has

SET = "cred1_domains"
PAGE = Path(__file__).parent.parent.parent / "docs" / "sources.md"
LIST_FIGURES = ("<!-- figures of lists: written by the harness -->", "<!-- end of figures of lists -->")
AGREEMENT_FIGURES = ("<!-- figures of agreement: written by the harness -->", "<!-- end of figures of agreement -->")
TRUSTED = "reliable"
_CATEGORIES = {"f": "fake", "c": "conspiracy", "u": "unreliable", "m": "mixed", "s": "satire", "r": TRUSTED}


def lists_table() -> str:
    """The shipped entries by kind."""
    sources = shipped_rules(ScorePageRules).sources
    entries, countries = Counter[str](), dict[str, set[str]]()
    for _, listed_as, country, _ in sources.entries():
        entries[listed_as] += 1
        countries.setdefault(listed_as, set()).add(country)
    lines = ["| kind | tier | tag | entries | countries | reason |", "|---|---:|---|---:|---:|---|"]
    for name, kind in sorted(sources.kinds.items(), key=lambda item: item[1].tier):
        sizes = f"{entries[name]} | {len(countries.get(name, set()) - {'int'})}"
        lines.append(f"| `{name}` | {kind.tier} | {kind.tag or '–'} | {sizes} | {kind.reason} |")
    everywhere = set().union(*countries.values()) - {"int"}
    return "\n".join([*lines, f"| together | | | {entries.total()} | {len(everywhere)} | |"]) + "\n"


def measure() -> str:
    """How the shipped rules see the domains of the set; nothing where the set is not there."""
    if not has(SET):
        return ""
    rules = shipped_rules(ScorePageRules).compiled.sources
    seen, above = Counter[tuple[str, str]](), list[str]()
    for case in cases(SET):
        category = _CATEGORIES.get(case["category"], case["category"])
        sources = [source_at(f"https://{start}{case['domain']}/", None, "", rules) for start in ("", "www.")]
        best = min(sources, key=lambda source: source.tier)
        column = f"tier {best.tier}" if best.tier < 3 else f"tier 3, {'listed' if best.entry else 'not listed'}"
        seen[category, column] += 1
        if best.tier < 3 and category != TRUSTED:
            above.append(case["domain"])
    columns = ("tier 1", "tier 2", "tier 3, listed", "tier 3, not listed")
    lines = [f"| domains that the set calls | domains | {' | '.join(columns)} |", "|---|" + "---:|" * 5]
    for category in dict.fromkeys(_CATEGORIES.values()):
        counts = [seen[category, column] for column in columns]
        lines.append(f"| {category} | {sum(counts)} | {' | '.join(map(str, counts))} |")
    return "\n".join([*lines, "", *(f"- above: {name}" for name in above)])
