"""Claims and utterances through a real Kafka: every input has its answer, and a model that misbehaves invents none."""

from schemas.claims import ClaimEvaluated, ExtractedClaim, UtteranceIndexed, UtteranceRecorded
from streams.topology import HANDLERS
from tests.kafka.installation import Installing

OURS = tuple(handler for handler in HANDLERS if handler.name in {"decontextualize_claim", "index_utterance"})
EXTRACTED, RECORDED = "claims.extracted.v1", "utterances.recorded.v1"


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
    evaluated = await assay.events(ClaimEvaluated)
    assert {event.claim_id for event in evaluated} == {f"c-{number}" for number in range(10)}
    assert all(event.llm and event.llm.judged_by == "offline" and event.band == "poor" for event in evaluated)
    indexed = await assay.events(UtteranceIndexed)
    assert sorted(event.change for event in indexed) == ["unchanged", *["written"] * 16]
    assert {f"claim:c-{number}" for number in range(10)} < {event.utterance_id for event in indexed}
