"""The details of a text as their detectors return them: a place in the text, and what is said there."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Generic, NamedTuple, TypeVar


class Day(NamedTuple):
    """A day as it is named: without a year the year is None; None for day and month if they can't be told apart."""

    year: int | None
    month: int | None
    day: int | None


class Clock(NamedTuple):
    """A time on the clock of 24 hours."""

    hour: int
    minute: int


class Price(NamedTuple):
    """A plain decimal number, and what it counts: a currency's code, the sign that several share, or "" for nothing."""

    amount: str
    unit: str


class Place(NamedTuple):
    """A place by its words."""

    name: str


_Value = TypeVar("_Value", bound=Day | Clock | Price | Place, covariant=True)


@dataclass(frozen=True, slots=True)
class Detail(Generic[_Value]):
    """What is said in a text from ``start`` to ``end``."""

    start: int
    end: int
    value: _Value


AnyDetail = Detail[Day | Clock | Price | Place]


def is_currency_code(unit: str) -> bool:
    """Whether the unit of a price is one currency, by its ISO 4217 code.

    >>> is_currency_code("USD"), is_currency_code("$"), is_currency_code("som")
    (True, False, False)
    """
    return len(unit) == 3 and unit.isascii() and unit.isalpha() and unit.isupper()
