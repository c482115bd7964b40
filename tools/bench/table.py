"""The results as tables for people, and in the page of the docs between its two marks."""

from __future__ import annotations

from pathlib import Path
from typing import Any

DOCS = Path(__file__).parent.parent.parent / "docs" / "benchmarks.md"
BEGIN, END = "<!-- figures: written by the harness -->", "<!-- end of figures -->"
Results = dict[str, Any]


def tables(results: Results) -> str:
    """Everything that was measured, as Markdown."""
    machine = results["machine"]
    versions = ", ".join(f"{name} {version}" for name, version in machine["versions"].items())
    parts = [f"{machine['date']}, {machine['cores']} cores, load {machine['load']} at the start; {versions}.\n"]
    if pages := results.get("pages"):
        limit = pages["parse alone"]["per_cpu_second"]
        parts.append(
            "| pages | pages/s of CPU | ms of CPU | pages/s of wall | share of the parse | peak MB |\n"
            "|---|---|---|---|---|---|"
        )
        for name, row in pages.items():
            parts.append(
                f"| {name} | {row['per_cpu_second']:.0f} | {row['cpu_ms']:.2f} | {row['per_wall_second']:.0f} |"
                f" {row['per_cpu_second'] / limit:.2f} | {row['peak_mb']:.0f} |"
            )
    if notes := results.get("small messages"):
        bare = notes["bare loop"]["per_cpu_second"]
        parts.append(
            "\n| messages of 1 KB | messages/s of CPU | µs of CPU | messages/s of wall | share of the bare loop |\n"
            "|---|---|---|---|---|"
        )
        for name, row in notes.items():
            parts.append(
                f"| {name} | {row['per_cpu_second']:.0f} | {row['cpu_ms'] * 1000:.1f} |"
                f" {row['per_wall_second']:.0f} | {row['per_cpu_second'] / bare:.2f} |"
            )
    if scale := results.get("scale"):
        first = scale[0]["cpu_ms"]
        parts.append(
            "\n| pages in one run, exactly once | ms of CPU a page | against the first | peak MB | first third, MB |"
            " last third, MB |\n|---|---|---|---|---|---|"
        )
        for row in scale:
            parts.append(
                f"| {row['records']:,} | {row['cpu_ms']:.2f} | {row['cpu_ms'] / first:.2f} | {row['peak_mb']:.0f} |"
                f" {row['first_third_mb']:.0f} | {row['last_third_mb']:.0f} |"
            )
    if pace := results.get("pace"):
        parts.append(
            f"\nA handler that waits as for a language model, {pace['asks']} asks under a limit of {pace['rate']} a"
            f" second: {pace['share']:.1%} of the permitted rate used, at most {pace['most_in_a_second']} in any"
            " second."
        )
    for name, shares in results.get("profile", {}).items():
        parts.append(f"\n| CPU time by stage, {name} | share |\n|---|---|")
        parts += [f"| {stage} | {share:.1%} |" for stage, share in shares.items()]
    return "\n".join(parts) + "\n"


def write(results: Results) -> None:
    """Replaces the figures in the docs."""
    text = DOCS.read_text("utf-8")
    before, _, rest = text.partition(BEGIN)
    _, _, after = rest.partition(END)
    DOCS.write_text(f"{before}{BEGIN}\n\n{tables(results)}\n{END}{after}", "utf-8")
