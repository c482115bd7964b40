"""What an element is by its class names and id, and which elements are boilerplate.

Names are split into words (``entry-date``, ``pubDate``), which are looked up in the configured lists.
"""

from __future__ import annotations

import re

from selectolax.lexbor import LexborNode

from handlers.html.reading import PageReadingSection

BOILERPLATE, BYLINE, DATE, BESIDE, OTHERS, EVENT, CONSENT = (1 << bit for bit in range(7))
PLACES = {
    name: 128 << number
    for number, name in enumerate(("slide", "text", "title", "foot", "modal", "side", "post", "product"))
}
"""Places of a template, each with the words of its names in ``place_hints``."""
_WORD = re.compile(r"[A-Z]?[a-z]+|[A-Z]+|[^\W\d_a-zA-Z]+")
_ONLY_LETTERS = bytes(byte if chr(byte).isalpha() and byte < 128 else 32 for byte in range(256))
_NUMBERING = re.compile(r"[\d\W_]+")
_NUMBERS = re.compile(r"\d+")
_MAX_STEMS = 2
_MAX_CHARACTERS = 200
_MAX_KNOWN = 50_000
_NAMED = frozenset(("div", "section", "ul", "ol", "dl", "header", "address", "figure", "table", "details"))
_DIALOGS = frozenset(("dialog", "alertdialog"))
_FURNITURE = frozenset(("nav", "menu", "dialog", "aside", "footer"))
_HOLDS = 0.5
"""Share of a page's running text, and of what is outside of furniture, from which on furniture may hold the content."""
_PROSE = 0.7
"""Share of running text in furniture, from which on it may hold the content."""
_LITTLE = 400
"""Characters outside of furniture, below which it holds the content though the page's heading is elsewhere."""


def plain(heading: str) -> str:
    """Without numbers and signs: "12 Comments", "Reviews (3)"."""
    return " ".join(_NUMBERING.sub(" ", heading.casefold()).split())


class Hints:
    """The configured words of class names and ids.

    Attributes:
        addressed: What tells whether a text addresses a language model.
        known: Answers so far. Sites repeat few names, and a look-up here takes a tenth of the time of an answer.
    """

    def __init__(self, reading: PageReadingSection) -> None:
        lists = (
            (BOILERPLATE, reading.boilerplate_hints, ()),
            (BYLINE, reading.byline_hints, reading.byline_not),
            (DATE, reading.date_hints, reading.date_not),
            (BESIDE, reading.beside_hints, ()),
            (OTHERS, reading.others_hints, ()),
            (EVENT, reading.event_hints, ()),
            (CONSENT, reading.consent_hints, ()),
            *((bit, reading.place_hints.get(name, ()), ()) for name, bit in PLACES.items()),
        )
        self._lists = [(bit, frozenset(words), frozenset(no_words)) for bit, words, no_words in lists]
        self._telling = frozenset(word for _, words, _ in lists for word in words)
        self.others_headings = frozenset(map(plain, reading.others_headings))
        self.known: dict[str, int] = {}
        self.addressed = reading.addressed.compiled
        self._stems: dict[str, str] = {}

    def stem(self, names: str) -> str:
        """The first class names without their numbers, which count states, sizes and items."""
        found = self._stems.get(names)
        if found is None:
            found = " ".join(_NUMBERS.sub("", names[:_MAX_CHARACTERS]).split()[:_MAX_STEMS])
            if len(self._stems) < _MAX_KNOWN and len(names) <= _MAX_CHARACTERS:
                self._stems[names] = found
        return found

    def of_node(self, node: LexborNode) -> int:
        """What an element's class names and its id say together."""
        # All attributes at once: to ask for one that an element lacks takes twice as long.
        attributes = node.attributes
        names, identity = attributes.get("class"), attributes.get("id")
        found = self.of(names) if names else 0
        return found | self.of(identity) if identity else found

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
            words = names.encode().translate(_ONLY_LETTERS).decode().split()
        else:
            words = [word.lower() for word in _WORD.findall(names)]
        if self._telling.isdisjoint(words):
            return 0
        return sum(
            bit for bit, telling, others in self._lists if not telling.isdisjoint(words) and others.isdisjoint(words)
        )


