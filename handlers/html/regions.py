"""Which elements call themselves navigation, comments and the like, and which of them are believed.

Block elements with what their class names say go in, whether an element is inside of what is hidden comes out.
"""

from __future__ import annotations

from selectolax.lexbor import LexborNode

from handlers.html.hints import BESIDE, BOILERPLATE, Hints

_NAMED = frozenset(("div", "section", "ul", "ol", "dl", "header", "address", "figure", "table"))


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
