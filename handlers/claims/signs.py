"""Does a claim's wording say who, when and where, or point outside of it? The offline judge of claims.

A claim, its source and word lists go in; a score comes out, or None where the wording cannot tell. A *gap* (an open
pronoun, "this", "yesterday", an office without a name, an event or a quantity without anybody or any place) holds the
score below ``gap_ceiling`` whatever else is said: more words do not close it. The other signs only order claims.
"""

from __future__ import annotations

import math
import re
import unicodedata
from collections.abc import Mapping
from dataclasses import dataclass

from pydantic import Field, PrivateAttr

from handlers.claims.wording import (
    CJK,
    WORD,
    LanguageWords,
    Lists,
    Sentence,
    begins_with,
    occurrences,
    plain,
    ready,
    sentences_of,
)
from handlers.prompts.untrusted import cleaned
from schemas.rules import Section

_MOST_CHARACTERS = 20_000
_REACH = 4
_LEAST_CONTENT = 2
_LEAST_CJK = 4
_SUBJECT = 3
_LEAST_PAST = 4
_MOST = 30
"""Pronouns of a sentence that are looked at: more of them say nothing more."""
_CLAUSE = re.compile(r"[,;:()，；、]")
_MARKS = re.compile(r"[<>{}|\[\]]{1,20}|-{2,20}")
_YEAR = re.compile(r"(?<!\d)(?:1\d|20)\d\d(?![\d.,]\d)|(?<!\d)\d{1,4}年")
_CJK_AMOUNT = re.compile(r"[一二兩两三四五六七八九十百千萬万億亿數数][人名位件起次間间家成倍元]")
_RATING = re.compile(r"0?\.[0-9]{1,20}|0|1(?:\.0{1,20})?|[01](?:\.[0-9]{1,3}){2,6}")
_DIGITS = re.compile(r"[0-9]{1,20}")
_QUOTED = re.compile(r"[《「『〈][^》」』〉\n]{1,60}[》」』〉]")
_NAME_TAGS = ("nr", "ns", "nt")


class SignWeights(Section):
    """What each sign adds to the logit of the score."""

    start: float = Field(description="Of a claim without any sign.")
    gap: float = Field(description="For each gap.")
    resolved_pronoun: float = Field(description="For a pronoun that may mean something named before it in the claim.")
    definite: float = Field(description="For a definite noun phrase with nothing that says which one.")
    stand_in: float = Field(description="For a word that compares with something left out, or stands for it.")
    connective: float = Field(description="For a sentence that begins as a continuation of one before it.")
    shortness: float = Field(description="In full for one word, nothing from enough_words on; logarithmic.")
    names: float = Field(description="For each name or number, up to most_names.")


class ClaimSigns(Section):
    """Word lists and weights of the offline judge of claims."""

    languages: dict[str, LanguageWords] = Field(
        min_length=1, description="Words by language; the first is the default."
    )
    other_languages: dict[str, tuple[str, ...]] = Field(
        description="Function words of languages without lists, by which they are known."
    )
    enough_words: int = Field(ge=2, description="Words from which on a claim is not short.")
    most_names: int = Field(ge=0, description="Names and numbers that count at most.")
    gap_ceiling: float = Field(gt=0, le=1, description="What a score is scaled to where a claim has a gap.")
    weights: SignWeights = Field(description="What each sign adds.")

    _lists: tuple[Lists, ...] = PrivateAttr()
    _others: tuple[frozenset[str], ...] = PrivateAttr()

    def model_post_init(self, _context: object) -> None:
        """Makes sets of the word lists, once."""
        self._lists = ready(self.languages)
        self._others = tuple(frozenset(words) for words in self.other_languages.values())

    def sentences(self, claim: str, source: str) -> list[Sentence] | None:
        """The sentences of a claim, None where its language has no lists."""
        return sentences_of(claim, source, self._lists, self._others)


@dataclass(frozen=True, slots=True)
class Signs:
    """The signs of a claim.

    Attributes:
        counts: How often each sign of ``SignWeights`` occurs.
        gaps: What is missing, or refers to something outside of the claim.
        doubtful: Whether the wording cannot show who, when or where: the first word may be a name, or the figure may be
            one that holds everywhere.
    """

    counts: Mapping[str, float]
    gaps: tuple[str, ...]
    doubtful: bool


def score_of(signs: Signs, section: ClaimSigns) -> float | None:
    """The score in [0, 1] with four digits; None where the wording cannot tell (R-142, R-151)."""
    if signs.doubtful and not signs.gaps:
        return None
    weights = section.weights
    worth = weights.model_dump()
    logit = weights.start + weights.gap * len(signs.gaps) + sum(worth[name] * n for name, n in signs.counts.items())
    ceiling = section.gap_ceiling if signs.gaps else 1.0
    return round(ceiling / (1 + math.exp(-max(-30.0, min(30.0, logit)))), 4)


