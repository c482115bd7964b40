"""What in a sentence points elsewhere: pronouns, demonstratives, definite noun phrases, comparisons.

A ``Sentence`` goes in, counts come out. A pronoun counts as resolved where something before it may be meant.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from itertools import pairwise

from handlers.claims.wording import CJK, WORD, Sentence, begins_with, occurrences

_REACH = 4
_MOST = 30
"""Pronouns of a sentence that are looked at: beyond that a few more say nothing."""
_CLAUSE = re.compile(r"[,;:()，；、]")
_LEAST_CJK_CLAUSE = 4
_LEAST_PAST = 5


def pronouns(sentence: Sentence) -> tuple[int, int]:
    """Pronouns that nothing in their sentence resolves, and those that something before them may."""
    lists = sentence.lists
    if not lists.own.spaced:
        return _unspaced_pronouns(sentence)
    unresolved = resolved = 0
    for place, word in enumerate(sentence.lower):
        if unresolved + resolved >= _MOST:
            break
        if not _is_pronoun(sentence, place):
            continue
        free = word in lists["possessives"]
        if not _begins(sentence, place) and (_looks_back(sentence, place, free) or _looks_ahead(sentence, place)):
            resolved += 1
        else:
            unresolved += 1
    return unresolved, resolved


def pointing(sentence: Sentence) -> int:
    """Demonstratives, and words that point where they end or begin a phrase."""
    lists = sentence.lists
    found = 0
    if lists["demonstratives_last"]:
        for part in _CLAUSE.split(sentence.text):
            words = part.lower().split()
            ends = (words[0].strip(".!?\"'"), words[-1].strip(".!?\"'")) if words else ()
            found += any(word in lists["demonstratives_last"] for word in ends)
    if not lists.own.spaced:
        return found + occurrences(sentence, lists["demonstratives"])
    for place, word in enumerate(sentence.lower):
        begins = place > 0 and sentence.words[place][0].isupper() and word in lists["demonstratives_last"]
        found += (begins or word in lists["demonstratives"]) and not _in_title(sentence, place)
    return found


def bare_definites(sentence: Sentence) -> int:
    """Definite noun phrases that nothing in them or after them says more of."""
    lists = sentence.lists
    if not lists.own.spaced:
        return int(begins_with(sentence, lists["definite_starts"]))
    found = 0
    for place, word in enumerate(sentence.lower):
        if word in lists["articles"] and not _is_pronoun(sentence, place):
            found += not _said(sentence, sentence.words[place + 1 : place + 1 + _REACH])
    first, *rest = [*sentence.words[:5], ""]
    if lists["definite_endings"] and first.lower().endswith(lists.own.definite_endings):
        is_small = first.lower() in lists.small or first.lower() in lists["stand_ins"]
        found += len(first) > 5 and not is_small and not _said(sentence, rest[:2])
    return found


def bare_comparisons(sentence: Sentence) -> int:
    """Words that compare in a sentence that does not say with what; one with an article says which is meant."""
    lists = sentence.lists
    if not lists.own.spaced:
        return (
            0 if any(word in sentence.text for word in lists["than"]) else occurrences(sentence, lists["comparatives"])
        )
    if not lists["than"].isdisjoint(sentence.lower):
        return 0
    before = ["", *sentence.lower]
    articles = lists["articles"]
    return sum(
        word in lists["comparatives"] and before[place] not in articles for place, word in enumerate(sentence.lower)
    )


def names_something(sentence: Sentence) -> bool:
    """Whether a later sentence's pronoun may mean something that this one names."""
    if not sentence.lists.own.spaced:
        return len(CJK.findall(sentence.text)) >= _LEAST_CJK_CLAUSE
    return _antecedent(sentence, sentence.words, ())


def is_past(word: str, endings: tuple[str, ...]) -> bool:
    """Whether a word has the ending of a verb that tells of what is past."""
    return len(word) >= _LEAST_PAST and word.endswith(endings)


def _is_pronoun(sentence: Sentence, place: int) -> bool:
    lists, word = sentence.lists, sentence.lower[place]
    whole = sentence.words[place].lower().replace("’", "'")
    following = [*sentence.lower[place + 1 : place + 1 + _REACH], "", ""]
    if word in lists["pronouns_before_verbs"] and following[0] in lists["verbs"]:
        return not _is_empty(sentence, word, following)
    if word not in lists["pronouns"] and whole not in lists["pronouns"]:
        return False
    return not _in_title(sentence, place) and not _is_empty(sentence, whole, following)


def _is_empty(sentence: Sentence, word: str, following: Sequence[str]) -> bool:
    """Whether a pronoun means nothing: "it is forbidden to"."""
    lists = sentence.lists
    if word.removesuffix("'s") not in lists["expletives"]:
        return False
    known = lists["expletive_words"]
    if word.endswith("'s") or following[0] in lists["verbs"]:
        return not known.isdisjoint(following[:3])
    return following[0] in known


