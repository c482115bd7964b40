"""What language a page is in: its declaration, else the script and the small words of its text. Total, no model."""

from __future__ import annotations

import re

_SAMPLE = 1500
_SHORT_SAMPLE = 600
_MIN_WORDS = 60
_ONE_IN = 25
_MANY_ONE_IN = 10
_FEW = 3
_LATIN_BYTES = bytes(range(0xC6)) + b"\xe2"
_SCRIPTS = (
    ("ja", re.compile(r"[\u3040-\u30ff]")),
    ("ko", re.compile(r"[\uac00-\ud7af]")),
    ("zh", re.compile(r"[\u4e00-\u9fff]")),
    ("ru", re.compile(r"[\u0400-\u04ff]")),
    ("ar", re.compile(r"[\u0600-\u06ff]")),
    ("he", re.compile(r"[\u0590-\u05ff]")),
    ("el", re.compile(r"[\u0370-\u03ff]")),
    ("th", re.compile(r"[\u0e00-\u0e7f]")),
    ("hi", re.compile(r"[\u0900-\u097f]")),
)
_SMALL_WORDS = {
    "en": frozenset(
        ["the", "of", "and", "to", "in", "is", "that", "for", "with", "was", "on", "are", "this", "it", "by"]
    ),
    "de": frozenset(
        ["der", "die", "und", "das", "den", "von", "ist", "nicht", "mit", "ein", "eine", "für", "auf", "im", "sich"]
    ),
    "fr": frozenset(
        ["le", "la", "les", "des", "et", "en", "est", "une", "un", "du", "que", "pour", "dans", "qui", "par"]
    ),
    "es": frozenset(["el", "la", "los", "de", "y", "en", "que", "las", "un", "una", "por", "con", "para", "es", "del"]),
    "it": frozenset(
        ["il", "la", "di", "che", "e", "per", "un", "una", "è", "del", "della", "con", "non", "sono", "le"]
    ),
    "pt": frozenset(["o", "a", "os", "de", "e", "que", "em", "um", "uma", "para", "com", "não", "do", "da", "por"]),
    "nl": frozenset(
        ["de", "het", "een", "en", "van", "in", "is", "dat", "op", "te", "voor", "met", "zijn", "niet", "aan"]
    ),
}
_TAG = re.compile(r"[a-zA-Z]{2,3}(?=$|[-_])")


def find_language(declared: str, text: str) -> str | None:
    """The BCP 47 primary subtag, lower-case; None where nothing says it.

    A declaration that the script or the small words contradict (templates often say ``en``) is not believed.

    >>> find_language("zh-Hant-TW", "")
    'zh'
    >>> find_language("en", "中央氣象署今天發布豪雨特報，提醒民眾注意")
    'zh'
    """
    sample = text[:_SAMPLE]
    # Latin letters with their marks, and the signs that go with them, begin with C2 to C5 or E2 in UTF-8.
    written = _by_script(sample) if sample.encode("utf-8", "replace").translate(None, _LATIN_BYTES) else None
    match = _TAG.match(declared)
    stated = match.group().lower() if match else None
    if written is not None and stated in {None, *_SMALL_WORDS}:
        return written
    if stated is None:
        return _by_small_words(sample, _FEW)
    if _is_contradicted(stated, sample):
        return _by_small_words(sample, len(sample.split()) // _MANY_ONE_IN) or stated
    return stated


def _is_contradicted(stated: str, sample: str) -> bool:
    """Whether a text long enough to tell has next to none of the small words of its declared language."""
    own = _SMALL_WORDS.get(stated)
    if own is None:
        return False
    words = sample[:_SHORT_SAMPLE].lower().split()
    return len(words) >= _MIN_WORDS and sum(word in own for word in words) * _ONE_IN < len(words)


def _by_script(sample: str) -> str | None:
    letters = sum(sign.isalpha() for sign in sample)
    for language, pattern in _SCRIPTS:
        share = len(pattern.findall(sample)) / letters if letters else 0.0
        if share > (0.1 if language == "ja" else 0.3):
            return language
    return None


def _by_small_words(sample: str, least: int) -> str | None:
    words = sample.lower().split()
    counts = {language: sum(word in small for word in words) for language, small in _SMALL_WORDS.items()}
    best = max(counts, key=lambda language: counts[language])
    return best if counts[best] >= least else None
