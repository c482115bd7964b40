"""Links of the documentation and the files that it names exist."""

import re
from pathlib import Path

from tests.samples import ROOT

PAGES = sorted([*ROOT.glob("*.md"), *(ROOT / "docs").rglob("*.md")])
CODE = ("config", "handlers", "schemas", "streams", "tests", "tools")
_LINK = re.compile(r"\]\(([^)#\s]*)(#[^)\s]+)?\)")
_FENCE = re.compile(r"^```.*?^```", re.DOTALL | re.MULTILINE)


def anchors(page: Path) -> set[str]:
    """The anchors of a page's headings, as forges make them."""
    headings = re.findall(r"^#+ (.+)$", _FENCE.sub("", page.read_text("utf-8")), re.MULTILINE)
    return {re.sub(r"[^\w\- ]", "", heading.lower()).strip().replace(" ", "-") for heading in headings}


def test_links_resolve() -> None:
    assert {str(page.relative_to(ROOT)): broken for page in PAGES if (broken := _broken(page))} == {}


def _broken(page: Path) -> list[str]:
    broken = []
    for target, anchor in _LINK.findall(_FENCE.sub("", page.read_text("utf-8"))):
        if "://" in target or target.startswith("mailto:"):
            continue
        file = (page.parent / target).resolve() if target else page
        found = file.exists() and (not anchor or file.suffix != ".md" or anchor[1:] in anchors(file))
        if not found:
            broken.append(target + anchor)
    return broken


def test_the_tests_that_reliability_names_exist() -> None:
    named = re.findall(r"`([\w/]+/test_\w+\.py|test_\w+\.py)", (ROOT / "docs/reliability.md").read_text("utf-8"))
    assert len(named) > 30
    assert [name for name in named if not _is_test(name)] == []


def _is_test(name: str) -> bool:
    return (ROOT / "tests" / name).is_file() or (ROOT / name).is_file()


def test_requirements_are_listed_and_named_in_code_or_tests() -> None:
    page = (ROOT / "docs/requirements.md").read_text("utf-8")
    rows = dict(re.findall(r"^- (R-\d{3}): .+? ((?:`[\w/.]+`(?:, )?)+)$", page, re.MULTILINE))
    assert [name for names in rows.values() for name in names.split("`")[1::2] if not _is_test(name)] == []
    files = [path for folder in CODE for path in (ROOT / folder).rglob("*") if path.suffix in {".py", ".yaml"}]
    code = "\n".join(path.read_text("utf-8") for path in sorted(files))
    named = set(re.findall(r"\bR-\d{3}\b", code))
    assert named - set(rows) == set()
    for first, last in re.findall(r"\bR-(\d{3}) to R-(\d{3})\b", code):
        named |= {f"R-{number:03}" for number in range(int(first), int(last))}
    assert set(rows) - named == set()


def test_the_comparison_of_the_first_page_is_the_measured_one() -> None:
    first, measured = ((ROOT / name).read_text("utf-8") for name in ("README.md", "docs/comparison.md"))
    rows = [line for line in measured[: measured.index("<!-- end of figures")].splitlines() if line.startswith("|")]
    assert len(rows) == 8
    assert "\n".join(rows) in first
