"""Details of versions before 1.0, whose value was one string that had another form for each kind."""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping
from decimal import Decimal, InvalidOperation
from typing import Any

_DAY = re.compile(r"(?:([0-9]{4})|-)-([0-9]{2})-([0-9]{2})")
_CODE = re.compile(r"[A-Z]{3}")
_EARLIER_FIELDS = frozenset({"kind", "text", "start", "end", "value"})
_NO_CODES = frozenset({"CFA", "IRT", "BTC"})
"""What earlier versions wrote in the form of a code although ISO 4217 does not have it."""


def structured(details: Iterable[Mapping[str, Any]]) -> list[dict[str, Any]]:
    """The details in their present form.

    A price, time or place without a value says nothing now, so it is left out. A detail that no earlier version wrote
    is unchanged.

    >>> structured([{"kind": "price", "text": "25 kr", "start": 0, "end": 5, "value": "25 kr"}])
    [{'kind': 'price', 'text': '25 kr', 'start': 0, 'end': 5, 'amount': '25', 'currency': None, 'unit': 'kr'}]
    """
    return [_structured(detail) for detail in details if detail.get("kind") == "date" or not _is_empty(detail)]


def _is_empty(detail: Mapping[str, Any]) -> bool:
    return detail.keys() <= _EARLIER_FIELDS and detail.get("value") is None


def _structured(detail: Mapping[str, Any]) -> dict[str, Any]:
    if not detail.keys() <= _EARLIER_FIELDS:
        return dict(detail)
    kept = {name: known for name, known in detail.items() if name != "value"}
    value = detail.get("value")
    match detail.get("kind"), value:
        case "price", str():
            return kept | price if (price := _price(value)) else dict(detail)
        case "date", None:
            return kept | {"date": None, "precision": None, "month": None, "day": None}
        case "date", str() if day := _DAY.fullmatch(value):
            date, precision = (value, "day") if day[1] else (None, None)
            return kept | {"date": date, "precision": precision, "month": int(day[2]), "day": int(day[3])}
        case "time", str():
            return kept | {"time": value}
        case "place", str():
            return kept | {"name": value}
    return dict(detail)


def _price(value: str) -> dict[str, str | None] | None:
    amount, _, unit = value.partition(" ")
    try:
        # Large amounts could have an exponent.
        plain = f"{Decimal(amount):f}"
    except InvalidOperation:
        return None
    is_code = _CODE.fullmatch(unit) is not None and unit not in _NO_CODES
    return {"amount": plain, "currency": unit if is_code else None, "unit": None if is_code else unit or None}
