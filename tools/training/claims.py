"""``python -m tools.training.claims``: the English words of labelled pages, for the offline judge of claims.

A word that is mostly in small letters inside of sentences is no name. One that often follows "to" is a verb.
"""

import re
from collections import Counter
from collections.abc import Iterator
from itertools import pairwise

from handlers.decontextualize_claim import DecontextualizeClaimRules
from handlers.text.sentences import sentences
from tests.rules import CONFIG, shipped_rules
from tools import labelled

WORDS = CONFIG.parent / "handlers" / "claims" / "trained.json"
SETS = ("wcxb_main_content", "wice_claim_support", "factscore_human_claims")
ABOUT = f"Words of {', '.join(SETS)}, by `python -m tools.training.claims`; no text is kept."
_BEFORE_VERBS = frozenset(["to", "will", "would", "can", "could", "should", "must", "may", "might", "not", "don't"])
_ENGLISH = re.compile(r"\b(?:the|of|and|to|in)\b")
_WORD = re.compile(r"[^\W\d_]+(?:['’][^\W\d_]+)*")
_MARKUP = re.compile(r"(?s)<(script|style|noscript)\b.*?</\1>|<[^<>]*>")
_LEAST_WORDS, _LEAST_SEEN, _LEAST_ENGLISH, _LEAST_VERB, _NOW_AND_THEN = 7, 3, 0.13, 0.3, 0.03


def main() -> None:
    """Counts words, and writes those that are no names, and the verbs among them."""
    small, capital, after = Counter[str](), Counter[str](), Counter[str]()
    for text in texts():
        for sentence in sentences(text):
            words = _WORD.findall(sentence)
            if len(words) > _LEAST_WORDS and len(_ENGLISH.findall(sentence)) >= _LEAST_ENGLISH * len(words):
                small.update(word for word in words[1:] if word.islower())
                capital.update(word.lower() for word in words[1:] if not word.islower())
                after.update(word for before, word in pairwise(words) if before.lower() in _BEFORE_VERBS)
    rules = shipped_rules(DecontextualizeClaimRules)
    listed = rules.claims.wording.languages["en"].lists_by_word.keys()
    for word in frozenset[str]().union(*rules.small_words.values()) - listed:
        del small[word]
    common = [word for word, count in small.items() if len(word) > 1 and count >= max(_LEAST_SEEN, capital[word])]
    shares = {
        word: after[word] / small[word] for word in common if after[word] >= 3 and not word.endswith(("ing", "ly"))
    }
    verbs = [word for word, share in shares.items() if share >= _LEAST_VERB]
    both = [word for word, share in shares.items() if _NOW_AND_THEN <= share < _LEAST_VERB]
    written = {"about": ABOUT, "common": " ".join(sorted(common)), "verbs": " ".join(sorted(verbs))}
    written["nouns_and_verbs"] = " ".join(sorted(both))
    section = {"languages": {"en": {"known": written}}}
    labelled.store(WORDS, section)


def texts() -> Iterator[str]:
    for folder, case in labelled.pages():
        yield _MARKUP.sub("\n", labelled.body(folder, case).decode("utf-8", "replace"))
    for value in (value for name in SETS for case in labelled.cases(name) for value in case.values()):
        yield from (text for text in (value if isinstance(value, list) else [value]) if isinstance(text, str))


if __name__ == "__main__":
    main()
