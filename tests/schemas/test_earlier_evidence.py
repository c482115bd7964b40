"""Details of earlier versions are read as details of today."""

import json
from typing import Any

import pytest
from pydantic import TypeAdapter

from schemas.earlier_evidence import structured
from schemas.evidence import DateEvidence, Evidence, PlaceEvidence, PriceEvidence, TimeEvidence
from tests.samples import EARLIER, EXAMPLES

ADAPTER: TypeAdapter[Evidence] = TypeAdapter(Evidence)
PLACE: dict[str, Any] = {"text": "as written", "start": 3, "end": 13}


def read(kind: str, value: str | None) -> Evidence:
    [detail] = structured([{"kind": kind, **PLACE, "value": value}])
    return ADAPTER.validate_python(detail)


@pytest.mark.parametrize(
    ("kind", "value", "expected"),
    [
        ("price", "199.50 DKK", PriceEvidence(**PLACE, amount="199.50", currency="DKK", unit=None)),
        ("price", "25 $", PriceEvidence(**PLACE, amount="25", currency=None, unit="$")),
        ("price", "99 cents", PriceEvidence(**PLACE, amount="99", currency=None, unit="cents")),
        ("price", "1 BTC", PriceEvidence(**PLACE, amount="1", currency=None, unit="BTC")),
        ("price", "1e+12 EUR", PriceEvidence(**PLACE, amount="1000000000000", currency="EUR", unit=None)),
        ("price", "0", PriceEvidence(**PLACE, amount="0", currency=None, unit=None)),
        ("date", "2024-11-29", DateEvidence(**PLACE, date="2024-11-29", precision="day", month=11, day=29)),
        ("date", "--11-29", DateEvidence(**PLACE, date=None, precision=None, month=11, day=29)),
        ("date", None, DateEvidence(**PLACE, date=None, precision=None, month=None, day=None)),
        ("time", "20:00", TimeEvidence(**PLACE, time="20:00")),
        ("place", "Blue Heron Hall", PlaceEvidence(**PLACE, name="Blue Heron Hall")),
    ],
)
def test_a_value_is_taken_apart(kind: str, value: str | None, expected: Evidence) -> None:
    assert read(kind, value) == expected


@pytest.mark.parametrize(
    "detail",
    [
        {"kind": "price", "value": "much"},
        {"kind": "date", "value": "soon"},
        {"kind": "date", "date": "2024", "value": None},
        {"kind": "mood", "value": "good"},
    ],
)
def test_what_no_version_wrote_is_unchanged(detail: dict[str, Any]) -> None:
    assert structured([detail]) == [detail]


@pytest.mark.parametrize("kind", ["price", "time", "place"])
def test_a_detail_without_its_value_is_left_out(kind: str) -> None:
    assert structured([{"kind": kind, **PLACE}, {"kind": kind, **PLACE, "value": None}]) == []


def test_every_detail_of_the_earlier_records_is_read() -> None:
    for path in (EXAMPLES / "results.classified.v1" / EARLIER).glob("*.json"):
        for result in json.loads(path.read_bytes())["results"]:
            for detail in structured(result.get("evidence", ())):
                assert ADAPTER.validate_python(detail).kind == detail["kind"]
