"""A bad deploy on a real Kafka: most of its records would become dead letters."""

from schemas.outcome import Outcome
from schemas.pages import CrawledPage
from schemas.rules import Rules
from tests.kafka.installation import DEAD, SCORED, installed, page, scorer, until


def raises(event: CrawledPage, rules: Rules) -> Outcome:
    raise ValueError("a bug of this deploy")


async def test_bad_deploy_pauses_and_the_next_one_does_the_rest(kafka: str, topic_prefix: str) -> None:
    assay = await installed(kafka, topic_prefix, dlq={"max_share": 0.5, "least_records": 20, "pause_seconds": 3600})
    await assay.feed(page(number) for number in range(400))
    async with assay.running(scorer(raises)) as application:
        await until(
            lambda: (
                application.registry.get_sample_value(
                    "assay_dead_letter_pauses_total", {"handler": "score_page", "lane": "live"}
                )
                == 1
            )
        )
    dead = await assay.read(DEAD)
    assert 20 <= len(dead) < 60
    await assay.drain(scorer())
    assert len(await assay.read(SCORED)) == 400 - len(dead)
