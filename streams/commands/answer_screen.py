"""An answer for people and for programs: sentences with citations, and below them the sources with their labels."""

from __future__ import annotations

import json
from typing import Any

from rich.console import Console
from rich.text import Text

from handlers.reasoning.answer import Answer, AnswerOutcome, Sentence
from handlers.reasoning.context import Source, one_line, source_line
from schemas.llm import LlmCall
from schemas.ranking import RankingCompleted, StageName, StageOutcome
from streams.commands.query_screen import LABEL_STYLE, printable
from streams.commands.tables import text_console

_URL_CHARACTERS = 500
_NAME_A_MODEL = (
    "Name a model with ASSAY_LLM__BASE_URL (and ASSAY_LLM__API_KEY) and ASSAY_LLM__MODEL to have it written."
)


def print_answer(ranked: RankingCompleted, answer: Answer, *, offline: bool) -> None:
    """Prints an answer.

    Args:
        ranked: What the sources come from.
        answer: The answer, or why there is none.
        offline: Whether no model is configured, so that it is worth saying how one is.
    """
    console = text_console()
    if answer.outcome is AnswerOutcome.NO_SOURCES:
        console.print(Text(f"No answer: nothing was found{_why(ranked)}."))
        console.print(Text("Are filters such as --tier or --since too narrow? `assay doctor` says what the index has."))
        return
    if answer.outcome is AnswerOutcome.NOT_ANSWERED:
        count = len(answer.sources)
        read = f"{count} source{'s were' if count > 1 else ' was'} read"
        # Who was not asked properly can't say that there is none.
        none = "none is quoted as an answer; what went wrong stands below" if answer.left_out else "none holds one"
        console.print(Text(f"No answer: {read} and {none}."))
        console.print(Text("`assay query` with the same words shows them."))
    for sentence in answer.sentences:
        console.print(Text(printable(_cited(sentence))))
    cited = cited_sources(answer)
    if cited:
        console.print()
        for source in cited:
            console.print(_source(source, answer, console))
    console.print()
    console.print(Text(_made_by(ranked, answer), style="dim"))
    if offline and answer.written_by == "offline":
        console.print(Text(_NAME_A_MODEL, style="dim"))
    for left_out in answer.left_out:
        console.print(Text(f"Left out: {printable(left_out)}.", style="dim"))


def print_json(ranked: RankingCompleted, answer: Answer) -> None:
    """Prints the same as one JSON object."""
    print(json.dumps(document_of(ranked, answer), ensure_ascii=False))


def document_of(ranked: RankingCompleted, answer: Answer) -> dict[str, Any]:
    """The answer as JSON values."""
    cited = {source.number for source in cited_sources(answer)}
    return {
        "request_id": ranked.request_id,
        "query": ranked.query,
        "outcome": str(answer.outcome),
        "written_by": answer.written_by,
        "answer": "\n".join(map(_cited, answer.sentences)),
        "sentences": [
            {"text": one.text, "sources": list(one.sources), "cautioned": one.cautioned} for one in answer.sentences
        ],
        "sources": [
            {
                "number": source.number,
                "cited": source.number in cited,
                "trust_label": source.label,
                "line": source_line(source, answer.language),
                "title": one_line(source.title),
                "url": source.url,
                "date": source.date,
            }
            for source in answer.sources
        ],
        "left_out": list(answer.left_out),
        "cost_usd": _cost(_calls(ranked, answer)),
        # Without what was replied word for word: whatever is not in its role's protocol is shown nowhere.
        "calls": [{**call.to_wire(), "raw": None} for call in answer.calls],
        "stages": [str(stage) for stage in ranked.stages],
        "config_version": ranked.config_version,
    }


def cited_sources(answer: Answer) -> tuple[Source, ...]:
    """Those that a sentence cites, the most trusted first."""
    cited = {number for sentence in answer.sentences for number in sentence.sources}
    return tuple(source for source in answer.sources if source.number in cited)


def _cited(sentence: Sentence) -> str:
    return f"{sentence.text} {''.join(f'[{number}]' for number in sentence.sources)}"


def _source(source: Source, answer: Answer, console: Console) -> Text:
    """``[1] [TRUST_TIER: HIGH] 來源：中央社 — title — url``; further lines begin below its label."""
    line = source_line(source, answer.language)
    label, _, name = line.partition("] ")
    # Square brackets are ours; in an address they have a code.
    url = " ".join(source.url[:_URL_CHARACTERS].split()).replace("[", "%5B").replace("]", "%5D")
    rest = [one_line(source.title), url]
    number = f"[{source.number}] "
    text = Text.assemble(
        (f"{label}]", LABEL_STYLE[source.label]), printable(f" {' — '.join([name, *filter(None, rest)])}")
    )
    lines = text.wrap(console, max(1, console.width - len(number)))
    for one in lines:
        one.rstrip()
    return Text(number).append_text(Text("\n" + " " * len(number)).join(lines))


def _made_by(ranked: RankingCompleted, answer: Answer) -> str:
    calls = _calls(ranked, answer)
    if answer.written_by == "offline":
        who = "Made by the offline judge and not by a model: sentences of the sources, as they stand there"
    else:
        models = sorted({call.model for call in answer.calls if call.judged_by == "model"})
        did = "Written by" if answer.written_by else "Asked was"
        who = f"{did} {printable(', '.join(models))}" if models else "No model was asked"
    cost = _cost(calls)
    tokens = sum(call.prompt_tokens + call.completion_tokens for call in calls)
    return f"{who}. {len(calls)} calls, {tokens} tokens, {'cost unknown' if cost is None else f'${cost:.4f}'}."


def _calls(ranked: RankingCompleted, answer: Answer) -> tuple[LlmCall, ...]:
    return answer.calls if ranked.llm is None else (ranked.llm, *answer.calls)


def _cost(calls: tuple[LlmCall, ...]) -> float | None:
    """What all calls cost; None where that of one is not known."""
    costs = [call.cost_usd for call in calls]
    return None if None in costs else sum(cost for cost in costs if cost is not None)


def _why(ranked: RankingCompleted) -> str:
    """What retrieval says of it, where it went wrong."""
    failed = (
        note for note in ranked.notes if note.stage is StageName.RETRIEVAL and note.outcome is StageOutcome.FAILED
    )
    note = next(failed, None)
    return f" ({printable(note.because)})" if note is not None and note.because else ""
