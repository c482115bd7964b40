"""Item pipelines for Scrapy: score each page in the crawler's process, or publish it for the workers.

An item needs ``url``, and ``html`` (text or bytes) or ``text``.
"""

from __future__ import annotations

from typing import Any

from itemadapter import ItemAdapter
from scrapy.exceptions import DropItem

import assay
from assay.results import Score

_BELOW = {"HIGH": ("MEDIUM", "LOW"), "MEDIUM": ("LOW",), "LOW": ()}


def _fields(item: Any) -> dict[str, Any]:
    adapter = ItemAdapter(item)
    return {name: adapter[name] for name in ("url", "html", "text", "content_type") if adapter.get(name) is not None}


class ScorePipeline:
    """Adds ``cts_score``, ``tier``, ``trust_label`` and ``trust_reasons`` to each item.

    An item that cannot be scored is dropped with the reason, and so is one below the label of the setting
    ``ASSAY_LEAST_LABEL`` (LOW by default, which drops none).
    """

    def __init__(self, least_label: str) -> None:
        """Takes HIGH, MEDIUM or LOW; raises KeyError for another word."""
        self._below = _BELOW[least_label]

    @classmethod
    def from_crawler(cls, crawler: Any) -> ScorePipeline:
        """The pipeline with the settings of a crawler."""
        return cls(crawler.settings.get("ASSAY_LEAST_LABEL", "LOW"))

    def process_item(self, item: Any) -> Any:
        """The item with its score."""
        fields = _fields(item)
        result = assay.score(fields.pop("html", None), url=fields.pop("url", ""), **fields)
        if not isinstance(result, Score):
            raise DropItem(f"{result.kind}: {'; '.join(result.reasons)}")
        if result.trust_label in self._below:
            raise DropItem(f"the label is {result.trust_label}: {result.reasons[0]}")
        adapter = ItemAdapter(item)
        adapter["cts_score"], adapter["tier"] = result.cts_score, result.tier
        adapter["trust_label"], adapter["trust_reasons"] = result.trust_label, list(result.reasons)
        return item


class PublishPipeline:
    """Writes each page to ``pages.crawled.v1``, where ``score_page`` reads it; needs the extra ``kafka``.

    The cluster is that of Assay's configuration (``ASSAY_KAFKA__BOOTSTRAP_SERVERS``). An item that is not a page is
    dropped with the reason. Scrapy needs its asyncio reactor, which is the default.
    """

    def __init__(self) -> None:
        """Connects with the first item."""
        self._producer: Any = None
        self._prefix = ""

    async def process_item(self, item: Any) -> Any:
        """The item, once its page is on the topic."""
        from pydantic import ValidationError

        from schemas.pages import CrawledPage
        from streams.publish.entries import EntryError, record_of
        from streams.topology import PAGES_CRAWLED
        from streams.topology.codec import refusal

        fields = _fields(item)
        body = fields.pop("html", None)
        fields["content"] = fields.pop("text", None)
        try:
            page = CrawledPage.model_validate(
                fields | ({"html_base64": body} if isinstance(body, bytes) else {"html": body})
            )
            record = record_of(PAGES_CRAWLED, page)
        except ValidationError as error:
            raise DropItem(refusal(error).detail) from None
        except EntryError as error:
            raise DropItem(str(error)) from None
        producer = await self._connected()
        topic, headers = self._prefix + record.topic, list(record.headers)
        await producer.send_and_wait(topic, record.value, key=record.key, headers=headers)
        return item

    async def close_spider(self) -> None:
        """Disconnects."""
        if self._producer is not None:
            await self._producer.stop()

    async def _connected(self) -> Any:
        if self._producer is None:
            from streams.kafka.clients import make_producer
            from streams.settings.model import load_settings

            kafka = load_settings().with_kafka().kafka
            self._prefix = kafka.topic_prefix
            producer = make_producer(kafka, None, "assay-scrapy")
            await producer.start()
            self._producer = producer
        return self._producer