def signs_of(claim: str, source: str, section: ClaimSigns) -> Signs | None:
    """The signs of a claim; None without word lists for its language (R-143)."""
    claim, source = _as_read(claim), _as_read(source)
    sentences = section.sentences(claim, source)
    if sentences is None:
        return None
    gaps: list[str] = []
    resolved = names = 0
    doubtful = False
    for sentence in sentences:
        named = _names(sentence)
        open_ones, others = _pronouns(sentence)
        gaps += ["pronoun"] * open_ones + ["pointing"] * occurrences(sentence, "pointing") + _role(sentence, named)
        resolved += others
        if not named and not _asks(sentence):
            gaps += ["speaker"] * occurrences(sentence, "speakers")
        has_year = bool(_YEAR.search(sentence.text))
        if not has_year:
            gaps += ["relative_time"] * occurrences(sentence, "relative_times")
        if not named and not _asks(sentence):
            gap, unsure = _unplaced(sentence, has_year)
            gaps += gap
            doubtful = doubtful or unsure
        names += named + len(_amounts(sentence))
    if sentences and sum(_content(sentence) for sentence in sentences) < _LEAST_CONTENT:
        gaps.append("fragment")
    counts = {
        "resolved_pronoun": resolved,
        "definite": sum(_bare_definites(sentence) for sentence in sentences),
        "stand_in": sum(occurrences(sentence, "stand_ins") for sentence in sentences),
        "connective": sum(begins_with(sentence, "connectives") for sentence in sentences),
        "shortness": max(0.0, 1 - math.log(max(_length(claim), 1)) / math.log(section.enough_words)),
        "names": min(names, section.most_names),
    }
    return Signs(counts, tuple(gaps), doubtful)


def _unplaced(sentence: Sentence, has_year: bool) -> tuple[list[str], bool]:
    """The gap of a sentence that reports an event or a quantity and names nobody; and whether that is in doubt."""
    lists = sentence.lists
    is_measure = bool(occurrences(sentence, "measures"))
    happened = _reports(sentence)
    if not happened and not _amounts(sentence):
        return [], is_measure and not has_year
    if is_measure and (happened or not has_year):
        return ["unplaced"], False
    if has_year:
        return [], False
    if happened and not _may_be_named(sentence):
        return ["unplaced"], False
    return [], bool(happened or lists.own.spaced or not occurrences(sentence, "verbs"))


def _reports(sentence: Sentence) -> bool:
    """Whether a sentence reports an event: a verb in the past, after a noun."""
    lists = sentence.lists
    if not lists.own.spaced:
        return bool(occurrences(sentence, "past"))
    present = not lists["verbs"].isdisjoint(sentence.lower)
    endings = () if present else lists.own.past_endings  # "ships built in Kiel are": no event
    for place, word in enumerate(sentence.lower):
        before = sentence.lower[place - 1] if place else ""
        if word in lists["past"] and before not in lists["verbs"] and (before or lists.own.capital_nouns):
            return True
        is_verb = (
            place > 0 and len(word) > 4 and sentence.words[place][0].islower() and word.endswith(endings or "\x00")
        )
        if is_verb and not {sentence.lower[place - 1]} & lists["small"]:
            return True
    return False


def _may_be_named(sentence: Sentence) -> bool:
    """Whether the first word may be a name: it has a capital and is no function word, office or quantity."""
    lists = sentence.lists
    if not lists.own.spaced:
        return False
    first = sentence.lower[0]
    return sentence.words[0][0].isupper() and not any(first in lists[field] for field in ("small", "roles", "measures"))


def _names(sentence: Sentence) -> int:
    """Names that are certain: capitals inside of a sentence, or two in a row; ideographs as a segmenter tags them."""
    lists = sentence.lists
    if not lists.own.spaced:
        import rjieba  # its dictionary takes a third of a second to load

        tagged = sum(len(word) > 1 and tag in _NAME_TAGS for word, tag in rjieba.tag(sentence.text))
        return tagged + len(_QUOTED.findall(sentence.text)) + len(re.findall(r"[A-Za-z]{2,40}", sentence.text))
    capitals = [
        word[0].isupper() and small not in lists["small"]
        for word, small in zip(sentence.words, sentence.lower, strict=True)
    ]
    if all(word.isupper() for word in sentence.words):
        return 0  # a shout
    count = 0
    for place, capital in enumerate(capitals):
        after = capitals[place + 1] if place + 1 < len(capitals) else False
        starts = capital and not (place and capitals[place - 1])
        inside = place > 0 and (not lists.own.capital_nouns or sentence.lower[place - 1] in lists["places"])
        count += starts and (after or inside or sentence.words[place].lower() != sentence.lower[place].lower())
    return count


def _amounts(sentence: Sentence) -> list[str]:
    """Figures that are no year and no score."""
    rest = _YEAR.sub(" ", sentence.text)
    if not sentence.lists.own.spaced:
        return [*_DIGITS.findall(rest), *_CJK_AMOUNT.findall(rest)]
    return [word for word in WORD.findall(rest) if word[0].isdigit() and not _RATING.fullmatch(word)]


