"""Malformed records, made from a seed: cut, nested, mistyped, binary, empty and enormous."""

import json
import random
from base64 import b64encode
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
    """Records of every kind of trouble, most of them made from a good one.

    Args:
        seed: The same seed gives the same records.
        count: How many.
        good: Makes the good record that is spoilt.
    """
    chance = random.Random(seed)
    for number in range(count):
        fine = good(number)
        trouble = chance.choice(_TROUBLE)
        value = trouble(chance, fine.value or b"")
        headers = list(fine.headers) if chance.random() < 0.5 else []
        if chance.random() < 0.4:
            headers = _spoilt(chance, headers)
        key = chance.choice([fine.key, fine.key, chance.randbytes(chance.randrange(40)), None])
        if key is None and value is None:
            key = b"tombstone"  # the client sends no record without both
        yield Input(key, value, headers)


def enormous(number: int) -> Input:
    """Pages beyond what is read: as text, as bytes in JSON, as they are, and one that no topic would take unpacked."""
    url = f"https://harbour.example/enormous/{number}"
    text = (PAGE + "<p>tide </p>" * 40) * (9 * MIB // (len(PAGE) + 480))
    raw: Headers = [("assay_url", url.encode()), ("content-type", b"text/html")]
    kinds: tuple[tuple[bytes, Headers], ...] = (
        (json.dumps({"url": url, "html": text}).encode(), []),
        (json.dumps({"url": url, "html_base64": b64encode(text.encode()[: 8 * MIB + 9]).decode()}).encode(), []),
        (text.encode(), raw),
        (bytes(20 * MIB), raw),
    )
    value, headers = kinds[number % len(kinds)]
    return Input(url.encode(), value, headers)


def _cut(chance: random.Random, value: bytes) -> bytes:
    return value[: chance.randrange(len(value))]


def _noise(chance: random.Random, value: bytes) -> bytes:
    return chance.randbytes(chance.randrange(3000))


def _bad_text(chance: random.Random, value: bytes) -> bytes:
    at = chance.randrange(len(value))
    return (
        value[:at]
        + chance.choice([b"\xff", b"\xc3\x28", b"\xed\xa0\x80", b"\xf8\x88\x80\x80\x80", b"\x00"])
        + value[at:]
    )


def _flipped(chance: random.Random, value: bytes) -> bytes:
    spoilt = bytearray(value)
    for _ in range(chance.randrange(1, 20)):
        spoilt[chance.randrange(len(spoilt))] = chance.randrange(256)
    return bytes(spoilt)


def _nested(chance: random.Random, value: bytes) -> bytes:
    opening, closing = chance.choice([(b"[", b"]"), (b'{"a":', b"}"), (b'{"url":[', b"]}"), (b"<div>", b"")])
    # The time to parse a page grows with the square of its depth: 30,000 take two seconds.
    depth = chance.choice([50, 150, 1000, 30_000 if closing else 5000])
    return opening * depth + b"1" + closing * (depth if chance.random() < 0.7 else 0)


def _mistyped(chance: random.Random, value: bytes) -> bytes:
    strange: list[object] = [
        7,
        -1.5,
        True,
        None,
        [],
        {},
        "",
        [[]],
        {"url": 1},
        "\ud800",
        "x" * 5000,
        ["a"] * 300,
        10**18,
    ]
    try:
        document = json.loads(value)
    except ValueError:
        document = {"url": "https://harbour.example/", "html": PAGE}
    for key in chance.sample(sorted(document), chance.randrange(1, len(document) + 1)):
        document[key] = chance.choice(strange)
    if chance.random() < 0.3:
        document[chance.choice(["", "unknown", "__class__", "html_base64", "fetched_at", "attempt"])] = chance.choice(
            strange
        )
    return json.dumps(document).encode("utf-8", "surrogatepass")


def _huge_number(chance: random.Random, value: bytes) -> bytes:
    number = chance.choice(
        [b"1" + b"0" * 400, b"-" + b"9" * 5000, b"1e400", b"-1e-400", b"NaN", b"Infinity", b"0x10", b"1_0"]
    )
    field = chance.choice([b"status", b"attempt", b"url", b"batchId", b"fetched_at"])
    return b'{"' + field + b'":' + number + b"," + value[1:]


def _not_an_object(chance: random.Random, value: bytes) -> bytes:
    return chance.choice(
        [b"null", b"true", b"[]", b"{}", b'""', b"0", b" ", b"\xef\xbb\xbf" + value, value * 2, b"[" + value + b"]"]
    )


def _empty(chance: random.Random, value: bytes) -> bytes:
    return b""


def _tombstone(chance: random.Random, value: bytes) -> None:
    return None


def _unspoilt(chance: random.Random, value: bytes) -> bytes:
    return value


_TROUBLE: tuple[Callable[[random.Random, bytes], bytes | None], ...] = (
    _cut,
    _cut,
    _noise,
    _bad_text,
    _flipped,
    _nested,
    _mistyped,
    _mistyped,
    _huge_number,
    _not_an_object,
    _empty,
    _tombstone,
    _unspoilt,
)


def _spoilt(chance: random.Random, headers: Headers) -> Headers:
    """Headers that are missing, binary, empty, doubled, enormous, or say what is not so."""
    strange: Headers = [
        ("content-type", chance.choice([b"image/png", b"text/html; charset=x-nope", b"text/html;" * 99, b"\xff", b""])),
        ("assay_url", chance.choice([b"", b"\xff", b"x" * 5000, b"not a url", b"https://[", b"https://a.example/\xc3\xa9"])),
        ("assay_fetched_at", chance.choice([b"yesterday", b"9999-99-99", b"\x00", b"0001-01-01T00:00:00+14:00"])),
        ("assay_status", chance.choice([b"9" * 400, b"-1", "٣".encode(), b"2e2"])),
        ("ce_id", chance.choice([b"", b"\xff" + chance.randbytes(9), b"i" * 9000])),
        ("traceparent", chance.randbytes(30)),
        ("x-orig-offset", b"12"),
        ("x-not-before", b"99999999999999999999"),
        ("ключ", "значение".encode()),
        ("nothing", None),
        ("content-type", None),
        ("", chance.randbytes(chance.randrange(200))),
    ]  # fmt: skip
    return [*headers, *chance.sample(strange, chance.randrange(1, 5))]
