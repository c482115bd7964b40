"""Feedback on a real Kafka: queries are served, rated, and trained on."""

import json
import random
from collections.abc import Sequence
from pathlib import Path

import pytest

from handlers.ranking.model import VERSION_PHASE_C, Feature
from schemas.ranking import RankingCompleted
from streams.topology import HANDLERS, RANKING_COMPLETED, RANKING_FEEDBACK, RANKING_REQUESTED
from tests.kafka.installation import Installation, Installing, install, ran

pytestmark = pytest.mark.slow

RANK_RESULTS = next(handler for handler in HANDLERS if handler.name == "rank_results")
SUBJECTS = ("bridges", "ferries", "tunnels", "harbours", "lighthouses", "canals")
RESULTS = 10


def request(number: int, run: str) -> tuple[bytes, bytes]:
    """A query with candidates that all hold as much of it; some, by chance, have an author."""
    chance = random.Random(number)
    subject = f"{SUBJECTS[number % len(SUBJECTS)]} of town {number}"
    candidates = []
    for place in range(RESULTS):
        written = chance.random() < 0.4
        candidates.append(
            {
                "url": f"https://a.example/{number}/{place}{'/signed' if written else ''}",
                "title": f"Page {place} on {subject}",
                "content": f"What there is to say of {subject}, part {chance.randrange(1000)}.",
                "score": chance.random(),
                "author": ["Lin Mei"] if written else [],
            }
        )
    name = f"{run}-{number}"
    event = {"request_id": name, "query": f"What about {subject}?", "candidates": candidates}
    return name.encode(), json.dumps(event).encode()


def feedback(answers: Sequence[RankingCompleted], start: int = 0) -> list[tuple[bytes, bytes]]:
    """What readers of a certain taste do: they stay with what is signed, and leave the rest at once."""
    return [
        (
            answer.request_id.encode(),
            json.dumps(
                {
                    "request_id": answer.request_id,
                    "url": result.url,
                    **({"clicked": True, "dwell_ms": 45_000} if is_signed(result.url) else {"clicked": False}),
                }
            ).encode(),
        )
        for answer in answers[start:]
        for result in answer.results
    ]


def is_signed(url: str) -> bool:
    return url.endswith("/signed")


async def answered(assay: Installation, requests: range, run: str) -> list[RankingCompleted]:
    """The answers to some queries."""
    await assay.feed([request(number, run) for number in requests], topic=RANKING_REQUESTED.name)
    await assay.drain(RANK_RESULTS)
    records = await assay.read(RANKING_COMPLETED.name)
    answers = [RankingCompleted.model_validate_json(record.value) for record in records]
    return sorted((a for a in answers if a.request_id.startswith(f"{run}-")), key=lambda a: a.request_id)


async def train(assay: Installation, out: Path, *options: str) -> tuple[int | None, str, str]:
    """``assay train`` as a user runs it."""
    return await ran(assay.settings, "train", "--output", out, *options, training__least_judged=5)


async def test_feedback_trains_a_model(installing: Installing, kafka: str, topic_prefix: str, tmp_path: Path) -> None:
    assay = await installing((RANK_RESULTS,), [RANKING_FEEDBACK])
    out = tmp_path / "model"
    # Where the topics were never made, and where they are empty.
    for nothing in (Installation(install(kafka, f"{topic_prefix}none.")), assay):
        status, said, told = await train(nothing, out)
        assert (status, said) == (2, ""), told
        assert "there is nothing on" in told
        assert "assay publish" in told
        assert "Traceback" not in told

    served = await answered(assay, range(60), "served")
    assert len(served) == 60
    assert {answer.features_version for answer in served} == {VERSION_PHASE_C}
    assert all(len(result.features or ()) == len(Feature) for answer in served for result in answer.results)
    given = feedback(served)
    await assay.feed(given[:400], topic=RANKING_FEEDBACK.name, transactional=True)
    status, _, told = await train(assay, out)
    assert (status, "100 are missing" in told) == (1, True), told
    assert not out.exists()

    await assay.feed([*given[400:], (b"?", b"no json")], topic=RANKING_FEEDBACK.name)
    status, said, told = await train(assay, out, "--json")
    assert status == 0, told
    assert "left out: " in told
    report = json.loads(said)
    assert (report["labelled"], report["requests"], report["phase"], report["features"]) == (600, 60, "binary", 29)
    assert report["unreadable"] == 1
    assert next(iter(report["importance"])) == "has_author"
    against_served = report["compared"][0]
    assert against_served["order"] == "order as served"
    assert against_served["difference"]["verdict"] == "better"

    status, _, told = await train(assay, out)
    assert (status, "in use" in told) == (2, True)
