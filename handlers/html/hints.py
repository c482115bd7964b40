"""What class names and ids say an element is, and which elements that call themselves boilerplate are believed.

Names are taken apart into words (``entry-date``, ``pubDate``) and looked up in the configured lists.
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
_NAMED = frozenset(("div", "section", "ul", "ol", "dl", "header", "address", "figure", "table"))


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


class Regions:
    """Elements that call themselves boilerplate, each found when somebody asks for what is inside of it."""

    def __init__(self, tags: list[str], outer: list[int], elements: list[LexborNode], hints: Hints) -> None:
        """Takes the lists of an outline as they grow; not the outline, for the two would keep each other alive.

        Args:
            tags: Names of the block elements.
            outer: Index of the block element around each, a smaller one; -1 for none.
            elements: The elements.
            hints: What class names say.
        """
        self._tags = tags
        self._outer = outer
        self._elements = elements
        self._hints = hints
        self._said: dict[int, int] = {}
        self._region_of: dict[int, int] = {-1: -1}
        self._held: dict[int, int] = {}
        self._total = 0
        self._hidden: dict[int, bool] = {}
        self._beside: dict[int, bool] = {}

    def hint(self, element: int) -> int:
        """What the class names and the id of a block element say (``handlers.html.hints``)."""
        known = self._said.get(element)
        if known is None:
            known = self._said[element] = self._hints.of_node(self._elements[element])
        return known

    def believe(self, running: list[tuple[int, int]]) -> None:
        """Decides which elements are believed.

        Frames and forum posts call themselves widgets and comments too: an element that holds more than half of the
        running text is none, and where hiding leaves next to nothing, nobody is believed. What stands beside the text
        is less of it than a quarter: where it is more, these are names of posts or products.

        Args:
            running: Block elements with running text and its length; an element may come often.
        """
        held: dict[int, int] = {}
        self._total = sum(length for _, length in running)
        for element, length in running:
            region = self.region(element)
            held[region] = held.get(region, 0) + length
        outer = self._outer
        for region in list(held):
            around = region
            while around >= 0 and (around := self.region(outer[around])) not in held:
                held[around] = 0
        # Those inside come after an element, so they are counted when its turn comes.
        for region in sorted(held, reverse=True):
            if region >= 0:
                held[self.region(outer[region])] += held[region]
        self._held = held
        self._hidden, self._beside = {-1: False}, {-1: False}
        seen = sum(length for element, length in running if not self.hides(element))
        if seen * 4 <= self._total:
            self._hidden.clear()
            seen = self._total
        text = sum(length for element, length in running if not self.is_beside(element))
        if text * 4 < seen * 3:
            self._beside = self._hidden

    def hides(self, element: int) -> bool:
        """Whether an element is inside of what is hidden."""
        return self._is_in(element, BOILERPLATE, self._hidden)

    def is_beside(self, element: int) -> bool:
        """Whether an element is no part of the text: inside of what is hidden, of a credit, a caption or the like."""
        return self._is_in(element, BOILERPLATE | BESIDE, self._beside)

    def _is_in(self, element: int, kinds: int, known: dict[int, bool]) -> bool:
        """Whether an element is in a region of one of the kinds that is believed; in none if ``known`` is empty."""
        found = known.get(element)
        if found is not None or not known:
            return bool(found)
        passed = [element]
        region = self.region(element)
        while (found := known.get(region)) is None:
            passed.append(region)
            if self._held.get(region, 0) * 2 <= self._total and self._kind(region) & kinds:
                found = True
                break
            region = self.region(self._outer[region])
        known.update(dict.fromkeys(passed, found))
        return found

    def _kind(self, region: int) -> int:
        return BOILERPLATE if self._tags[region] == "form" else self.hint(region)

    def region(self, element: int) -> int:
        """The innermost element around an element, or itself, that calls itself boilerplate; -1 for none."""
        known = self._region_of
        found = known.get(element)
        if found is not None:
            return found
        tags, outer = self._tags, self._outer
        passed = []
        while (found := known.get(element)) is None:
            passed.append(element)
            tag = tags[element]
            if tag == "form" or (tag in _NAMED and self.hint(element) & (BOILERPLATE | BESIDE)):
                found = element
                break
            element = outer[element]
        for element in passed:
            known[element] = found
        return found
