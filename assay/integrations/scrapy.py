"""Item pipelines for Scrapy: score each page in the crawler's process, or publish it for the workers.

An item needs ``url``, and ``html`` (text or bytes) or ``text``.
"""

from __future__ import annotations

import asyncio
from contextlib import AsyncExitStack
from typing import Any

from itemadapter import ItemAdapter
from scrapy.exceptions import DropItem

import assay
from assay.integrations import BELOW, crawled
from assay.results import Score


def _fields(item: Any) -> dict[str, Any]:
    adapter = ItemAdapter(item)
    return {name: adapter[name] for name in ("url", "html", "text", "content_type") if adapter.get(name) is not None}


class ScorePipeline:
    """Adds a field to each item: ``assay``, a dictionary with score, label, reasons, date, authors, text and Markdown.

    An item whose type has no such field becomes a dictionary. An item that cannot be scored keeps its place: ``assay``
    then has ``refused`` and ``reasons``. Only the setting ``ASSAY_LEAST_LABEL`` drops items: those below that label.
    Pages are read in child processes with limits.
    """

    def __init__(self, least_label: str) -> None:
        """Takes HIGH, MEDIUM or LOW; raises KeyError for another word."""
        self._below = BELOW[least_label]
        self._scorer = assay.aio.Scorer()
        self._open = AsyncExitStack()
        self._opening = asyncio.Lock()
        self._is_open = False

    @classmethod
    def from_crawler(cls, crawler: Any) -> ScorePipeline:
        """The pipeline with the settings of a crawler."""
        return cls(crawler.settings.get("ASSAY_LEAST_LABEL", "LOW"))

    async def process_item(self, item: Any) -> Any:
        """The item with its score."""
        async with self._opening:
            if not self._is_open:
                await self._open.enter_async_context(self._scorer)
                self._is_open = True
        result = await self._scorer.score(crawled(_fields(item)))
        if isinstance(result, Score) and result.trust_label in self._below:
            raise DropItem(f"the label is {result.trust_label}: {result.reasons[0]}")
        try:
            ItemAdapter(item)["assay"] = result.to_dict()
        except KeyError:  # a declared type without this field
            return ItemAdapter(item).asdict() | {"assay": result.to_dict()}
        return item

    async def close_spider(self) -> None:
        """Ends the child processes."""
        await self._open.aclose()


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

        try:
            page = CrawledPage.model_validate(crawled(_fields(item)))
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
