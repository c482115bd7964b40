"""When an answer is right: one matcher for every contestant, which ignores differences that are not mistakes.

Case, accents, white space, punctuation and the order of a name's parts do not matter. What is left has to agree. Main
texts are compared by word F1, the metric of the Web Content Extraction Benchmark (WCXB), written here.
"""

import email.utils
import re
import unicodedata
from collections import Counter
from collections.abc import Mapping
from datetime import date
from typing import Any

_APART = re.compile(r"\s*(?:[,;&|/·、，\n]|\s(?:and|und|et|y|e)\s)\s*", re.IGNORECASE)
_LEAD = re.compile(r"^(?:(?:by|par|von|vom|por|di|door|written by|text)\s+|\w{1,12}\s?[:：]\s*)", re.IGNORECASE)
_ISO_DAY = re.compile(r"(\d{4})[-/.](\d{1,2})[-/.](\d{1,2})")
_MORE_NAMES = 2
"""Words by which one form of a name may be longer than the other: a title, a middle name, a degree."""
_SHAPES = str.maketrans(
    {"’": "'", "‘": "'", "“": '"', "”": '"', "–": "-", "—": "-", "‑": "-", "\u200b": None, "\xad": None}
)
WEIGHTS = {
    "article": 793, "service": 165, "product": 119, "collection": 117, "forum": 113, "listing": 99, "documentation": 91
}  # fmt: skip
"""Pages of each type in the development split of WCXB."""


def plain(text: str) -> str:
    """Letters and digits only, without case and accents.

    >>> plain(" Émile  O’Neil ")
    'emileoneil'
    """
    return "".join(_words(text))


def flat(text: str) -> str:
    """A text without what contestants print each in their own way."""
    return "".join(unicodedata.normalize("NFKC", text.translate(_SHAPES)).casefold().split())


def words(text: str) -> Counter[str]:
    """The words of a text with how often each occurs: ``\\w+`` in lower case."""
    return Counter(re.findall(r"\w+", text.lower()))


def word_f1(reference: Counter[str], answer: Counter[str]) -> float:
    """The F1 of an answer's words; an empty reference counts 1 against an empty answer, else 0."""
    if not reference:
        return float(not answer)
    return 2 * (reference & answer).total() / (reference.total() + answer.total())


def weighted(means: Mapping[str, float]) -> float:
    """The mean of the page types' figures by their pages in the benchmark."""
    return sum(WEIGHTS[kind] * mean for kind, mean in means.items()) / sum(WEIGHTS[kind] for kind in means)


def same_text(label: str, answer: str | None) -> bool:
    return answer is not None and plain(label) == plain(answer)


def persons(value: Any) -> tuple[str, ...]:
    """The names in a label or an answer: a list, or one text that enumerates them.

    Degrees and jobs between the names ("Ann Lee, MD") are one word; they only count if there is no longer name. Two
    single words may be two agencies or one name in reverse order, so they mean both.

    >>> persons("By Ann Lee, MD and Bo Chen")
    ('Ann Lee', 'Bo Chen')
    >>> persons("Lee, Ann")
    ('Lee', 'Ann', 'Lee Ann')
    """
    texts = [value] if isinstance(value, str) else [text for text in value or () if isinstance(text, str)]
    parts = [_LEAD.sub("", part).strip() for text in texts for part in _APART.split(text)]
    parts = [part for part in parts if plain(part)]
    names = [part for part in parts if len(_words(part)) > 1] or parts
    if len(texts) == 1 and len(names) == 2 and all(len(_words(name)) == 1 for name in names):
        names = [*names, " ".join(names)]
    return tuple(dict.fromkeys(names))


def named(labels: tuple[str, ...], answers: tuple[str, ...]) -> bool:
    """Whether at least one labelled person is among those answered."""
    return any(_same_person(label, answer) for label in labels for answer in persons(answers))


def matched_persons(labels: tuple[str, ...], answers: tuple[str, ...]) -> tuple[int, int, int]:
    """How many persons are right, labelled and answered; each label is matched once.

    >>> matched_persons(("Ann Lee", "Bo Chen"), ("Bo Chen", "Cy Park", "Dan Ray"))
    (1, 2, 3)
    >>> matched_persons(("Lee", "Ann", "Lee Ann"), ("Ann Lee",))
    (1, 1, 1)
    """
    said = persons(answers)
    left, said = [*_alternative(labels, said)], _alternative(said, labels)
    labelled = len(left)
    for answer in said:
        if (label := next((label for label in left if _same_person(label, answer)), None)) is not None:
            left.remove(label)
    return labelled - len(left), labelled, len(said)


def _alternative(names: tuple[str, ...], others: tuple[str, ...]) -> tuple[str, ...]:
    """Of two single words and the name that they may be, what others name."""
    if len(names) != 3 or names[2] != " ".join(names[:2]):
        return names
    return names[2:] if any(_same_person(names[2], other) for other in others) else names[:2]


def day_of(answer: str | None) -> str | None:
    """The day of a date as a contestant writes it; None without a day.

    >>> day_of("2024-3-05T10:00:00+08:00"), day_of("Tue, 05 Mar 2024 10:00:00 GMT"), day_of("soon")
    ('2024-03-05', '2024-03-05', None)
    """
    if not answer:
        return None
    if found := _ISO_DAY.search(answer):
        year, month, day = map(int, found.groups())
    elif mail := email.utils.parsedate(answer):
        year, month, day = mail[:3]
    else:
        return None
    try:
        return date(year, month, day).isoformat()
    except ValueError:
        return None


def _same_person(label: str, answer: str) -> bool:
    if plain(label) == plain(answer):
        return True
    fewer, more = sorted((set(_words(label)), set(_words(answer))), key=len)
    return len(fewer) > 1 and fewer <= more and len(more) - len(fewer) <= _MORE_NAMES


def _words(text: str) -> list[str]:
    folded = unicodedata.normalize("NFKD", text.casefold())
    kept = "".join(char for char in folded if not unicodedata.combining(char) and char not in "'’`´")
    return re.findall(r"[^\W_]+", kept)
