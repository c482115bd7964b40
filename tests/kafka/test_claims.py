"""Claims and utterances through a real Kafka: every input has its answer, and a model that misbehaves invents none."""

from pathlib import Path
from typing import Any

from schemas.claims import ClaimEvaluated, ClaimStatus, ExtractedClaim, UtteranceIndexed, UtteranceRecorded
from streams.topology import HANDLERS
from tests.kafka.installation import Installing
from tests.streams.llm.model_server import model_server, says

OURS = tuple(handler for handler in HANDLERS if handler.name in {"decontextualize_claim", "index_utterance"})
EXTRACTED, EVALUATED = "claims.extracted.v1", "claims.evaluated.v1"
RECORDED, INDEXED = "utterances.recorded.v1", "utterances.indexed.v1"


def claims(count: int) -> list[tuple[bytes, bytes]]:
    made = [
        ExtractedClaim(claim_id=f"c-{number}", claim_text=f"It opened in {1900 + number}.") for number in range(count)
    ]
    return [(claim.claim_id.encode(), claim.to_json()) for claim in made]


async def test_claims_and_utterances_have_their_answers(installing: Installing) -> None:
    assay = await installing(OURS)
    said = [UtteranceRecorded(utterance_id=f"u-{number}", text=f"Hall {number}.", source_id="s") for number in range(6)]
    await assay.feed([(one.utterance_id.encode(), one.to_json()) for one in (*said, said[0])], RECORDED)
    await assay.feed(claims(10), EXTRACTED)
    for handler in OURS:  # the second indexes what the first records
        await assay.drain(handler)
    evaluated = [ClaimEvaluated.model_validate_json(record.value) for record in await assay.read(EVALUATED)]
    assert {event.claim_id for event in evaluated} == {f"c-{number}" for number in range(10)}
    assert all(event.llm and event.llm.judged_by == "offline" and event.band == "poor" for event in evaluated)
    indexed = [UtteranceIndexed.model_validate_json(record.value) for record in await assay.read(INDEXED)]
    assert sorted(event.change for event in indexed) == ["unchanged", *["written"] * 16]
    assert {f"claim:c-{number}" for number in range(10)} < {event.utterance_id for event in indexed}


async def test_a_model_that_talks_leaves_no_score(installing: Installing, tmp_path: Path) -> None:
    async with model_server(says("0.7 or 0.8")) as server:
        llm: dict[str, Any] = {
            "base_url": server.base_url,
            "model": "judge",
            "cache_path": str(tmp_path / "llm.sqlite"),
        }
        limits = {"default": {"requests_per_minute": 100000, "tokens_per_minute": 100000000}}
        assay = await installing(OURS, llm=llm, models={"limits": limits})
        await assay.feed(claims(4), EXTRACTED)
        await assay.drain(*OURS)
        evaluated = [ClaimEvaluated.model_validate_json(record.value) for record in await assay.read(EVALUATED)]
        assert len(evaluated) == 4
        assert {(event.decontextualization_score, event.status) for event in evaluated} == {
            (None, ClaimStatus.MALFORMED)
        }
        assert len(server.asked) == 12
