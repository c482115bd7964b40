"""Public lists: what follows from what they say, and that they change nothing that the shipped lists say."""

from dataclasses import replace

import pytest

from handlers.html.links import is_public_suffix
from handlers.indexing.config import listed_name, source_at
from handlers.score_page import ScorePageRules
from handlers.trust.public_lists import CONTESTED, DISPUTED, PublicList, read_groups
from handlers.trust.sources import ListedNames, ListedSource
from tests.rules import CONFIG, shipped_rules
from tests.tables import tables

TABLES = tables(__file__)
RULES = shipped_rules(ScorePageRules).compiled_sources
KINDS = {"good": "newspaper", "school": "university", "bad": CONTESTED, "mixed": DISPUTED}
LISTS = tuple(PublicList(name, name.upper(), "2026", KINDS, domains) for name, domains in TABLES["lists"].items())
OWN = {"mine.example": ListedSource(None, 2, own=True), "my-doubt.example": ListedSource(DISPUTED, own=True)}
MADE = replace(RULES, public=LISTS, own=OWN, publishers={"the wire": ListedSource("news_agency", own=True)})


@pytest.mark.parametrize(("url", "standing", "tier", "base", "because"), TABLES["what_lists_say_together"])
def test_what_lists_say_together(url: str, standing: str, tier: int, base: int, because: str) -> None:
    source = source_at(f"https://{url}", None, "", MADE)
    assert (source.standing, source.tier, source.base_score, source.because) == (standing, tier, base, because)


def test_a_publisher_that_the_user_lists_precedes_public_lists() -> None:
    assert source_at("https://bad.example/", "The Wire", "", MADE).tier == 2
    assert source_at("https://school.example/", None, "", MADE).name == "The School"


def test_public_lists_change_no_shipped_entry() -> None:
    without = replace(RULES, public=())
    for domain in RULES.listed:
        one, other = (source_at(f"https://{domain}/", None, "", rules) for rules in (RULES, without))
        assert one == other, domain


def test_the_files_have_hosts_once_and_a_notice() -> None:
    folder = CONFIG / "sources" / "public"
    notice = (folder / "NOTICE").read_text("utf-8")
    assert {one.name for one in RULES.public} == {path.stem for path in folder.glob("*.txt")}
    for one in RULES.public:
        assert f"{one.name}.txt" in notice
        domains = [domain for _, _, found in read_groups(one.domains) for domain in found]
        assert len(domains) == len({*domains}) > 100
        assert [name for name in domains if listed_name(name) != name or is_public_suffix(name)] == []
    assert sum(path.stat().st_size for path in folder.glob("*")) < 2**20


@pytest.mark.parametrize(("host", "like"), TABLES["look_alikes"])
def test_a_host_that_looks_like_a_listed_one_is_unlisted(host: str, like: str) -> None:
    source = source_at(f"https://{host}/", None, "", RULES)
    assert (source.standing, source.tier) == ("unlisted", 3)
    assert source.because.partition("; ")[2] == (like and f"the name looks like {like}")


def test_a_name_of_several_sources_looks_like_none() -> None:
    bodies = {"courier.example": "A", "gazette.example": "B", "gazette.test": "C", "messenger.example": "D"}
    names = ListedNames(bodies, ["thecourier.example\n", "first.example\tThe First Messenger\n"])
    hosts = ("gazette.site", "courier.site", "messenger.site")
    assert [names.like(host, 1) for host in hosts] == [None, None, None]
    assert ListedNames({"courier.example": "A", "courier.test": "A"}).like("my-courier.site", 1) == "courier.test"
