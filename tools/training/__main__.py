"""``python -m tools.training``: grows the trees for result types on all labelled pages, and writes them.

``python -m tools.accuracy --only results`` measures what trees find that saw no page of the same site.
"""

from tests.rules import TREES
from tools import labelled
from tools.training.cases import read_cases, section
from tools.training.trees import write

if __name__ == "__main__":
    if cases := list(read_cases()):
        about = labelled.about("result types", sets=", ".join(dict.fromkeys(case.set for case in cases)))
        write(TREES, about, section(cases))
    else:
        labelled.skipped()
