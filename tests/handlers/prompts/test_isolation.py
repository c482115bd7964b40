"""In every prompt untrusted text is only in JSON strings, and no string has the form of our label."""

import json
import re
from typing import Any

import pytest
from hypothesis import given, settings

from handlers.prompts import label_forms as names
from handlers.prompts import template, untrusted
from handlers.reasoning import context
from tests.handlers.prompts.attacks import ANY_ATTACK, HONEST, attacks
from tests.handlers.prompts.prompts import TASKS, prompts_of
from tests.rendered import LABEL_LINE, blocks_of, label_forms, problems
from tests.rules import PROMPTS
from tests.tables import tables

TABLES = tables(__file__)

MARK = "zebrafinch"
"""A word that only the untrusted text has."""
ATTACKS = [*attacks()]
SAMPLE = [text for _, text in ATTACKS[:: len(ATTACKS) // 40]] + [text for name, text in ATTACKS[-33:]]
FIELDS = TABLES["fields"]
"""Where a prompt shows the untrusted text."""
LABELLED = {
    "evaluate_retrieval": {"source 1": "LOW", "source 2": "MEDIUM"},
    **{
        task: {"source 1": "HIGH", "source 2": "MEDIUM", "source 3": "LOW"}
        for task in ("analyst", "critic", "writer", "context")
    },
}


def _all(task: str, text: str) -> tuple[str, dict[str, str], dict[str, str]]:
    """The trusted part of a task's prompts, the untrusted texts by field, and the label before each block."""
    parts: list[str] = []
    texts: dict[str, str] = {}
    labels: dict[str, str] = {}
    for prompt in prompts_of(task, text):
        trusted, blocks = blocks_of(prompt)
        parts.append(trusted)
        for block in blocks:
            texts |= {f"{block.name} {field}".strip(): shown for field, shown in block.texts.items()}
            if found := LABEL_LINE.fullmatch(block.before):
                labels[block.name] = found[1]
    return "\n".join(parts), texts, labels


def _problems(task: str, text: str) -> list[str]:
    return [problem for prompt in prompts_of(task, text) for problem in problems(prompt)]


def test_every_prompt_is_tested() -> None:
    assert {path.stem for path in PROMPTS.glob("*.md")} == set(TASKS) - {"context"}


@pytest.mark.parametrize("task", TASKS)
def test_untrusted_text_is_inside_blocks_and_labels_are_outside(task: str) -> None:
    trusted, texts, labels = _all(task, f"{MARK} {MARK}")
    outside = [line for line in trusted.splitlines() if MARK in line]
    assert all(LABEL_LINE.fullmatch(line) for line in outside), outside
    assert {field for field, text in texts.items() if MARK in text} >= FIELDS[task]
    assert labels == LABELLED.get(task, {})


@pytest.mark.parametrize("task", TASKS)
def test_no_attack_has_the_form_of_our_label(task: str) -> None:
    labels = _all(task, MARK)[2]
    for text in SAMPLE:
        assert _problems(task, text) == [], text
        assert _all(task, text)[2] == labels, text


@pytest.mark.parametrize("task", TASKS)
@settings(max_examples=25)
@given(text=ANY_ATTACK)
def test_no_text_leaves_its_block(task: str, text: str) -> None:
    assert _problems(task, f"{MARK} {text}") == []


@pytest.mark.parametrize("task", TASKS)
def test_honest_text_loses_no_word(task: str) -> None:
    for passage in HONEST:
        _, texts, _ = _all(task, passage)
        words = re.findall(r"\w+", passage)
        shown = [text for field, text in texts.items() if re.findall(r"\w+", text)[-len(words) :] == words]
        assert len(shown) >= 1 + ("text" in " ".join(FIELDS[task])), (passage, texts)


def test_no_generated_attack_has_the_form_of_our_label() -> None:
    assert len(ATTACKS) > 5_000
    assert [name for name, text in ATTACKS if [*label_forms(untrusted.sanitize(text))]] == []
    assert sum(any(label_forms(text)) for _, text in ATTACKS) > 0.7 * len(ATTACKS)


class _Unfolded(dict[int, str]):
    def __missing__(self, code: int) -> str:
        return chr(code)


NEVER = re.compile(r"(?!)")
FAULTS: dict[str, tuple[Any, str, Any]] = {
    "texts are not JSON": (untrusted, "_as_json", str),
    "JSON on several lines": (untrusted, "_as_json", lambda content: json.dumps(content, indent=1)),
    "no blocks": (template, "in_blocks", lambda blocks, _: "\n".join(str(block.content) for block in blocks)),
    "square brackets stay": (untrusted, "_ANY_SQUARE", NEVER),
    "only ASCII brackets are replaced": (untrusted, "_ANY_SQUARE", re.compile(r"[\[\]]")),
    "names of labels stay": (names, "_NAME", NEVER),
    "names are compared unfolded": (names, "_FOLDED", _Unfolded()),
    "invisible characters stay": (untrusted, "_INVISIBLE", NEVER),
    "publishers' names are shown as they are": (context, "plain_name", str),
    "the label is in the block": (context, "source_line", lambda *_: ""),
}


@pytest.mark.slow
@pytest.mark.parametrize("fault", FAULTS)
def test_a_seeded_fault_is_found(fault: str, monkeypatch: pytest.MonkeyPatch) -> None:
    texts = [MARK, *SAMPLE]
    assert not any(map(_is_broken, texts))
    place, name, wrong = FAULTS[fault]
    monkeypatch.setattr(place, name, wrong)
    assert any(map(_is_broken, texts))


def _is_broken(text: str) -> bool:
    """Whether a prompt of the writer with this text breaks a rule that the tests above check for every task."""
    if _problems("writer", text):
        return True
    trusted, _, labels = _all("writer", text)
    outside = [line for line in trusted.splitlines() if MARK in line and not LABEL_LINE.fullmatch(line)]
    return bool(outside) or labels != LABELLED["writer"]
