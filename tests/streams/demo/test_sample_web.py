"""The sample web's files and addresses."""

import pytest

from streams.demo import feed, sample_web


def test_addresses_lead_to_files_of_their_own_host_only() -> None:
    host = "findevents.nordic.example"
    assert sample_web.find(host, "/denmark/copenhagen/events", "page=2") is not None
    assert sample_web.find(host, "/robots.txt", "") is not None
    assert sample_web.find(host, "/../shop.lydhuset.example/index", "") is None
    assert sample_web.find(host, "/absent", "") is None
    assert sample_web.find("elsewhere.example", "/", "") is None
    with pytest.raises(KeyError):
        sample_web.page("https://elsewhere.example/")


def test_every_site_states_its_rules_and_what_is_fed_exists() -> None:
    for host in sample_web.hosts():
        assert sample_web.find(host, "/robots.txt", "") is not None
    for url in (feed.NOTICE, feed.WIRE_REPORT, feed.BREAD, feed.ORDERS, f"{feed.SHOP}/"):
        assert sample_web.page(url)
