"""The files of the sample web."""

import pytest

from streams.demo import feed


def test_addresses_lead_to_files_of_their_own_host_only() -> None:
    host = "findevents.nordic.example"
    assert feed.find(host, "/denmark/copenhagen/events", "page=2") is not None
    assert feed.find(host, "/robots.txt", "") is not None
    assert feed.find(host, "/../shop.lydhuset.example/index", "") is None
    assert feed.find(host, "/absent", "") is None
    assert feed.find("elsewhere.example", "/", "") is None
    assert feed.page(feed.NOTICE)
    with pytest.raises(KeyError):
        feed.page("https://elsewhere.example/")
