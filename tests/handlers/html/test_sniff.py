from __future__ import annotations

import pytest

from handlers.html.sniff import not_a_page


@pytest.mark.parametrize(
    "content_type",
    [None, "", "text/html; charset=utf-8", "application/xhtml+xml", "text/plain", "html", "application/octet-stream"],
)
def test_readable(content_type: str | None) -> None:
    assert not_a_page(b"<p>words", content_type) is None


@pytest.mark.parametrize("content_type", ["application/json", "image/png", "APPLICATION/PDF; x=y", "video/mp4"])
def test_declared_as_something_else(content_type: str) -> None:
    assert "declared" in (not_a_page(b"<p>words", content_type) or "")


def test_utf16_is_no_binary() -> None:
    assert not_a_page("<p>words".encode("utf-16"), None) is None
    assert not_a_page("<p>words".encode("utf-16-le"), "text/html; charset=utf-16le") is None
    assert not_a_page("<p>words".encode("utf-16-le"), None) is not None
