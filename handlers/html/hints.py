"""What class names and ids say an element is: navigation or the like, beside the text, a byline, a date, a review.

The attribute's text goes in, a bit set comes out. Names are taken apart into words (``entry-date``, ``pubDate``) and
looked up in the configured lists; what a site calls its elements is no rule here, only words that many sites share.
"""

from __future__ import annotations

import re

from selectolax.lexbor import LexborNode

from handlers.html.reading import PageReadingSection

BOILERPLATE, BYLINE, DATE, BESIDE, OTHERS, EVENT = 1, 2, 4, 8, 16, 32
_WORD = re.compile(r"[A-Z]?[a-z]+|[A-Z]+|[^\W\d_a-zA-Z]+")
_ONLY_LETTERS = bytes(byte if chr(byte).isalpha() and byte < 128 else 32 for byte in range(256))
_MAX_CHARACTERS = 200
_MAX_KNOWN = 50_000


class Hints:
    """Word lists of the configuration, ready for look-up.

    Attributes:
        known: Answers so far; sites repeat few names, and a look-up here is a tenth of an answer.
    """

    def __init__(self, reading: PageReadingSection) -> None:
        self._boilerplate = frozenset(reading.boilerplate_hints)
        self._byline = frozenset(reading.byline_hints)
        self._byline_not = frozenset(reading.byline_not)
        self._date = frozenset(reading.date_hints)
        self._date_not = frozenset(reading.date_not)
        self._beside = frozenset(reading.beside_hints)
        self._others = frozenset(reading.others_hints)
        self._events = frozenset(reading.event_hints)
        telling = self._boilerplate | self._byline | self._date | self._beside | self._others | self._events
        self._telling_ascii = frozenset(word.encode() for word in telling)
        self.known: dict[str, int] = {}

    def of_node(self, node: LexborNode) -> int:
        """What an element's class names and its id say together."""
        found = 0
        if names := node.attrs.get("class"):
            found = self.of(names)
        if identity := node.id:
            found |= self.of(identity)
        return found

    def of(self, names: str) -> int:
        """The bits of this module that apply to a class attribute or id, joined."""
        found = self.known.get(names)
        if found is None:
            found = self._look_up(names[:_MAX_CHARACTERS])
            if len(self.known) < _MAX_KNOWN and len(names) <= _MAX_CHARACTERS:
                self.known[names] = found
        return found

    def _look_up(self, names: str) -> int:
        if names.isascii() and names.islower():
            # The usual case, and several times as fast: no words run together.
            parts = names.encode().translate(_ONLY_LETTERS).split()
            if self._telling_ascii.isdisjoint(parts):
                return 0
            words = [part.decode() for part in parts]
        else:
            words = [word.lower() for word in _WORD.findall(names)]
        found = 0 if self._boilerplate.isdisjoint(words) else BOILERPLATE
        if not self._byline.isdisjoint(words) and self._byline_not.isdisjoint(words):
            found |= BYLINE
        if not self._date.isdisjoint(words) and self._date_not.isdisjoint(words):
            found |= DATE
        if not self._beside.isdisjoint(words):
            found |= BESIDE
        if not self._others.isdisjoint(words):
            found |= OTHERS
        if not self._events.isdisjoint(words):
            found |= EVENT
        return found
