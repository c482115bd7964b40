"""Prints the answer to a query: its intent, the stages, and each result with its label and the reasons.

It is as wide as the terminal. Texts of pages are printed without control characters.
"""

from __future__ import annotations

from rich.console import Console
from rich.table import Table
from rich.text import Text

from handlers.html.links import host_of
from schemas.ranking import RankedResult, RankingCompleted, StageName, StageOutcome
from streams.cli.output import printable, text_console

LABEL_STYLE = {"HIGH": "green", "MEDIUM": "yellow", "LOW": "red"}
_SHOWN_CHARACTERS = 300
"""Of a title, an address, or a reason."""


def print_results(answer: RankingCompleted, seconds: float, place: str) -> None:
    """Prints an answer, and the application that gave it; ``place`` is "" for this process."""
    console = text_console()
    console.print(_head(answer))
    if answer.results:
        console.print()
        if answer.nothing_relevant:
            console.print(
                Text("Nothing relevant found. The results below have few or none of the query's words.\n", style="bold")
            )
        console.print(_table(answer.results))
        if any(result.reasoning_metadata.label_source == "fallback" for result in answer.results):
            console.print(Text("* the page has no score: by the tier of its source", style="dim"))
    else:
        _advise(console, answer)
    console.print()
    console.print(Text(_summary(answer, seconds, place)))


def _table(results: tuple[RankedResult, ...]) -> Table:
    table = Table.grid(padding=(0, 2, 0, 0))
    table.add_column(justify="right", no_wrap=True)
    table.add_column(no_wrap=True)
    table.add_column(ratio=1, overflow="fold")
    table.add_column(justify="right", no_wrap=True)
    for result in results:
        fallback = result.reasoning_metadata.label_source == "fallback"
        label = Text(result.trust_label + "*" * fallback, style=LABEL_STYLE[result.trust_label])
        score = Text(f"{result.score:.2f}")
        table.add_row(Text(str(result.rank)), label, _result(result), score)
    return table


def _result(result: RankedResult) -> Text:
    cts = "no CTS" if result.cts_score is None else f"CTS {result.cts_score}"
    facts = (host_of(result.url) or "", result.date or "", cts)
    lines = [
        (_cut(result.title) or "(no title)", "bold"),
        (", ".join(_cut(fact) for fact in facts if fact), "dim"),
        ("; ".join(_cut(reason) for reason in result.reasons), ""),
        (_cut(result.url), "dim"),
    ]
    return Text("\n").join([Text(text, style=style) for text, style in lines if text])


def _head(answer: RankingCompleted) -> Table:
    table = Table.grid(padding=(0, 3, 0, 0))
    table.add_column(style="dim", no_wrap=True)
    table.add_column(ratio=1)
    intent, ran = answer.intent, " > ".join(answer.stages) or "none"
    table.add_row("intent", Text.assemble((str(intent.intent), "bold"), f": {_cut(intent.reason)}"))
    table.add_row("stages", Text(ran, style="bold"))
    for note in answer.notes:
        if note.outcome is StageOutcome.RAN and not note.reason:
            continue
        did = "" if note.outcome is StageOutcome.RAN else f" {note.outcome}"
        because = f": {_cut(note.reason)}" if note.reason else ""
        style = "red" if note.outcome is StageOutcome.FAILED else "dim"
        table.add_row("", Text(f"{note.stage}{did}{because}", style=style))
    return table


def _advise(console: Console, answer: RankingCompleted) -> None:
    retrieved = [note for note in answer.notes if note.stage is StageName.RETRIEVAL]
    searched = any(note.outcome is StageOutcome.RAN for note in retrieved)
    console.print()
    console.print(Text("no results", style="bold"))
    if searched:
        console.print(
            "Is the index filled (`assay run` indexes pages as they come, `assay doctor` says what is in it)? "
            "Where it is, filters such as --tier or --since may be too narrow."
        )
    else:
        console.print("None of the candidates fits; are filters such as --tier or --since too narrow?")


def _summary(answer: RankingCompleted, seconds: float, place: str) -> str:
    count = len(answer.results)
    parts = [f"{count} result{'' if count == 1 else 's'} in {seconds:.2f} s"]
    if place:
        parts.append(f"answered by {printable(place)}")
    if (call := answer.llm) is not None:
        who = "the offline judge" if call.judged_by == "offline" else printable(call.model)
        cost = "cost unknown" if call.cost_usd is None else f"${call.cost_usd:.4f}"
        if any(note.stage is StageName.RANKING and note.outcome is StageOutcome.FAILED for note in answer.notes):
            parts.append(f"{who} failed and changed no order, {cost}")
        else:
            parts.append(f"judged by {who}, {cost}" + (", from the journal" if call.cached else ""))
    else:
        parts.append("no judge asked")
    return "; ".join(parts)


def _cut(text: str) -> str:
    text = " ".join(printable(text, keep="\n").split())
    return text if len(text) <= _SHOWN_CHARACTERS else text[: _SHOWN_CHARACTERS - 1] + "…"
