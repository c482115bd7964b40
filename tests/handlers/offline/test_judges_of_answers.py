"""The offline roles of an answer: the quotes that the handler has chosen, and a critic that compares them."""

from __future__ import annotations

import json

from handlers.offline.judges import analyst, critic, writer
from handlers.reasoning.replies import read_verdicts

QUOTES = [{"text": "Rain fell all day.", "sources": [1]}]


def test_critic_supports_only_literal_findings() -> None:
    findings = [{"text": "Rain fell all day.", "sources": [1]}, {"text": "Snow fell.", "sources": [1, 2]}]
    sources = [{"number": 1, "passage": "Rain fell\nall day."}, {"number": 2, "passage": "Sun."}]
    read = read_verdicts(critic({"findings": findings, "sources": sources}), 2)
    assert read is not None
    assert [verdict.verdict for verdict in read.verdicts] == ["supported", "unsupported"]


def test_analyst_and_writer_say_the_chosen_sentences() -> None:
    assert json.loads(writer({"quotes": QUOTES})) == {"sentences": QUOTES}
    assert json.loads(analyst({"quotes": QUOTES})) == {"findings": QUOTES}
