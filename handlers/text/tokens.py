"""Words of a text, as BM25 counts them: in any language, without case, width and variant characters.

A dictionary divides Chinese. What it does not know, and other scripts without spaces, are divided into pairs of
characters. Linear in the length of the text.
"""

from __future__ import annotations

import re
import unicodedata
from collections.abc import Iterable, Set
from itertools import groupby

import regex

from handlers.text.scripts import HAN, HANGUL, KANA

MAX_CHARACTERS = 100_000
"""Of a text that is read."""
_MAX_TOKEN, _PIECE = 64, 500
_SHORTEST_NOUN, _SHORTEST_VERB, _SHORTEST_GERMAN = 3, 4, 6
_VERB_ENDINGS = ("ing", "ed", "e")
_VOWELS, _NEVER_DOUBLED = "aeiou", "aeiouwxy"

_ASCII_RUNS = re.compile(rf"\w{{1,{_MAX_TOKEN}}}")
# Vowel signs are marks, and parts of words.
_RUNS = regex.compile(rf"[\w\p{{M}}\p{{N}}]{{1,{_MAX_TOKEN}}}")
_POSSESSIVE = re.compile(r"['’]s(?!\w)")
_HIRAGANA, _KATAKANA = r"\p{InHiragana}", r"\p{InKatakana}"
_SOUTH_EAST_ASIAN = r"\p{Thai}\p{Lao}\p{Myanmar}\p{Khmer}"
_OTHERS = f"{KANA}{HANGUL}{_SOUTH_EAST_ASIAN}"
_UNDIVIDED = regex.compile(f"[{HAN}{_OTHERS}]")
_ONLY_HAN = regex.compile(rf"[\x00-\x7f{HAN}]*")
_SCRIPTS = regex.compile(
    f"(?P<han>[{HAN}]+)|(?P<word>[{_KATAKANA}]+)|(?P<pairs>[{_HIRAGANA}]+|[{HANGUL}]+|[{_SOUTH_EAST_ASIAN}]+)"
    f"|(?P<other>[^ {HAN}{_OTHERS}]+)"
)
_PARTICLE = regex.compile(
    rf"(?<=[^\s{_HIRAGANA}])[{_HIRAGANA}]{{1,2}}(?![{_HIRAGANA}])"
    rf"|(?<![{_HIRAGANA}])[{_HIRAGANA}]{{1,2}}(?=[^\s{_HIRAGANA}])"
)
# Two ways to write one character in the same script; simplified and traditional are more than that.
_VARIANTS = tuple(zip("臺裏峯羣啓爲衆麪綫祕", "台裡峰群啟為眾麵線秘", strict=True))


def tokenize(text: str) -> list[str]:
    """The tokens of a text, in order; of the first ``MAX_CHARACTERS``.

    Dictionary words of Chinese come with the words they are made of, so that 立法院 is found by 立法 too.

    >>> tokenize("Zürich’s 2 CAFÉS, ＡＢＣ")
    ['zürich', '2', 'cafés', 'abc']
    >>> tokenize("立法院的卓榮泰")
    ['立法', '法院', '立法院', '的卓', '卓榮', '榮泰']
    """
    return divide(fold(text))


def divide(folded: str) -> list[str]:
    """The tokens of a text that is folded already."""
    return _divided(folded, overlapping=True) if is_undivided(folded) else folded.split()


def keywords_of(folded: str, stop_words: Set[str]) -> tuple[str, ...]:
    """The tokens of a folded query that say something of its subject, each once; all tokens if no one does.

    In a script without spaces, stop words are removed before the rest is divided into pairs. So are particles of
    Japanese: one or two characters of hiragana beside another script.

    >>> keywords_of("when was the dam closed", frozenset({"when", "was", "the"}))
    ('dam', 'closed')
    >>> keywords_of("水庫何時關閉", frozenset({"何時"})), keywords_of("京都の紅葉はいつ", frozenset({"いつ"}))
    (('水庫', '關閉'), ('京都', '紅葉'))
    """
    text = folded
    if is_undivided(folded):
        found = (word for word in stop_words if len(word) > 1 and word in folded and is_undivided(word))
        # The longest first: a shorter one may be part of it.
        for word in sorted(found, key=lambda word: (-len(word), word)):
            text = text.replace(word, " ")
        text = _PARTICLE.sub(" ", text)
    kept = tuple(dict.fromkeys(token for token in divide(text) if token not in stop_words))
    return kept or tuple(dict.fromkeys(divide(folded)))


def words_of(text: str) -> list[str]:
    """The same without overlaps: each part of the text is in one word only, so that they can be counted.

    >>> words_of("立法院 passed it")
    ['立法院', 'passed', 'it']
    """
    folded = fold(text)
    return _divided(folded, overlapping=False) if is_undivided(folded) else folded.split()