class Regions:
    """What block elements call themselves, and which are boilerplate; each is found when it is first asked for."""

    def __init__(self, tags: list[str], outer: list[int], elements: list[LexborNode], hints: Hints) -> None:
        """Takes the lists of an outline, which grow. A reference to the outline would keep both in memory."""
        self._tags = tags
        self._outer = outer
        self._elements = elements
        self._hints = hints
        self._names: dict[int, str] = {}
        self._said: dict[int, int] = {}
        self._region_of = [-1]  # by the index of an element plus one, with -1 for elements in no region
        self._kinds = {-1: 0}
        self._held: dict[int, int] = {}
        self._total = 0
        self._hiding = self._besides = 0
        self._furniture = {-1: -1}
        self._shows_code: set[int] | None = None
        self._asks = {-1: False}
        self._hides_consent = False
        self._set_aside: frozenset[int] = frozenset()

    def hint(self, element: int) -> int:
        """What the class names and the id of a block element say."""
        known = self._said.get(element)
        if known is None:
            attributes, of = self._elements[element].attributes, self._hints.of
            names, identity = attributes.get("class"), attributes.get("id")
            self._names[element] = names or ""
            known = of(names) if names else 0
            if identity:
                known |= of(identity)
            if attributes.get("role") in _DIALOGS:
                known |= BOILERPLATE | CONSENT
            self._said[element] = known
        return known

    def names_of(self, element: int) -> str:
        """The class names of a block element."""
        names = self._names.get(element)
        if names is None:
            self.hint(element)
            names = self._names[element]
        return names

    def set_aside(self, lines: list[tuple[int, int, bool]], heading: int) -> list[bool]:
        """Hides navigation, dialogs and what is beside the text, unless such an element holds the text of the page.

        Args:
            lines: The element around each line, its length, and whether it is running text.
            heading: The element around the first h1; -1 for none.

        Returns:
            For each line, whether it is hidden.
        """
        elements = {element for element, _, _ in lines}
        holder_of = {element: self._furniture_around(element) for element in elements}
        asking = self._asking(elements)
        # A notice that asks for consent can be longer than the story. It counts if there is nothing else, and if it is
        # a page about consent, with the heading.
        around, inside = (
            sum(length for element, length, is_running in lines if is_running and (element in asking) is is_asking)
            for is_asking in (False, True)
        )
        self._hides_consent = around > 0 and (heading not in asking or around > inside)
        gone = asking if self._hides_consent else set()
        if max(holder_of.values()) < 0:
            return [element in gone for element, _, _ in lines]
        holders = [holder_of[element] for element, _, _ in lines]
        running: dict[int, int] = {}
        whole: dict[int, int] = {}
        for holder, (_, length, is_running) in zip(holders, lines, strict=True):
            whole[holder] = whole.get(holder, 0) + length
            running[holder] = running.get(holder, 0) + length * is_running
        total, outside = sum(running.values()), whole.get(-1, 0)
        headed = self._furniture_around(heading)
        self._set_aside = frozenset(
            holder
            for holder in whole
            if holder >= 0
            and (
                running[holder] <= max(_HOLDS * total, _PROSE * whole[holder])
                or whole[holder] < _HOLDS * outside
                or (holder != headed and outside > _LITTLE)
            )
        )
        gone = gone | {element for element, holder in holder_of.items() if holder in self._set_aside}
        return [element in gone for element, _, _ in lines]

    def _asking(self, elements: set[int]) -> set[int]:
        """Those of some elements that are in a notice which asks for consent."""
        if not elements:
            return set()
        self._region(max(elements))
        regions = {element: self._region_of[element + 1] for element in elements}
        asking = {region for region in set(regions.values()) if self._asks_for_consent(region)}
        return {element for element, region in regions.items() if region in asking} if asking else set()

    def _furniture_around(self, element: int) -> int:
        """The outermost furniture around an element; -1 for none."""
        known, passed = self._furniture, []
        while (found := known.get(element)) is None:
            passed.append(element)
            element = self._outer[element]
        for inner in reversed(passed):
            if found < 0 and self._tags[inner] in _FURNITURE:
                found = inner
            known[inner] = found
        return found

    def believe(self, running: list[tuple[int, int]]) -> None:
        """Decides which elements are hidden: those that call themselves boilerplate, with exceptions.

        Frames and forum posts call themselves widgets and comments too. So an element with more than half of the
        running text is not hidden, and no element is hidden if three quarters of the text would be. What is beside the
        text is less than a quarter of it. If it is more, the class names are those of posts or products.

        Args:
            running: Block elements with running text and its length; an element may come often.
        """
        held: dict[int, int] = {}
        self._total = sum(length for _, length in running)
        for element, length in running:
            region = self._region(element)
            held[region] = held.get(region, 0) + length
        outer = self._outer
        for region in list(held):
            around = region
            while around >= 0 and (around := self._region(outer[around])) not in held:
                held[around] = 0
        # Those inside come after an element, so they are counted when its turn comes.
        for region in sorted(held, reverse=True):
            if region >= 0:
                held[self._region(outer[region])] += held[region]
        self._held, self._kinds = held, {-1: 0}
        self._hiding, self._besides = BOILERPLATE, BOILERPLATE | BESIDE
        seen = sum(length for element, length in running if not self.hides(element))
        if seen * 4 <= self._total:
            self._hiding = 0
            seen = self._total
        text = sum(length for element, length in running if not self.is_beside(element))
        if text * 4 < seen * 3:
            self._besides = self._hiding

    def hides(self, element: int) -> bool:
        """Whether an element is inside of what is hidden."""
        region = self._region(element)
        return (region >= 0 and self._kinds_of(region) & self._hiding > 0) or self._is_set_aside(element)

    def _is_set_aside(self, element: int) -> bool:
        if self._set_aside and self._furniture_around(element) in self._set_aside:
            return True
        return self._hides_consent and self._asks_for_consent(self._region(element))

    def is_beside(self, element: int) -> bool:
        """Whether an element is not in the text: hidden, or in a credit, a caption or the like."""
        region = self._region(element)
        return (region >= 0 and self._kinds_of(region) & self._besides > 0) or self._is_set_aside(element)

    def hidden_and_beside(self, elements: list[int]) -> tuple[list[bool], list[bool]]:
        """What ``hides`` and ``is_beside`` say of some elements."""
        self._region(max(elements, default=-1))
        regions = [self._region_of[element + 1] for element in elements]
        kinds = {region: self._kinds_of(region) for region in set(regions)}
        hidden = {region for region, kind in kinds.items() if kind & self._hiding}
        beside = {region for region, kind in kinds.items() if kind & self._besides}
        return [region in hidden for region in regions], [region in beside for region in regions]

    def _asks_for_consent(self, region: int) -> bool:
        """Whether a region or one around it asks for consent."""
        known, passed = self._asks, []
        while (found := known.get(region)) is None:
            passed.append(region)
            found = self.hint(region) & CONSENT > 0
            if found:
                break
            region = self._region(self._outer[region])
        known.update(dict.fromkeys(passed, found))
        return found

    def _kinds_of(self, region: int) -> int:
        """The bits of a region and of those around it, without the ones that ``believe`` does not hide."""
        known = self._kinds
        passed = []
        while (found := known.get(region)) is None:
            passed.append(region)
            region = self._region(self._outer[region])
        for region in reversed(passed):
            if self._held.get(region, 0) * 2 <= self._total:
                found |= BOILERPLATE if self._tags[region] == "form" else self.hint(region)
            known[region] = found
        return found

    def _region(self, element: int) -> int:
        """The innermost element around an element, or itself, that calls itself boilerplate; -1 for none."""
        known = self._region_of
        if element + 1 < len(known):
            return known[element + 1]
        if self._shows_code is None:
            # A toolbar around code is not the code. All lines are known before regions are asked for.
            self._shows_code = {self._outer[inner] for inner, tag in enumerate(self._tags) if tag == "pre"}
        shows_code = self._shows_code
        for inner in range(len(known) - 1, element + 1):
            tag = self._tags[inner]
            is_named = tag in _NAMED and inner not in shows_code and self.hint(inner) & (BOILERPLATE | BESIDE)
            is_region = tag == "form" or is_named
            known.append(inner if is_region else known[self._outer[inner] + 1])
        return known[element + 1]
