"""The sample web's files and addresses."""

from pathlib import Path

import pytest

from streams.demo import feed


def test_addresses_lead_to_files_of_their_own_host_only() -> None:
    host = "findevents.nordic.example"
    assert feed.find(host, "/denmark/copenhagen/events", "page=2") is not None
    assert feed.find(host, "/robots.txt", "") is not None
    assert feed.find(host, "/../shop.lydhuset.example/index", "") is None
    assert feed.find(host, "/absent", "") is None
    assert feed.find("elsewhere.example", "/", "") is None
    with pytest.raises(KeyError):
        feed.page("https://elsewhere.example/")


def test_pages_behind_a_link_are_found(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (tmp_path / "web").symlink_to(feed.FOLDER)
    monkeypatch.setattr(feed, "FOLDER", tmp_path / "web")
    assert feed.page(feed.NOTICE)