def fold(text: str) -> str:
    """The words of a text with a space between them: no case, no width, no punctuation, no variant characters.

    >>> fold("Rain… in ＴＡＩＰＥＩ: 臺北!")
    'rain in taipei 台北'
    """
    folded = text[:MAX_CHARACTERS].casefold().replace("_", " ")
    if "'s" in folded or "’s" in folded:
        folded = _POSSESSIVE.sub("", folded)
    folded = " ".join((_ASCII_RUNS if folded.isascii() else _RUNS).findall(folded))
    if folded.isascii():
        return folded
    if not unicodedata.is_normalized("NFKC", folded):
        # Piece by piece, for composing a text of nothing but marks takes quadratic time.
        pieces = (folded[at : at + _PIECE] for at in range(0, len(folded), _PIECE))
        folded = "".join(unicodedata.normalize("NFKC", piece) for piece in pieces).casefold()
    for variant, usual in _VARIANTS:
        folded = folded.replace(variant, usual)
    return folded


def forms_of(token: str) -> tuple[str, ...]:
    """A token of a query and its inflections, by the endings of English nouns (Harman 1991, the S stemmer) and verbs.

    >>> forms_of("cities"), forms_of("dog"), forms_of("glass")
    (('cities', 'city', 'citie'), ('dog', 'dogs'), ('glass', 'glasses'))
    >>> "closed" in forms_of("close"), "close" in forms_of("closing"), "stop" in forms_of("stopped")
    (True, True, True)
    """
    forms = _numbers_of(token)
    if len(token) < _SHORTEST_VERB:
        return forms
    # A German word may end in -e or -en: entkalke, entkalken.
    german = (token[:-1],) if token.endswith("en") else (f"{token}n",) if token.endswith("e") else ()
    return tuple(dict.fromkeys((*forms, *_verb_forms(token), *(german if len(token) >= _SHORTEST_GERMAN else ()))))


def _verb_forms(token: str) -> tuple[str, ...]:
    """Regular forms of what may be an English verb; none of a token with other signs than its letters."""
    if not (token.isascii() and token.isalpha()) or token.endswith("s"):
        return ()
    ending = next((ending for ending in _VERB_ENDINGS if token.endswith(ending)), "")
    stem = token.removesuffix(ending)
    if len(stem) < _SHORTEST_NOUN:
        return ()
    if not ending:
        # The last letter is doubled behind one vowel: stop, stopped.
        doubled = stem[-1] not in _NEVER_DOUBLED and stem[-2] in _VOWELS and stem[-3] not in _VOWELS
        forms = (f"{stem}ed", f"{stem}ing")
        return (*forms, f"{stem}{stem[-1]}ed", f"{stem}{stem[-1]}ing") if doubled else forms
    others = tuple(f"{stem}{other}" for other in _VERB_ENDINGS)
    if ending == "e":
        return others
    return (*others, f"{stem}s", f"{stem}es", stem[:-1] if stem[-1] == stem[-2] else stem)


def _numbers_of(token: str) -> tuple[str, ...]:
    if len(token) < _SHORTEST_NOUN or not (token.isascii() and token.isalpha()):
        return (token,)
    if token.endswith("ies"):
        return token, f"{token[:-3]}y", token[:-1]
    if token.endswith(("ss", "x", "ch", "sh", "us", "is")):
        return token, f"{token}es"
    if token.endswith("es"):
        return token, token[:-1], token[:-2]
    if token.endswith("s"):
        return (token, token[:-1]) if len(token) > _SHORTEST_NOUN else (token,)
    if token.endswith("y") and token[-2] not in "aeiou":
        return token, f"{token[:-1]}ies"
    return token, f"{token}s"


def is_undivided(text: str) -> bool:
    """Whether a folded text is, in part, of a script that puts no spaces between words."""
    return not text.isascii() and _UNDIVIDED.search(text) is not None


def _divided(folded: str, *, overlapping: bool) -> list[str]:
    if _ONLY_HAN.fullmatch(folded):
        return _han_words(folded, overlapping=overlapping)
    tokens: list[str] = []
    for part in _SCRIPTS.finditer(folded):
        if part.lastgroup == "han":
            tokens += _han_words(part[0], overlapping=overlapping)
        elif part.lastgroup == "pairs":
            tokens += _pairs(part[0], overlapping=overlapping)
        else:
            tokens.append(part[0])
    return tokens


def _han_words(text: str, *, overlapping: bool) -> list[str]:
    """Dictionary words, and the characters between them in pairs.

    Words are not guessed from their characters (HMM): that divides the same name differently in each sentence.
    """
    import rjieba  # its dictionary takes a third of a second to load, and most queries need none

    words: Iterable[str] = rjieba.cut_for_search(text, False) if overlapping else rjieba.cut(text, False)
    tokens: list[str] = []
    for is_unknown, group in groupby(words, lambda word: len(word) == 1 and word != " "):
        run = [word for word in group if word != " "]
        tokens += _pairs("".join(run), overlapping=overlapping) if is_unknown else run
    return tokens


def _pairs(run: str, *, overlapping: bool) -> list[str]:
    if len(run) < 3:
        return [run]
    return [run[at : at + 2] for at in (range(len(run) - 1) if overlapping else range(0, len(run), 2))]
