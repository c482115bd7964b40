"""``make test-mutants``: changes the most important modules in small ways, and counts how many changes the tests find.

mutmut makes the mutants and runs the tests that reach each of them. ``[tool.mutmut]`` in ``pyproject.toml`` names the
modules and the tests; only tests that need no broker are named there. This module draws a seeded sample, limits the
time, and writes ``docs/mutants.md`` with the mutants that no test found. ``tools/mutants.yaml`` groups them.
"""

from __future__ import annotations

import argparse
import os
import random
import resource
import shutil
import signal
import subprocess
import sys
from collections import Counter, defaultdict
from collections.abc import Mapping, Sequence
from pathlib import Path

import yaml
from mutmut.configuration import config
from mutmut.mutation.data import SourceFileMutationData
from mutmut.mutation.diff_apply import get_diff_for_mutant
from mutmut.mutation.file_mutation import mutate_file_contents
from mutmut.stats import status_by_exit_code
from mutmut.utils.format_utils import get_mutant_name, orig_function_and_class_names_from_key

LEAST_KILLED = 0.9
"""Share of the sample that the tests must find."""
FOUND = ("killed", "timeout", "segfault", "suspicious")
"""mutmut's verdicts on a mutant with which the tests do not pass."""
NOT_RUN = ("not checked", "skipped", "no tests")
TEXT = "Text only"
UNEXPLAINED = "Not explained"
EXPLANATIONS = Path(__file__).with_suffix(".yaml")
_WORK = Path("mutants")


def main() -> int:
    """Returns 0 if the tests found enough of the sample."""
    parser = argparse.ArgumentParser(prog="make test-mutants", description="Mutants of the most important modules.")
    parser.add_argument("--sample", type=int, default=1000)
    parser.add_argument("--seed", type=int, default=17)
    parser.add_argument("--minutes", type=float, default=60, help="Mutants that are left then are not run.")
    parser.add_argument("--workers", type=int, default=1)
    parser.add_argument("--report", type=Path, default=Path("docs/mutants.md"))
    options = parser.parse_args()
    os.nice(10)
    modules = all_mutants()
    names = [name for of_module in modules.values() for name in of_module]
    chosen = sorted(random.Random(options.seed).sample(names, min(options.sample, len(names))))
    run(chosen, options.workers, options.minutes * 60)
    used = resource.getrusage(resource.RUSAGE_CHILDREN)
    verdicts = verdicts_of(modules, chosen)
    checked = [verdict for verdict in verdicts.values() if verdict not in NOT_RUN]
    if not checked:
        print("no mutant was run: see the lines of mutmut above; do the tests pass without a mutant?", file=sys.stderr)
        return 2
    found = sum(verdict in FOUND for verdict in verdicts.values())
    share = found / len(chosen)
    figures = (
        f"Seed {options.seed}: {len(chosen)} of {len(names)} mutants, of which the tests found {found} ({share:.1%}; "
        f"{checked.count('timeout')} by a timeout) in {round(used.ru_utime + used.ru_stime)} s of CPU time."
    )
    options.report.write_text(report(figures, modules, verdicts), "utf-8")
    print(figures)
    return 0 if share >= LEAST_KILLED else 1


def all_mutants() -> dict[str, list[str]]:
    """The names of all mutants of each listed module."""
    return {
        module: [
            get_mutant_name(Path(module), name)
            for name in mutate_file_contents(module, Path(module).read_text("utf-8")).mutant_names
        ]
        for module in config().only_mutate
    }


def run(names: Sequence[str], workers: int, seconds: float) -> None:
    """Runs mutmut on these mutants in a fresh copy; interrupts it when the time is up."""
    shutil.rmtree(_WORK, ignore_errors=True)
    mutmut = Path(sys.executable).with_name("mutmut")
    process = subprocess.Popen([mutmut, "run", "--max-children", str(workers), *names])
    try:
        process.wait(seconds)
    except subprocess.TimeoutExpired:
        process.send_signal(signal.SIGINT)
        process.wait()


