"""Web archives for tests, written record by record, so that damaged ones can be written too."""

import gzip
from collections.abc import Iterable
from uuid import NAMESPACE_URL, uuid5


def warc_record(url: str, block: bytes, kind: str = "response") -> bytes:
    """A record with an HTTP message."""
    lines = [
        "WARC/1.0",
        f"WARC-Type: {kind}",
        f"WARC-Record-ID: <urn:uuid:{uuid5(NAMESPACE_URL, url)}>",
        f"WARC-Target-URI: {url}",
        "WARC-Date: 2025-01-02T03:04:05Z",
        f"Content-Type: application/http; msgtype={kind}",
        f"Content-Length: {len(block)}",
    ]
    return "\r\n".join([*lines, "", ""]).encode() + block + b"\r\n\r\n"


def packed(records: Iterable[bytes]) -> bytes:
    """Records as a ``.warc.gz``: each is a gzip member of its own."""
    return b"".join(map(gzip.compress, records))
