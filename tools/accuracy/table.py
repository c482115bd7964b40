"""The measurements as Markdown, for the terminal and for the page of the docs between its two marks."""

from __future__ import annotations

from pathlib import Path

from tools.accuracy.contestants import ASSAY
from tools.accuracy.counting import Count, Tally
from tools.accuracy.errors import Errors

DOCS = Path(__file__).parent.parent.parent / "docs" / "accuracy.md"
FIGURES = ("<!-- figures: written by the harness -->", "<!-- end of figures -->")
RESULT_FIGURES = ("<!-- figures of results: written by the harness -->", "<!-- end of figures of results -->")
JUDGED_FIGURES = ("<!-- figures of judges: written by the harness -->", "<!-- end of figures of judges -->")
INJECTION_FIGURES = ("<!-- figures of injections: written by the harness -->", "<!-- end of figures of injections -->")
RANKING_FIGURES = ("<!-- figures of queries: written by the harness -->", "<!-- end of figures of queries -->")


def tally_table(tally: Tally) -> str:
    """Sets down, contestants across: share of the labelled that is right, and precision; then the counts together."""
    who = [name for name in tally.contestants if tally.of(name).labelled]
    lines = [f"### {tally.question[:1].upper()}{tally.question[1:]}", ""]
    lines += [f"| set | labelled | {' | '.join(who)} |", "|---|---:|" + "---|" * len(who)]
    for group in tally.groups():
        cells = [_share_and_precision(tally.of(name, group)) for name in who]
        lines.append(f"| {group} | {max(tally.of(name, group).labelled for name in who)} | {' | '.join(cells)} |")
    return "\n".join(lines) + "\n"


def counts_table(tally: Tally) -> str:
    """Right, wrong and missing of each contestant, all sets together."""
    lines = ["| together | right | wrong | missing | precision | answered where there is nothing | precision overall |"]
    lines.append("|---|---:|---:|---:|---:|---:|---:|")
    for name in tally.contestants:
        if (count := tally.of(name)).labelled:
            overall = (count.unlabelled_answers, _number(count.overall_precision))
            row = (count.right, count.wrong, count.missing, _number(count.precision), *overall)
            lines.append(f"| {name} | {' | '.join(map(str, row))} |")
    return "\n".join(lines) + "\n"


def snippet_table(tally: Tally) -> str:
    """Shares of snippets found; precision has no meaning here."""
    who = [name for name in tally.contestants if tally.of(name).labelled]
    lines = [f"### {tally.question}", "", f"| set | snippets | {' | '.join(who)} |", "|---|---:|" + "---:|" * len(who)]
    for group in (*tally.groups(), *tally.kinds()):
        cells = [_number(tally.of(name, group).share) for name in who]
        lines.append(f"| {group} | {tally.of(who[0], group).labelled} | {' | '.join(cells)} |")
    return "\n".join(lines) + "\n"


def gold_table(gold: dict[str, dict[str, tuple[float, float]]]) -> str:
    """Mean precision and recall of the tokens of whole gold texts."""
    lines = ["### Main text against whole gold texts: mean precision and recall of tokens", ""]
    lines += ["| set | contestant | precision | recall |", "|---|---|---:|---:|"]
    lines += [
        f"| {group} | {name} | {precision:.3f} | {recall:.3f} |"
        for group, means in gold.items()
        for name, (precision, recall) in means.items()
    ]
    return "\n".join(lines) + "\n"


def errors_table(errors: Errors) -> str:
    """How many pages were read, and which were not scored."""
    total = sum(errors.pages.values())
    lines = ["### Exceptions and refusals", ""]
    lines.append(
        f"{total} pages and fragments of {len(errors.pages)} sets were read: {len(errors.raised)} raised, "
        f"{len(errors.refused)} were refused with a reason."
    )
    lines += [f"- {place}: {reason}" for place, reason in [*errors.raised, *errors.refused]]
    return "\n".join(lines) + "\n"


def misses(tally: Tally, most: int) -> str:
    """The first cases that Assay has wrong or missing; cases that another contestant has right come first."""
    found = sum(bool(miss.found_by) for miss in tally.misses)
    lines = [f"\n{tally.question}: {len(tally.misses)} misses of {ASSAY}, {found} of them right elsewhere"]
    for miss in sorted(tally.misses, key=lambda miss: not miss.found_by)[:most]:
        lines.append(f"  {miss.place}" + (f"  (right: {', '.join(miss.found_by)})" if miss.found_by else ""))
        lines.append(f"    {'label':18} {_short(miss.label)}")
        lines += [f"    {name:18} {_short(said)}" for name, said in miss.answers.items()]
    return "\n".join(lines)


def write(text: str, marks: tuple[str, str], path: Path | None = None) -> None:
    """Puts figures into a page of the docs, between two marks; into that of the accuracy where no other is named."""
    begin, end = marks
    path = path or DOCS
    page = path.read_text("utf-8")
    before, after = page[: page.index(begin) + len(begin)], page[page.index(end) :]
    path.write_text(f"{before}\n\n{text.strip()}\n\n{after}", "utf-8")


def _share_and_precision(count: Count) -> str:
    return f"{_number(count.share)} / {_number(count.precision)}"


def _number(value: float | None) -> str:
    return "–" if value is None else f"{value:.3f}"


def _short(text: str) -> str:
    flat = " ".join(text.split())
    return flat if len(flat) <= 110 else flat[:109] + "…"