def verdicts_of(modules: Mapping[str, Sequence[str]], chosen: Sequence[str]) -> dict[str, str]:
    """The verdict of mutmut on each of the chosen mutants."""
    codes: dict[str, int | None] = {}
    for module in modules:
        data = SourceFileMutationData(path=module)
        data.load()
        codes |= data.exit_code_by_key
    return {name: status_by_exit_code[codes.get(name)] for name in chosen}


def report(figures: str, modules: Mapping[str, Sequence[str]], verdicts: Mapping[str, str]) -> str:
    """The page with the figures of each module, and the survivors by group."""
    rows = []
    for module, names in modules.items():
        counted = Counter(verdicts[name] in FOUND for name in names if name in verdicts)
        rows.append(f"| `{module}` | {len(names)} | {counted.total()} | {counted[True]} | {counted[False]} |")
    why = {group: str(entry["why"]) for group, entry in explanations().items()}
    groups: dict[str, list[str]] = defaultdict(list)
    for module, names in modules.items():
        for name in names:
            if (verdict := verdicts.get(name, "killed")) not in FOUND:
                was, becomes = change(get_diff_for_mutant(name, path=module))
                where = f"`{place(name)}`" + ("" if verdict == "survived" else f" ({verdict})")
                group = group_of(was, becomes, f"{place(name)}: {becomes}")
                groups[group].append(f"- {where}: {code(was)} became {code(becomes)}")
    sections = [
        f"## {group} ({len(groups[group])})\n\n{why[group]}\n\n" + "\n".join(groups[group])
        for group in why
        if groups[group]
    ]
    table = "\n".join(["| module | mutants | sampled | found | not found |", "|---|---|---|---|---|", *rows])
    return "\n\n".join([_HEAD, figures, table, *sections]) + "\n"


def explanations() -> dict[str, dict[str, object]]:
    """The groups of ``tools/mutants.yaml``: why their mutants survive, and which these are."""
    groups: dict[str, dict[str, object]] = yaml.safe_load(EXPLANATIONS.read_text("utf-8"))
    return groups


def place(name: str) -> str:
    """The function of a mutant.

    >>> place("streams.pipeline.window.xǁWindowǁadmit__mutmut_3"), place("handlers.trust.score.x__count__mutmut_1")
    ('streams.pipeline.window.Window.admit', 'handlers.trust.score._count')
    """
    function, of_class = orig_function_and_class_names_from_key(name)
    module = name.rpartition(".")[0]
    return ".".join(part for part in (module, of_class, function) if part)


def change(diff: str) -> tuple[str, str]:
    """The line that a mutant replaces, and what it becomes; "" if the mutant removes the line."""
    lines = [line for line in diff.splitlines() if not line.startswith(("---", "+++"))]
    was, becomes = (" ".join(line[1:].strip() for line in lines if line.startswith(sign)) for sign in "-+")
    return was, becomes


def group_of(was: str, becomes: str, line: str) -> str:
    """The group of a survivor: that of the explanations, or text if only letters of a text differ."""
    for group, entry in explanations().items():
        listed = entry.get("mutants")
        if isinstance(listed, list) and line in listed:
            return group
    same = was.casefold() == becomes.replace("XX", "").casefold()
    return TEXT if same else UNEXPLAINED


def code(text: str) -> str:
    """A text as code in Markdown, also if it contains back quotes."""
    return f"`` {text} ``" if "`" in text else f"`{text}`"


_HEAD = """\
# Mutants

`make test-mutants` writes this page. It changes the modules below in small ways (another comparison, another number, an
argument left out) and runs the tests that need no broker on each mutant. A mutant that the tests do not find is a
behaviour that no test states. `[tool.mutmut]` in `pyproject.toml` lists the modules and the tests; `tools/mutants.yaml`
explains the survivors. To look at one module: `.venv/bin/mutmut run 'streams.pipeline.window.*'`, then
`.venv/bin/mutmut results` and `.venv/bin/mutmut show NAME`."""

if __name__ == "__main__":
    sys.exit(main())
