"""A result of Crawl4AI gets one field, and its Markdown is that of the main text; without a browser."""

from pathlib import Path

from crawl4ai import AsyncWebCrawler, CrawlerRunConfig
from crawl4ai.async_crawler_strategy import AsyncHTTPCrawlerStrategy

from assay.integrations.crawl4ai import AssayMarkdown, judged

HTML = (
    "<title>Storm</title><nav><a href=/>Home</a></nav><p>The storm closed two harbours on Monday, the office said.</p>"
)


async def test_a_result_is_judged_and_has_the_main_text(tmp_path: Path) -> None:
    (tmp_path / "storm.html").write_text(HTML, "utf-8")
    config = CrawlerRunConfig(markdown_generator=AssayMarkdown())
    async with AsyncWebCrawler(crawler_strategy=AsyncHTTPCrawlerStrategy()) as crawler:
        result = await judged(await crawler.arun(f"file://{tmp_path}/storm.html", config=config))
    assert result.metadata["assay"]["refused"] == "bad_address"  # a file has no source
    assert result.markdown.raw_markdown == "# Storm\n\nThe storm closed two harbours on Monday, the office said."
    result.redirected_url = "https://www.bbc.com/news/storm"
    told = (await judged(result)).metadata["assay"]
    assert (told["trust_label"], told["cts_score"]) == ("LOW", 25)
