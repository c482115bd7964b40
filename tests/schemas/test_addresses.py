"""One reading of an address: as browsers read it, the same for the score, the page id and the fetch."""

import re

import httpx
import pytest
from hypothesis import given
from hypothesis import strategies as st

from handlers.html.links import canonical_url, host_of, page_id_of
from schemas.addresses import web_address, without_user
from streams.fetch.guard import Target, parse_target
from streams.topology import TOPICS, Topic
from tests.samples import EXAMPLES
from tests.tables import tables

TABLES = tables(__file__)

SCHEMES = st.sampled_from(
    ["https://", "http://", "HTTPS:/", "https:", "https:\\", " http://", "ftp://", "javascript://", "//",
     "view-source:https://", ""]
)  # fmt: skip
USERS = st.sampled_from(["", "", "user@", "user:secret@", "a@b@", "user:secret\\@", "%40@"])
HOSTS = st.sampled_from(
    ["nature.com", "ｎature.com", "nature。com", "nature.com.", "NATURE.com", "127.1", "0x7f.1", "[::1]", "a..b",
     "evil.example\\.nature.com", "natu\tre.com", "nature.com%00.evil.example", "${v}.example",
     "münchen.example", "xn--0", "1.2.3"]
)  # fmt: skip
PORTS = st.sampled_from(["", "", ":443", ":80", ":8080", ":0", ":99999", ":x"])
PATHS = st.text(alphabet="/\\?#@:;.%2e&=aé\t ", max_size=12)
ADDRESSES = st.builds(lambda *parts: "".join(parts), SCHEMES, USERS, HOSTS, PORTS, PATHS)


@pytest.mark.parametrize(("text", "host"), TABLES["hosts"])
def test_the_host_is_the_one_that_a_browser_opens(text: str, host: str) -> None:
    assert host_of(text) == host


@given(ADDRESSES | st.text(max_size=40))
def test_the_host_that_is_scored_is_the_host_that_is_fetched(text: str) -> None:
    address, target = web_address(text), parse_target(text)
    assert bool(address) == (canonical_url(text) is not None) == (page_id_of(text) is not None)
    if isinstance(target, Target):
        assert (target.scheme, target.host) == (address.scheme, address.host)
        assert httpx.URL(target.url).raw_host.decode() == address.host
    if canonical := canonical_url(text):
        assert web_address(canonical).authority == web_address(address.url).authority
        assert canonical_url(canonical) == canonical


@given(ADDRESSES)
def test_an_address_is_read_once(text: str) -> None:
    address = web_address(text)
    assert not address or web_address(address.url) == address


@given(ADDRESSES)
def test_no_user_is_left(text: str) -> None:
    shown = without_user(text)
    assert "secret" not in web_address(text).url.partition("/")[2].partition("/")[2].partition("/")[0]
    assert web_address(shown) == web_address(text)
    assert without_user(shown) == shown


@pytest.mark.parametrize("topic", TOPICS, ids=lambda topic: topic.name)
def test_no_event_has_the_user_of_an_address(topic: Topic) -> None:
    """In each example, a user is put into each field that is an address."""
    for file in (EXAMPLES / topic.name).glob("*.json"):
        text = re.sub(r'(?<!\\)"(https?://[^" ]*")', _with_user, file.read_text("utf-8"))
        assert "secret" not in topic.event.model_validate_json(text).to_json().decode(), file.name


def _with_user(address: re.Match[str]) -> str:
    return address[0].replace("://", "://user:secret@", 1)
