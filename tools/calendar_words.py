"""Writes the pattern pack ``config/patterns/generated/calendar.yaml``: names of months by CLDR, through Babel.

``python -m tools.calendar_words`` writes it. A test compares it with the installed Babel.
"""

from pathlib import Path

from babel.dates import get_month_names

PACK = Path(__file__).parent.parent / "config/patterns/generated/calendar.yaml"
_LANGUAGES = (
    *("ar", "bg", "cs", "da", "de", "el", "es", "fi", "fr", "hi", "hu", "id", "it"),
    *("nb", "nl", "pl", "pt", "ro", "ru", "sk", "sv", "th", "tr", "uk"),
)
"""English has a pack with capitals: march and may are verbs."""
_HEAD = "# Names of months in text. Written by `python -m tools.calendar_words` (Unicode CLDR).\nmonths:\n"


def calendar_pack() -> str:
    """The pack. A name is in the form that dates have it in, such as the genitive."""
    names = [get_month_names("wide", locale=language) for language in _LANGUAGES]
    months = (sorted({of_language[month].lower() for of_language in names}) for month in range(1, 13))
    return _HEAD + "".join(f"  - [{', '.join(month)}]\n" for month in months)


if __name__ == "__main__":
    PACK.write_text(calendar_pack(), "utf-8")
