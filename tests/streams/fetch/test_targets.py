"""Addresses whose path repeats itself, as those of endless pages do."""

import pytest

from schemas.needs import FetchPages
from schemas.replies import FetchFailure, FetchRefused
from streams.fetch.settings import FetchSettings
from streams.fetch.targets import Target, parse_target, repeated_part
from streams.fetch.worker import FetchWorker
from tests.samples import instance
from tests.streams.fetch.web import response, serving
from tests.tables import tables

TABLES = tables(__file__)


@pytest.mark.parametrize(("path", "part"), TABLES["a_part_that_follows_itself_three_times_is_found"])
def test_a_part_that_follows_itself_three_times_is_found(path: str, part: str) -> None:
    assert repeated_part(instance(Target, parse_target(f"http://site.example{path}"))) == part


async def test_an_address_that_repeats_itself_is_not_fetched() -> None:
    async with serving() as web:
        web.routes["/a"] = response("", status=302, Location="/x/x/x/x")
        settings = FetchSettings(resolve={"site.example": web.place}, min_delay_seconds=0.0)
        async with FetchWorker(settings) as worker:
            [page] = (await worker.fetch(FetchPages(("http://site.example/a",), "q"))).pages
    refused = instance(FetchRefused, page)
    assert (refused.reason, refused.detail) == (FetchFailure.TRAP, "the path repeats 'x'")
    assert set(web.seen) == {"/robots.txt", "/a"}
