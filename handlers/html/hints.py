"""What an element is by its class names and id, and which elements are boilerplate.

Names are split into words (``entry-date``, ``pubDate``), which are looked up in the configured lists.
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from functools import lru_cache

from selectolax.lexbor import LexborNode

from handlers.html.reading import PageReadingSection

BOILERPLATE, BYLINE, DATE, BESIDE, OTHERS, EVENT, CONSENT = (1 << bit for bit in range(7))
_WORD = re.compile(r"[A-Z]?[a-z]+|[A-Z]+|[^\W\d_a-zA-Z]+")
_ONLY_LETTERS = bytes(byte if chr(byte).isalpha() and byte < 128 else 32 for byte in range(256))
_NUMBERING = re.compile(r"[\d\W_]+")
_NUMBERS = re.compile(r"\d+")
_MAX_STEMS = 2
_MAX_CHARACTERS = 200
_MAX_KNOWN = 50_000
_NAMED = frozenset(("div", "section", "ul", "ol", "dl", "header", "address", "figure", "table", "details"))
_DIALOGS = frozenset(("dialog", "alertdialog"))
LANDMARKS = {"main": 1, "article": 2}
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
        )
        self._lists = [(bit, frozenset(words), frozenset(no_words)) for bit, words, no_words in lists]
        self._telling = frozenset(word for _, words, _ in lists for word in words)
        self.others_headings = frozenset(map(plain, reading.others_headings))
        self.event_labels = tuple(label.casefold() for label in reading.event_labels)
        # Sites repeat few names, and to look them up takes ten times as long as to know the answer.
        self._known = lru_cache(maxsize=_MAX_KNOWN)(self.of_words)
        self.addressed = reading.addressed.compiled

    def of_node(self, node: LexborNode) -> int:
        """What an element's class names and its id say together."""
        # All attributes at once: to ask for one that an element lacks takes twice as long.
        return self.of_attributes(node.attributes)

    def of_attributes(self, attributes: Mapping[str, str | None]) -> int:
        """What a class attribute and an id say together."""
        names, identity = attributes.get("class"), attributes.get("id")
        found = self._known(names[:_MAX_CHARACTERS]) if names else 0
        return found | self._known(identity[:_MAX_CHARACTERS]) if identity else found

    def of_words(self, names: str) -> int:
        """The bits of this module that apply to a class attribute, an id or an address, joined."""
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


@lru_cache(maxsize=_MAX_KNOWN)
def _stem(names: str) -> str:
    """The first class names without their numbers, which count states, sizes and items."""
    return " ".join(_NUMBERS.sub("", names).split()[:_MAX_STEMS])


