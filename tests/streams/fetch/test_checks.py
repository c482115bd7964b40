from pathlib import Path

from streams.fetch.checks import check_fetching
from streams.fetch.settings import FetchSettings


def test_relaxed_fetch_rules_are_reported(tmp_path: Path) -> None:
    fetch = FetchSettings(
        allow_private=True,
        robots=False,
        resolve={"wiki.intranet.example": "10.1.2.3:80"},
        cache_path=tmp_path / "pages.sqlite",
    )
    found = list(check_fetching(fetch))
    assert [finding.state for finding in found] == ["warn", "warn", "ok", "ok", "ok"]
    assert "wiki.intranet.example is reached at 10.1.2.3:80" in found[3].detail
    named = list(check_fetching(FetchSettings(user_agent="HarbourBot/1.0", cache_path=None)))
    assert [finding.state for finding in named] == ["ok", "warn"]
    assert not named[0].todo
