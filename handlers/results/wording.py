"""The words of a title and of a text: what they name, offer or report, and how the text is built.

A search engine shows little of a page. A listing says there how many things it has ("1,203 jobs"), calls on its reader
to choose ("find and compare", "entdecke") and names their kind and a place ("hotels in Rome"). A text about one thing
speaks in the first person, or reports what others said. Plain text has no anchors, so the share of links is counted
from link phrases and addresses.
"""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass
from itertools import compress, islice, pairwise, takewhile
from itertools import count as count_up

from handlers.text.patterns import CompiledPatterns
from handlers.text.scripts import HAN_RUN, counts_by_language
from handlers.text.sentences import sentence_ends, sentences
from handlers.text.words import fold, split_words

# The trees were grown from measures that these numbers limit. They belong to the trees: with other numbers, train anew.
_NAME_WORDS = 4
_LANGUAGE_WORDS = 120
_HEADLINE_WORDS = 5
_AFTER_CHARACTERS, _AFTER_WORDS = 60, 4
_CALL_CHARACTERS = 40
_CHARACTERS, _WORDS = 400, 80
_MAX_NUMBERS = 12
_MIN_COUNTED, _MIN_IN_TITLE = 20, 5
"""A text may describe fewer things one by one; a title has no room to."""
_OF_ONE_ITEM = 2
_PAIRED = 1000
_SENTENCE_WORDS = range(5, 120)

_PART = re.compile(r"\s[|·•—–»-]\s|[|:]")
_NAMED_PART = re.compile(r"\s[|·•—–»-]\s|[|｜丨_]")
_FIRST_IDEOGRAPH, _AFTER_IDEOGRAPHS = "\u3400", "\ua000"
_NUMBER = re.compile(r"\d[\d.,]{0,12}")
_YEAR = re.compile(r"(?:19|20)\d\d")
_COUNT_END = re.compile(r"[.!?:;。！？]\s|\d")
_ONLY_DIGITS = str.maketrans("", "", ".,")
_ADDRESS = re.compile(r"(?:https?://|www\.)[^\s<>\"')\]]{3,200}")
_MARKS = {"commas": (",", "，", "、"), "stops": (". ", "。"), "questions": ("?", "？"), "exclamations": ("!", "！")}


@dataclass(frozen=True, slots=True)
class Title:
    """A title that was read once.

    Attributes:
        folded: In lower case, with narrow signs.
        first: Its part before the site's name.
        name: The words of that part.
        headline: Words of its longest part, since names of sites are short; two ideographs count as a word.
        listing, navigation: The words that are typical of the title of a listing or of navigation, or "".
        navigation_share: The share of its part that these words of navigation are.
    """

    text: str = ""
    folded: str = ""
    words: tuple[str, ...] = ()
    first: str = ""
    name: tuple[str, ...] = ()
    headline: float = 0.0
    listing: str = ""
    navigation: str = ""
    navigation_share: float = 0.0


def read_title(title: str, patterns: CompiledPatterns) -> Title:
    """Reads a title, which may be empty."""
    folded = fold(" ".join(title.split()))
    first = _PART.split(folded, maxsplit=1)[0].strip()
    # The part behind a headline is the name of a site or of a section.
    named = first if len(first.split()) >= _HEADLINE_WORDS else folded
    parts = map(split_words, _NAMED_PART.split(folded))
    share, navigation = max(_navigation(part.strip(), patterns) for part in _PART.split(folded))
    return Title(
        text=title,
        folded=folded,
        words=tuple(split_words(folded)),
        first=first,
        name=tuple(split_words(first)),
        headline=max(len(words) - _ideographs(words) / 2 for words in parts),
        listing=_first_match(patterns.listing_titles, named),
        navigation=navigation,
        navigation_share=share,
    )


def _first_match(expressions: tuple[re.Pattern[str], ...], title: str) -> str:
    return next((match.group().strip() for expression in expressions if (match := expression.search(title))), "")


def _navigation(part: str, patterns: CompiledPatterns) -> tuple[float, str]:
    """The share of a title's part that its words of navigation are, and these words: "Register to vote" has a third."""
    found = _first_match(patterns.navigation_titles, part)
    return (len(split_words(found)) / max(1, len(split_words(part))) if found else 0.0), found


def _ideographs(words: Sequence[str]) -> int:
    return sum(_FIRST_IDEOGRAPH <= word < _AFTER_IDEOGRAPHS for word in words)


@dataclass(frozen=True, slots=True)
class Offers:
    """What a title and the beginning of a text offer.

    Attributes:
        calls: Sentences that call on the reader to choose ("Compare …"), and different phrases such as "wide range".
        counted: A number with the kind of things that it counts, or "".
        placed: The kind of things that the title has in or near a place, or "".
        reports: Different phrases in the first person, or of a report.
    """

    calls: int = 0
    counted: str = ""
    placed: str = ""
    reports: int = 0


def find_offers(title: Title, text: str, words: Sequence[str], patterns: CompiledPatterns) -> Offers:
    """Looks through a title and the beginning of a folded text and its words."""
    text, both = text[:_CHARACTERS], [list(title.words), list(words[:_WORDS])]
    calls = sum(
        bool(patterns.offer_calls.find(begin, (0,)))
        for sentence in sentences(text, is_folded=True)
        if (begin := split_words(sentence[:_CALL_CHARACTERS]))
    )
    return Offers(
        calls=calls + len({phrase for found in both for phrase in patterns.offer_phrases.find(found)}),
        counted=_counted(title.folded, _MIN_IN_TITLE, patterns) or _counted(text, _MIN_COUNTED, patterns),
        placed=_placed(title.words, patterns),
        reports=len({phrase for found in both for phrase in patterns.report_phrases.find(found)}),
    )


