"""What makes a claim stand alone: names, numbers, years, and the subject of the source it was taken from.

Sentences of a claim and the text of its source go in, counts and shares come out.
"""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Sequence

from handlers.claims.wording import CJK, WORD, Lists, Sentence, cut, plain

_YEAR = re.compile(r"(?<!\d)(?:1\d|20)\d\d(?!\d)|(?<!\d)\d{1,3}年")
_RATING = re.compile(r"0?\.[0-9]{1,20}|0|1(?:\.0{1,20})?|[01](?:\.[0-9]{1,3}){2,6}")
_NUMBER = re.compile(r"[0-9][0-9.,:-]{0,30}[^\W\d_]{0,2}")
_QUOTED = re.compile(r"[《「『〈][^》」』〉\n]{1,60}[》」』〉]")
_LATIN = re.compile(r"[A-Za-z]{2,40}")
_PART_OF_NAME = 2
_GLOSS = re.compile(r"\(([A-Z][A-Za-z0-9&]{1,9})\)")


def names_in(text: str, lists: Lists) -> int:
    """Names and numbers of a part of a claim."""
    numbers = [word for word in WORD.findall(text) if _NUMBER.fullmatch(word)]
    count = len(numbers) - ratings(numbers)
    if lists.own.spaced:
        return count + len(name_runs(text, lists))
    endings = "|".join(map(re.escape, lists.own.name_endings)) or "$."
    placed = re.findall(rf"[\u4e00-\u9fff]{{2}}(?:{endings})", text)
    digits = len(re.findall(r"\d{1,20}", text)) if not numbers else 0
    return count + digits + len(placed) + len(_QUOTED.findall(text)) + len(_LATIN.findall(text))


def name_runs(text: str, lists: Lists, *, first_words: bool = False) -> list[tuple[str, ...]]:
    """Runs of capitalised words; a single one that begins a sentence is none, unless ``first_words`` are wanted.

    Where every noun has a capital, a name is a run of two, or one behind a preposition. Several words in capitals
    alone are a shout.
    """
    nouns = lists.own.capital_nouns
    names = []
    for sentence in cut(text):
        run: list[str] = []
        shouted, before = True, ""
        for place, word in enumerate([*WORD.findall(sentence), ""]):
            if word and word[0].isupper() and word != "I" and (first_words or word.lower() not in lists.small):
                run.append(plain(word))
                shouted = shouted and word.isupper()
                continue
            single = before in lists["postmodifiers"] if nouns else first_words or place > 1
            if run and (len(run) > 1 or single) and not (shouted and len(run) > 1):
                names.append(tuple(run))
            run, shouted, before = [], True, word.lower()
    return names


def ratings(words: Sequence[str]) -> int:
    """Numbers in the form of a score, which name nothing and may be meant for a judge."""
    return sum(1 for word in words if _RATING.fullmatch(word))


def has_year(sentence: Sentence) -> bool:
    """Whether a sentence says a year, from which other times in it are counted."""
    return bool(_YEAR.search(sentence.text))


def partial_names(sentences: Sequence[Sentence], source: str, stop: frozenset[str]) -> int:
    """Names of the claim that are part of a longer one in the source, or short for one, and stand nowhere in full."""
    if not sentences:
        return 0
    lists = sentences[0].lists
    own = {name for sentence in sentences for name in name_runs(sentence.text, lists, first_words=True)}
    longer = set(name_runs(source, lists)) - own
    short = {gloss.lower() for gloss in _GLOSS.findall(source)}
    short -= {gloss.lower() for sentence in sentences for gloss in _GLOSS.findall(sentence.text)}
    return sum(_is_part(name, longer, stop) or any(word in short for word in name) for name in own)


def topic_share(sentences: Sequence[Sentence], source: str, stop: frozenset[str], least: int, most: int) -> float:
    """The share of the source's main words that the claim has; 0 where it has none.

    Main are the words of most sentences, of at least so many: what somebody added to a source once is none of them, nor
    what he repeats.
    """
    said = {tuple(_terms(sentence)): None for sentence in cut(source)}
    counted = Counter(word for terms in said for word in dict.fromkeys(terms) if word not in stop)
    known = [(word, count) for word, count in counted.items() if count >= least and not word[0].isdigit()]
    topic = [word for word, _ in sorted(known, key=lambda item: -item[1])[:most]]
    if not topic:
        return 0.0
    have = {word for sentence in sentences for word in _terms(sentence.text)}
    return sum(word in have for word in topic) / len(topic)


def _is_part(name: tuple[str, ...], longer: set[tuple[str, ...]], stop: frozenset[str]) -> bool:
    size = len(name)
    if size > _PART_OF_NAME:
        return False
    return not stop.issuperset(name) and any(
        len(full) > size and name in (full[:size], full[-size:]) for full in longer
    )


def _terms(text: str) -> list[str]:
    """Stems of words, and pairs of neighbouring ideographs."""
    terms = []
    for word in WORD.findall(text):
        if CJK.search(word):
            terms += [
                word[at : at + 2] for at in range(len(word) - 1) if CJK.match(word[at]) and CJK.match(word[at + 1])
            ]
        elif len(word) > 2:
            terms.append(_stem(plain(word)))
    return terms


def _stem(word: str) -> str:
    return word[:-1] if len(word) > 3 and word.endswith("s") and not word.endswith("ss") else word
