"""Good records, and malformed ones that are made from a seed."""

import json
import random
from collections.abc import Callable, Iterator
from dataclasses import dataclass

Headers = list[tuple[str, bytes | None]]
MIB = 1024 * 1024
PAGE = (
    "<!doctype html><html><head><title>Tides in a harbour</title>"
    '<meta property="article:published_time" content="2024-05-06"></head><body><article><h1>Tides</h1>'
    + "<p>The harbour was measured for eleven years, see <a href='https://tides.example/data'>the data</a>.</p>" * 8
    + "<h2>References</h2><ul><li>Harbour board, 2021.</li></ul></article></body></html>"
)


@dataclass(frozen=True, slots=True)
class Input:
    """A record to write; a ``good`` one must be handled, the codec decides on the others."""

    key: bytes | None
    value: bytes | None
    headers: Headers
    good: bool = False


def good_page(number: int) -> Input:
    """A page that every version of Assay scores."""
    url = f"https://harbour.example/{number}"
    if number % 2:
        headers: Headers = [("assay_url", url.encode()), ("content-type", b"text/html; charset=utf-8")]
        return Input(url.encode(), PAGE.encode(), headers, good=True)
    return Input(url.encode(), json.dumps({"url": url, "html": PAGE}).encode(), [], good=True)


def good_batch(number: int) -> Input:
    """A batch of search results that every version of Assay classifies."""
    results = [
        {"url": f"https://harbour.example/{n}", "title": "Tides", "content": "High tide at 4:30."} for n in (1, 2)
    ]
    batch = {"batchId": f"batch-{number}", "query": "high tide", "retrievedContent": results}
    return Input(f"batch-{number}".encode(), json.dumps(batch).encode(), [], good=True)


def malformed(seed: int, count: int, good: Callable[[int], Input]) -> Iterator[Input]:
    """Records that are cut, binary, nested, mistyped or empty, some with strange headers; a seed repeats them."""
    chance = random.Random(seed)
    strange: Headers = [
        ("content-type", b"image/png"), ("assay_url", b"\xff"), ("assay_fetched_at", b"0001-01-01T00:00:00+14:00"),
        ("assay_status", b"9" * 400), ("ce_id", b"\xff" + bytes(9000)), ("x-not-before", b"99999999999999999999"),
        ("nothing", None),
    ]  # fmt: skip
    for number in range(count):
        fine = good(number)
        text = fine.value or b""
        values = [text[: chance.randrange(len(text))], chance.randbytes(300), b"[" * 5000, b"{}", b"null", b"", None]
        value = chance.choice([*values, b'{"status":1e400,' + text[1:]])
        headers = [*(fine.headers if chance.random() < 0.5 else ()), *chance.sample(strange, chance.randrange(4))]
        yield Input(chance.choice([fine.key, chance.randbytes(30)]), value, headers)
