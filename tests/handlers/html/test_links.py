"""The reading of addresses, and of links to other hosts (R-195)."""

import re

import pytest
from hypothesis import given
from hypothesis import strategies as st

from handlers.html.links import absolute_url, canonical_url, host_of
from tests.tables import tables

TABLES = tables(__file__)


@pytest.mark.parametrize(
    ("url", "canonical"),
    [
        *TABLES["canonical_url"],
        ("https://example.com/" + "a" * 8172, "https://example.com/" + "a" * 8172),
        ("https://example.com/" + "a" * 8173, None),
    ],
)
def test_canonical_url(url: str, canonical: str | None) -> None:
    assert canonical_url(url) == canonical


@given(
    st.from_regex(
        re.compile(r"https?://[a-z0-9-]{1,9}(\.[a-z0-9-]{1,5}){1,2}(/[\w.~-]{0,6}){1,4}", re.ASCII), fullmatch=True
    )
)
def test_an_address_in_the_usual_form_is_canonical(url: str) -> None:
    # A fragment is removed, so that this address is taken apart and put together.
    assert canonical_url(url) == canonical_url(f"{url}#top")


def test_absolute_url() -> None:
    assert absolute_url("https://example.com/a/", " b ") == "https://example.com/a/b"
    assert absolute_url("https://example.com/", "//other.org/x") == "https://other.org/x"
    assert absolute_url("https://example.com/", "mailto:a@b.c") is None
    assert absolute_url("https://example.com/", "http://[::1") is None
    assert absolute_url("https://example.com/", "a" * 9000) is None


@given(st.text(max_size=80), st.text(max_size=80))
def test_nothing_raises(base: str, href: str) -> None:
    absolute_url(base, href)
    canonical_url("http://" + base)
    host_of(base)
