"""The prompts of analyst, critic and writer: each is shown the sources that its role may see, under their labels.

In: a query, sources, and what the role before found. Out: messages, or a question for a model. Labels are all that a
role learns of trust; what another role wrote stands in a block like a page's text, for it was made of pages' texts.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass
from typing import Any, Literal

from handlers.prompts.model_tasks import ModelTasks
from handlers.prompts.template import Block, Prompts, cleaned, render
from handlers.reasoning.context import Source, language_of, one_line, shown_to, source_blocks
from handlers.reasoning.replies import FINDINGS_SCHEMA, SENTENCES_SCHEMA, VERDICTS_SCHEMA, Verdict
from handlers.reasoning.sections import ReasoningSection, RoleSection
from handlers.trust.forgery import fit_to_show
from schemas.needs import AskModel, Message

Role = Literal["analyst", "critic", "writer"]
ROLES: tuple[Role, ...] = ("analyst", "critic", "writer")
"""In the order in which they speak; each is also the name of its task and of its template."""
_SCHEMAS: Mapping[Role, Mapping[str, Any]] = {
    "analyst": FINDINGS_SCHEMA,
    "critic": VERDICTS_SCHEMA,
    "writer": SENTENCES_SCHEMA,
}
_NO_FINDINGS = "(none; go by the sources)"


@dataclass(frozen=True, slots=True)
class Finding:
    """What the analyst found, and what the critic says of it.

    Attributes:
        text: The finding.
        sources: Numbers of the sources that say it.
        verdict: None where no critic has judged.
        because: Why.
    """

    text: str
    sources: tuple[int, ...]
    verdict: Verdict | None = None
    because: str = ""


def seen_by(role: Role, sources: Sequence[Source], section: ReasoningSection) -> tuple[Source, ...]:
    """The sources that a role is shown (R-254, R-258)."""
    sections: Mapping[Role, RoleSection] = {
        "analyst": section.analyst,
        "critic": section.critic,
        "writer": section.writer,
    }
    return shown_to(sections[role], sources)


def role_messages(
    role: Role,
    query: str,
    sources: Sequence[Source],
    findings: Sequence[Finding],
    section: ReasoningSection,
    prompts: Prompts,
) -> tuple[Message, ...]:
    """A role's prompt.

    Args:
        role: Whose.
        query: What is to be answered.
        sources: All of them, as ``order_sources`` has them.
        findings: Of the role before; the analyst has no use for them.
        section: What each role is shown.
        prompts: The templates.
    """
    seen = seen_by(role, sources, section)
    untrusted: dict[str, str | Sequence[Block]] = {
        "query": fit_to_show(query),
        "sources": [*source_blocks(seen, language_of(query, section), section)],
    }
    if role != "analyst":
        # Cut before they are cleaned, for what a cut ends may read like a label.
        untrusted["findings"] = fit_to_show(cleaned(_listed(findings, seen)))
    return render(prompts[role], {}, untrusted)


def ask_role(
    role: Role,
    query: str,
    sources: Sequence[Source],
    findings: Sequence[Finding],
    section: ReasoningSection,
    prompts: Prompts,
    tasks: ModelTasks,
    ignored: Sequence[str] = (),
    try_number: int = 1,
) -> AskModel:
    """A role's question for a model.

    Args:
        role: Whose.
        query: What is to be answered.
        sources: All of them.
        findings: Of the role before.
        section: What each role is shown.
        prompts: The templates.
        tasks: How each role is put to a model.
        ignored: Words that say nothing of a subject, for the offline judge.
        try_number: From 1.
    """
    seen = seen_by(role, sources, section)
    facts = {
        "query": query,
        "ignored": list(ignored),
        "sources": [
            {
                "number": source.number,
                "label": source.label,
                "title": one_line(source.title),
                "passage": fit_to_show(source.passage),
            }
            for source in seen
        ],
        "findings": [asdict(finding) for finding in findings],
        "max_characters": section.answer.max_characters,
        "quotes": section.answer.quotes.model_dump(),
    }
    messages = role_messages(role, query, sources, findings, section, prompts)
    task = tasks[role]
    return AskModel(
        role,
        prompts[role].version,
        messages,
        facts,
        task.max_tokens,
        task.temperature,
        schema=_SCHEMAS[role],
        try_number=try_number,
    )


def _listed(findings: Sequence[Finding], seen: Sequence[Source]) -> str:
    """Numbered, with who says it and what was said of it."""
    labels = {source.number: source.label for source in seen}
    lines = []
    for number, finding in enumerate(findings, 1):
        by = [source for source in finding.sources if source in labels]
        only_low = "; only LOW sources" if all(labels[source] == "LOW" for source in by) else ""
        verdict = f" {finding.verdict}: {finding.because}" if finding.verdict else ""
        lines.append(f"{number}. {finding.text} (sources {', '.join(map(str, by))}{only_low}){verdict}")
    return "\n".join(lines) or _NO_FINDINGS
