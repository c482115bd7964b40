"""The input: labelled pages from the disk. Standard library only, for contestants in environments of their own."""

from __future__ import annotations

from collections.abc import Iterable

from tools import labelled

SET = "wcxb_page_types"
Page = tuple[str, bytes]
Record = tuple[bytes, bytes, list[tuple[str, bytes]]]


def load_pages() -> list[Page]:
    """Every page of the set: address and bytes."""
    return [(labelled.address(case), labelled.body(SET, case)) for case in labelled.cases(SET)]


def page_records(pages: list[Page], times: int) -> Iterable[Record]:
    """The pages as raw records, several times, with a unique address each."""
    for turn in range(times):
        for url, body in pages:
            address = f"{url}#{turn}".encode()
            yield address, body, [("assay_url", address), ("content-type", b"text/html")]