def _role(sentence: Sentence, named: int) -> list[str]:
    """An office or a body as the subject of a sentence, with nothing that says which one."""
    lists = sentence.lists
    if not lists.own.spaced:
        return ["role"] if not named and begins_with(sentence, "roles") else []
    for place, word in enumerate(sentence.lower[:_SUBJECT]):
        if word in lists["roles"]:
            names_before = any(_is_capital(other) for other in sentence.words[1:place])
            return [] if names_before or _said(sentence, place + 1) else ["role"]
        if word in lists["verbs"] or word in lists["past"]:
            break
    return []


def _is_capital(word: str) -> bool:
    return word[:1].isupper()


def _bare_definites(sentence: Sentence) -> int:
    """Definite noun phrases that nothing in them or after them says more of."""
    articles = sentence.lists["articles"]
    return sum(word in articles and not _said(sentence, place + 1) for place, word in enumerate(sentence.lower))


def _said(sentence: Sentence, start: int) -> bool:
    """Whether a phrase says which one is meant: a name, a number, or words that go on about it."""
    lists = sentence.lists
    before = ""
    end = start + _REACH
    for word, small in zip(sentence.words[start:end], sentence.lower[start:end], strict=True):
        if word[0].isdigit() or small in lists["postmodifiers"] or "'" in word or "’" in word:
            return True
        is_verb = small in lists["verbs"] or small in lists["past"]
        if is_verb or (before and small.endswith(lists.own.past_endings)):
            return False
        if _is_capital(word) and small not in lists["small"] and (not lists.own.capital_nouns or _is_capital(before)):
            return True
        before = word
    return False


def _pronouns(sentence: Sentence) -> tuple[int, int]:
    """Pronouns that nothing before them in their sentence resolves, and those that something may."""
    lists = sentence.lists
    if not lists.own.spaced:
        open_ones = resolved = 0
        for pronoun in lists.own.pronouns:
            for place in (found.start() for found in re.finditer(re.escape(pronoun), sentence.text)):
                clauses = _CLAUSE.split(sentence.text[:place])
                has_clause = any(len(CJK.findall(clause)) >= _LEAST_CJK for clause in clauses[:-1])
                open_ones, resolved = open_ones + (not has_clause), resolved + has_clause
        return open_ones, resolved
    starts = {0}
    count = 0
    for part in _CLAUSE.split(sentence.text):
        count += len(WORD.findall(part))
        starts.add(count)
    first = min(starts - {0}, default=0) if sentence.lower and sentence.lower[0] in lists["boundaries"] else 0
    starts.update(at for at, word in enumerate(sentence.lower) if word in lists["boundaries"])
    places = [place for place in range(len(sentence.lower)) if _is_pronoun(sentence, place)][:_MOST]
    resolved = 0
    for place in places:
        within = sentence.lower[place] in lists["possessives"]
        end = place if within else max(start for start in starts if start <= place)
        # "When she was nine, Clara Voss built a radio": the name follows.
        ahead = place < first and any(
            _is_noun(sentence, at) and _is_capital(sentence.words[at]) for at in range(first, len(sentence.lower))
        )
        resolved += ahead or any(_is_noun(sentence, at) for at in range(end))
    return len(places) - resolved, resolved


def _is_pronoun(sentence: Sentence, place: int) -> bool:
    lists, word = sentence.lists, sentence.lower[place]
    following = [*sentence.lower[place + 1 : place + 1 + _REACH], ""]
    before_verb = following[0] in lists["verbs"] or following[0] in lists["past"]
    if word not in lists["pronouns"] and not (before_verb and word in lists["pronouns_before_verbs"]):
        return False
    has_verb = before_verb or sentence.words[place].lower() != word
    return word not in lists["dummies"] or lists["expletives"].isdisjoint(following[: 3 if has_verb else 1])


def _is_noun(sentence: Sentence, place: int) -> bool:
    word, lists = sentence.lower[place], sentence.lists
    if not word[0].isalpha() or len(word) < 2 or word in lists.known:
        return False
    return place == 0 or not lists.own.capital_nouns or sentence.words[place][0].isupper()


def _content(sentence: Sentence) -> int:
    """Words that say something; two ideographs are about one."""
    lists = sentence.lists
    if not lists.own.spaced:
        rest = re.sub(r"[年月日時时分]", "", sentence.text)
        return len(CJK.findall(rest)) // 2 + len(re.findall(r"[A-Za-z]{2,40}", rest))
    return sum(word[0].isalpha() and word not in lists["small"] for word in sentence.lower)


def _asks(sentence: Sentence) -> bool:
    return sentence.text.rstrip("\"'”’)」 ").endswith(("?", "？")) or begins_with(sentence, "askers")


def _length(text: str) -> float:
    """Different words, all of a single letter as one; two different ideographs are about one."""
    words = {plain(word) if len(word) > 1 else "" for word in WORD.findall(CJK.sub(" ", text))}
    return len(words) + len(set(CJK.findall(text))) / 2


def _as_read(text: str) -> str:
    """A text without unseen characters, with letters in one form; brackets and dashes end a sentence."""
    return _MARKS.sub("\n", unicodedata.normalize("NFKC", cleaned(text, _MOST_CHARACTERS)))