def _counted(text: str, least: int, patterns: CompiledPatterns) -> str:
    for number in islice(_NUMBER.finditer(text), _MAX_NUMBERS):
        if int(number.group().translate(_ONLY_DIGITS)) < least or _YEAR.fullmatch(number.group()):
            continue
        after = text[number.end() : number.end() + _AFTER_CHARACTERS]
        words = split_words(_COUNT_END.split(after, maxsplit=1)[0])[:_AFTER_WORDS]
        if found := patterns.offer_nouns.find(words):
            joint = "" if found[0][0] > "\u2fff" else " "
            return f"{number.group()} {joint.join(found[0])}"
    return ""


def _placed(title: Sequence[str], patterns: CompiledPatterns) -> str:
    """A kind of things right before a word such as "in"."""
    for before, word in pairwise(title):
        if (nouns := patterns.offer_nouns_before.get(word)) is not None and nouns.find([before]):
            return f"{before} {word}"
    return ""


def measure_text(text: str, patterns: CompiledPatterns) -> dict[str, float]:
    """Measures of a text, by names that begin with ``text_``; never raises. Without any word all are 0.

    ``function_words`` is the share of words such as "the" or "and", which running text has and lists of labels lack; in
    it two ideographs count as a word. An item phrase counts where it is rare, since a frequent one accompanies many
    items. Labels begin with a capital, alike blocks repeat pairs of words, a menu comes before the running text.
    """
    folded = fold(text)
    words = split_words(folded)
    if not words:
        text = folded = ""
    count, tokens, paired, tail = max(1, len(words)), text.split(), words[:_PAIRED], words[len(words) // 2 :]
    # Addresses count as one word each, and their own words not at all.
    addresses = _ADDRESS.findall(folded) if "://" in folded or "www." in folded else []
    places = list(compress(count_up(), map(patterns.phrase_begins.__contains__, words)))
    phrases = patterns.link_phrases.find(words, places)
    phrase_words = sum(map(len, phrases)) + len(addresses)
    address_words = sum(len(split_words(address)) for address in addresses)
    ideographs = 0 if text.isascii() else _ideographs(words)
    characters, sentence_words = _in_sentences(folded, bool(ideographs))
    item_phrases = Counter(patterns.item_phrases.find(words, places))
    return {
        "text_words": len(words),
        "text_link_phrases": len(phrases) + len(addresses),
        "text_link_share": min(1.0, phrase_words / max(1, count - address_words + len(addresses))),
        "text_content_share": min(1.0, characters / max(1, len(text))),
        "text_sentence_words": sentence_words,
        "text_function_words": max(
            _share_of(words, patterns.stop_words) * (1.0 + ideographs / count),
            max(counts_by_language(words[:_LANGUAGE_WORDS], patterns.details.small_words).values(), default=0)
            / min(count, _LANGUAGE_WORDS),
        ),
        "text_account_phrases": len(set(patterns.account_phrases.find(words, places))),
        "text_item_phrases": sum(times <= _OF_ONE_ITEM for times in item_phrases.values()),
        "text_capitals": sum(map(str.istitle, tokens)) / max(1, len(tokens)),
        "text_numbers": sum(map(str.isdecimal, tokens)) / count,
        "text_variety": len(set(words)) / count,
        "text_repeated_pairs": 1.0 - len(set(pairwise(paired))) / max(1, len(paired) - 1) if words else 0.0,
        "text_tail_function_words": _share_of(tail, patterns.stop_words),
        **{f"text_{name}": sum(map(text.count, marks)) / count for name, marks in _MARKS.items()},
    }


def _share_of(words: Sequence[str], some: frozenset[str]) -> float:
    return sum(map(some.__contains__, words)) / max(1, len(words))


def _in_sentences(text: str, has_ideographs: bool) -> tuple[int, int]:
    """Characters and words of a folded text in sentences. Labels run together are too short or too long for one."""
    # Counting blanks is cheaper than finding words; ideographs have none between them, so each is made one.
    blanks = HAN_RUN.sub(lambda run: " " * len(run[0]), text) if has_ideographs else text
    characters = total = 0
    for begin, end in pairwise((0, *sentence_ends(text, is_folded=True))):
        words = blanks.count(" ", begin, end)
        if words in _SENTENCE_WORDS and text[end - 1] != "\n":
            characters += end - begin
            total += words
    return characters, total


def languages_of(words: Sequence[str], patterns: CompiledPatterns) -> frozenset[str]:
    """Stems of the packs whose stop words are the most frequent at the beginning of a text, in lower case.

    They are all packs with endings of plurals if the text has no stop word.
    """
    counts = counts_by_language(words[:_LANGUAGE_WORDS], patterns.stop_words_of)
    most = max(counts.values(), default=0)
    return frozenset(stem for stem, count in counts.items() if count == most) if most else frozenset(patterns.plurals)


def plural_of(name: Sequence[str], languages: frozenset[str], patterns: CompiledPatterns) -> str:
    """The last word of a short name, if it has the ending of a plural in one of the languages; "" if not.

    A name that begins with an article or the like is the name of one thing: "The Beatles". What follows a preposition
    is no part of it: "vets in Kent" are vets, "dosage for adults" is one dosage. Prices and hours are of one place.
    """
    if not name or name[0] in patterns.stop_words:
        return ""
    head = list(takewhile(lambda word: word not in patterns.stop_words, name))
    if len(head) > _NAME_WORDS or head[-1] in patterns.information_words:
        return ""
    endings = (ending for stem in languages for ending in patterns.plurals.get(stem, ()))
    return head[-1] if any(ending.search(head[-1]) for ending in endings) else ""
