from schemas.dead import dead_letter_topic
from streams.kafka.topics import plan_topics
from streams.settings.model import load_settings
from streams.topology import DEAD_LETTER_BYTES, HANDLERS, TOPIC_BYTES, TOPICS


def test_plan_has_event_retry_and_dead_letter_topics() -> None:
    settings = load_settings(kafka={"topic_prefix": "blue.", "replication_factor": 3})
    plan = {topic.name: topic for topic in plan_topics(settings.kafka)}
    assert len(plan) == len(TOPICS) + len(HANDLERS) + sum(len(handler.retry_topics) for handler in HANDLERS)
    for topic in TOPICS:
        planned = plan[f"blue.{topic.name}"]
        assert (planned.partitions, planned.replication) == (topic.partitions, 3)
        assert planned.config["max.message.bytes"] == str(TOPIC_BYTES)
        kept = ("compact", "-1") if topic.compacted else ("delete", str(7 * 86_400_000))
        assert (planned.config["cleanup.policy"], planned.config["retention.ms"]) == kept
    for handler in HANDLERS:
        planned = plan[f"blue.{dead_letter_topic(handler.consumes.name, handler.group)}"]
        assert planned.partitions == handler.consumes.partitions
        assert planned.config["max.message.bytes"] == str(DEAD_LETTER_BYTES)
        assert planned.config["retention.ms"] == str(30 * 86_400_000)
        for tier in handler.retry_topics:
            assert plan[f"blue.{tier.topic}"].config["max.message.bytes"] == str(DEAD_LETTER_BYTES)
    assert {t.config["compression.type"] for t in plan.values()} == {"producer"}
    assert [t.name for t in plan.values() if t.config["cleanup.policy"] != "delete"] == ["blue.replays.v1"]