def _begins(sentence: Sentence, place: int) -> bool:
    """Whether a small word with a capital begins another sentence, without a mark before it."""
    lists, word = sentence.lists, sentence.lower[place]
    is_small = word in lists.small or word in lists["boundaries"] or word in lists["askers"]
    return place > 0 and is_small and sentence.words[place][0].isupper() and not _in_title(sentence, place)


def _in_title(sentence: Sentence, place: int) -> bool:
    """Whether a small word with a capital is part of a title: inside a sentence, or before another such word."""
    words = sentence.words
    if len(words[place]) < 2 or not words[place][0].isupper() or sentence.lists.own.capital_nouns:
        return False
    capitals = sum(word[0].isupper() for word in words)
    if capitals * 4 > len(words) * 3:  # all of it has capitals: a shout, or a headline
        return False
    for following in words[place + 1 : place + _REACH]:
        if following[0].isupper():
            # At the start of a sentence only a verb with a capital tells a title from a name.
            return place > 0 or following.lower() in sentence.lists["verbs"]
        small = following.lower()
        if small not in sentence.lists["stop_words"] or small in sentence.lists["verbs"]:
            break
    return False


def _looks_back(sentence: Sentence, place: int, free: bool) -> bool:
    """Whether an earlier clause, or for possessives this one, has what the pronoun may mean."""
    lists = sentence.lists
    end = place
    if not free:
        end = next((at for at in range(place - 1, 0, -1) if sentence.lower[at] in lists["boundaries"]), 0)
        end = max(end, _last_comma(sentence, place))
    start = max((at for at in range(1, place) if _begins(sentence, at)), default=0)
    return _antecedent(sentence, sentence.words[start:end], (sentence.lower[place],))


def _last_comma(sentence: Sentence, place: int) -> int:
    """How many words stand before the last mark in front of a word."""
    start = count = 0
    for part in _CLAUSE.split(sentence.text):
        size = len(WORD.findall(part))
        if count + size > place:
            return start
        count += size
        start = count
    return start


def _looks_ahead(sentence: Sentence, place: int) -> bool:
    """Whether a sentence begins with a clause of its own, and what the pronoun means is named behind it."""
    if not sentence.lower or sentence.lower[0] not in sentence.lists["boundaries"] or place > _REACH:
        return False
    mark = sentence.text.find(",")
    return mark > 0 and _antecedent(sentence, ["", *sentence.text[mark:].split()], (sentence.lower[place],))


def _antecedent(sentence: Sentence, words: Sequence[str], pronoun: Sequence[str]) -> bool:
    """Whether a name, or for a plural pronoun a plural, is among the words."""
    lists = sentence.lists
    plural = not lists["plural_pronouns"].isdisjoint(pronoun)
    for place, word in enumerate(words):
        bare = word.strip(",.;:()\"'“”‘’")
        small = bare.lower()
        if not bare or small in lists.small or small in lists["boundaries"] or small in lists["connectives"]:
            continue
        following = words[place + 1][:1] if place + 1 < len(words) else ""
        if bare[0].isupper() and (place > 0 or following.isupper() or bare.isupper()):
            return True
        if place == 0 and bare[0].isupper() and len(words) > 1 and not plural:
            return bool(pronoun)
        if plural and len(bare) > 3 and small.endswith("s") and not small.endswith("ss"):
            return True
    return False


def _unspaced_pronouns(sentence: Sentence) -> tuple[int, int]:
    unresolved = resolved = 0
    for pronoun in sentence.lists.own.pronouns:
        place = sentence.text.find(pronoun)
        while place >= 0 and unresolved + resolved < _MOST:
            clauses = _CLAUSE.split(sentence.text[:place])
            long = any(len(CJK.findall(clause)) >= _LEAST_CJK_CLAUSE for clause in clauses[:-1])
            unresolved, resolved = unresolved + (not long), resolved + long
            place = sentence.text.find(pronoun, place + 1)
    return unresolved, resolved


def _said(sentence: Sentence, phrase: Sequence[str]) -> bool:
    """Whether a definite phrase says which one is meant: a name, a number, or words that go on about it."""
    for place, word in enumerate(phrase):
        small = word.lower()
        if word[:1].isdigit() or small in sentence.lists["postmodifiers"]:
            return True
        if place and (is_past(small, sentence.lists.own.past_endings) or small in sentence.lists["verbs"]):
            phrase = phrase[:place]  # what follows a verb says nothing of the noun before it
            break
    if sentence.lists.own.capital_nouns:
        return any(one[:1].isupper() and other[:1].isupper() for one, other in pairwise(phrase))
    persons = sentence.lists["pronouns"] | sentence.lists["speakers"]
    return any((word[:1].isupper() and word.lower() not in persons) or "'" in word or "’" in word for word in phrase)