class Regions:
    """The block elements of a page, what they call themselves, and which of them are boilerplate.

    Elements come after those around them, so each takes over what holds for the one around it.

    Attributes:
        tags: The name of each element.
        outer: Index of the block element around each; -1 for none.
        nodes: Their nodes.
        said: What the class names, the id and the role of each say.
        around: The same with the elements around it.
        makes: Its first class names.
        inside: The bits of ``LANDMARKS`` for what it is or is in.
        depth: How many elements are around it.
        hidden: Whether it is in what is hidden, as far as ``believe`` has decided.
        beside: Whether it is not in the text: hidden, or in a credit, a caption or the like.
    """

    def __init__(self, hints: Hints) -> None:
        self._hints = hints
        self.tags: list[str] = []
        self.outer: list[int] = []
        self.nodes: list[LexborNode] = []
        self.said: list[int] = []
        self.around: list[int] = []
        self.makes: list[str] = []
        self.inside: list[int] = []
        self.depth: list[int] = []
        self.hidden: list[bool] = []
        self.beside: list[bool] = []
        self._claims: list[int] = []
        self._furniture: list[int] = []
        self._asks: list[bool] = []
        self._kinds: list[int] = []
        self._hiding = self._besides = 0
        self._hides_consent = self._is_decided = False
        self._set_aside: frozenset[int] = frozenset()

    def add(self, node: LexborNode, tag: str, outer: int) -> None:
        """Adds an element, after those around it."""
        attributes = node.attributes
        said = self._hints.of_attributes(attributes)
        if attributes.get("role") in _DIALOGS:
            said |= BOILERPLATE | CONSENT
        element = len(self.tags)
        if tag == "pre" and outer >= 0:
            self._claims[outer] = 0  # a toolbar around code is not the code
        is_named = tag == "form" or (tag in _NAMED and said & (BOILERPLATE | BESIDE))
        around, inside, depth, furniture, asks = (
            (self.around[outer], self.inside[outer], self.depth[outer] + 1, self._furniture[outer], self._asks[outer])
            if outer >= 0
            else (0, 0, 0, -1, False)
        )
        self.tags.append(tag)
        self.outer.append(outer)
        self.nodes.append(node)
        self.said.append(said)
        self.around.append(around | said)
        self.makes.append(_stem((attributes.get("class") or "")[:_MAX_CHARACTERS]))
        self.inside.append(inside | LANDMARKS.get(tag, 0))
        self.depth.append(depth)
        self._claims.append((BOILERPLATE if tag == "form" else said) if is_named else 0)
        self._furniture.append(element if furniture < 0 and tag in _FURNITURE else furniture)
        self._asks.append(asks or bool(is_named and said & CONSENT))
        if self._is_decided:
            self._kinds.append(self._claims[element] | (self._kinds[outer] if outer >= 0 else 0))
            self._decide(element)

    def _decide(self, element: int) -> None:
        """Decides whether an element is hidden, by the names that are believed."""
        kinds = self._kinds[element]
        is_gone = self._furniture[element] in self._set_aside or (self._hides_consent and self._asks[element])
        self.hidden.append(is_gone or kinds & self._hiding > 0)
        self.beside.append(is_gone or kinds & self._besides > 0)

    def set_aside(self, lines: list[tuple[int, int, bool]], heading: int) -> list[bool]:
        """Hides navigation, dialogs and what is beside the text, unless such an element holds the text of the page.

        Args:
            lines: The element around each line, its length, and whether it is running text.
            heading: The element around the first h1; -1 for none.

        Returns:
            For each line, whether it is hidden.
        """
        holders, asks = self._furniture, self._asks
        # A notice that asks for consent can be longer than the story. It counts if there is nothing else, and if it is
        # a page about consent, with the heading.
        around, inside = (
            sum([length for element, length, is_running in lines if is_running and asks[element] is is_asking])
            for is_asking in (False, True)
        )
        self._hides_consent = around > 0 and (heading < 0 or not asks[heading] or around > inside)
        running: dict[int, int] = {}
        whole: dict[int, int] = {}
        for element, length, is_running in lines:
            holder = holders[element]
            whole[holder] = whole.get(holder, 0) + length
            running[holder] = running.get(holder, 0) + length * is_running
        total, outside = sum(running.values()), whole.get(-1, 0)
        headed = holders[heading] if heading >= 0 else -1
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
        return [
            holders[element] in self._set_aside or (self._hides_consent and asks[element]) for element, _, _ in lines
        ]

    def believe(self, running: list[tuple[int, int]]) -> None:
        """Decides which elements are hidden: those that call themselves boilerplate, with exceptions.

        Frames and forum posts call themselves widgets and comments too. So an element with more than half of the
        running text is not hidden, and no element is hidden if three quarters of the text would be. What is beside the
        text is less than a quarter of it. If it is more, the class names are those of posts or products.

        Args:
            running: Block elements with running text and its length; an element may come often.
        """
        total = sum([length for _, length in running])
        held = [0] * len(self.tags)
        for element, length in running:
            held[element] += length
        for element in range(len(held) - 1, -1, -1):
            if held[element] and self.outer[element] >= 0:
                held[self.outer[element]] += held[element]
        names = [said if 2 * length <= total else 0 for said, length in zip(self._claims, held, strict=True)]
        kinds = self._kinds = []
        for said, outer in zip(names, self.outer, strict=True):
            kinds.append(said | kinds[outer] if outer >= 0 else said)
        self._hiding, self._besides = BOILERPLATE, BOILERPLATE | BESIDE
        seen, text = (
            sum([length for element, length in running if not kinds[element] & hiding])
            for hiding in (self._hiding, self._besides)
        )
        if seen * 4 <= total:
            self._hiding = 0
            seen = total
        if text * 4 < seen * 3:
            self._besides = self._hiding
        self.hidden.clear()
        self.beside.clear()
        self._is_decided = True
        for element in range(len(kinds)):
            self._decide(element)
