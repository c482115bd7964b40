"""``python -m tools.training``: grows the trees for result types on all labelled pages, and writes them.

``python -m tools.accuracy --only results`` measures what trees find that saw no page of the same site.
"""

from tests.rules import TREES
from tools import labelled
from tools.training.cases import read_cases, section
from tools.training.trees import write

ABOUT = (
    "Gradient-boosted trees over counts and shares of labelled public pages; no text or address of a page is kept. "
    "Grown by `python -m tools.training` on {sets}. Labels: wcxb (Murrough Foley, WCXB 2026, CC-BY-4.0), Formasaurus "
    "and autopager (TeamHG-Memex, MIT), GerapyAutoExtractor and magic-html (Apache-2.0), htmldate and Trafilatura, "
    "fundus, postlight, readability, product-extraction-benchmark (Apache-2.0 or MIT)."
)


if cases := list(read_cases()):
    write(TREES, ABOUT.format(sets=", ".join(dict.fromkeys(case.set for case in cases))), section(cases))
else:
    labelled.skipped()
