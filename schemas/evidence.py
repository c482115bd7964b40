"""The concrete details of a text as events carry them: prices, days, clock times and places.

``kind`` says which of the four forms a detail has. A consumer ignores a kind that it does not know. A value that the
text leaves open is null: a detail never has a guessed year, currency or order of day and month.
"""

from __future__ import annotations

from typing import Annotated, Any, Literal

from pydantic import Discriminator, Field, Tag

from schemas.event import CamelPart

Amount = Annotated[str, Field(pattern=r"^[0-9]{1,100}(\.[0-9]{1,100})?$")]
Currency = Annotated[str, Field(pattern=r"^[A-Z]{3}$")]
PartialDate = Annotated[str, Field(pattern=r"^[0-9]{4}(-[0-9]{2}(-[0-9]{2})?)?$")]
ClockTime = Annotated[str, Field(pattern=r"^([01][0-9]|2[0-3]):[0-5][0-9]$")]
DatePrecision = Literal["day", "month", "year"]


class Found(CamelPart):
    """The position of a detail.

    Attributes:
        kind: The form of the detail.
        text: The detail as the text has it.
        start: Character offset of its first character in the text.
        end: Character offset behind its last character.
    """

    kind: Literal["date", "time", "place", "price"]
    text: str
    start: int = Field(ge=0)
    end: int = Field(ge=0)


class PriceEvidence(Found):
    """A price.

    Attributes:
        amount: The exact decimal number with a point, with the decimals as written: 25.00 is not 25. It is a string
            because most JSON readers make a binary fraction of a number. 0 for free admission.
        currency: The ISO 4217 code, which may be of a withdrawn currency. Null if several currencies share the sign, as
            $, kr and ¥, and if no currency is named.
        unit: What the amount counts if the currency is null: the sign or name that several currencies share, or a part
            such as cents. Null if the currency is known or nothing is named.
    """

    kind: Literal["price"] = "price"
    amount: Amount
    currency: Currency | None = None
    unit: str | None = None


class DateEvidence(Found):
    """A day of the calendar.

    Attributes:
        date: What is certain of the date in ISO 8601: a day (2024-11-29), a month (2024-11) or a year (2024). Only the
            year of 05/06/2024 is certain if the order of day and month is open. Null if no year is named.
        precision: What ``date`` states; null if ``date`` is null. No detail has the precision month today.
        month: The month from 1, also without a year; null if day and month can't be told apart.
        day: The day of the month, like ``month``.
    """

    kind: Literal["date"] = "date"
    date: PartialDate | None = None
    precision: DatePrecision | None = None
    month: int | None = Field(default=None, ge=1, le=12)
    day: int | None = Field(default=None, ge=1, le=31)


class TimeEvidence(Found):
    """A time of day.

    Attributes:
        time: Hour and minute on the clock of 24 hours (20:00). Its zone is unknown, and seconds are left out. The end
            of a day, 24:00, is 00:00.
    """

    kind: Literal["time"] = "time"
    time: ClockTime


class PlaceEvidence(Found):
    """A street address, a post office box, a postal town, or what follows a label such as "Venue:".

    Attributes:
        name: The words of the place without its label, with single blanks.
    """

    kind: Literal["place"] = "place"
    name: str


def _kind(detail: Any) -> Any:
    return detail.get("kind") if isinstance(detail, dict) else getattr(detail, "kind", None)


Evidence = Annotated[
    Annotated[PriceEvidence, Tag("price")]
    | Annotated[DateEvidence, Tag("date")]
    | Annotated[TimeEvidence, Tag("time")]
    | Annotated[PlaceEvidence, Tag("place")],
    Discriminator(_kind),
]
