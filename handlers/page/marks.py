"""Places that say by their markup that they hold an author or a date: microdata, rel=author, times, class names.

An outline and the place where the main text begins go in, marks come out. Class names are read around that place only:
bylines and datelines stand there, and further away they are those of other stories.
"""

from __future__ import annotations

from selectolax.lexbor import LexborNode

from handlers.page.hints import BYLINE, DATE
from handlers.page.outline import Mark, Outline
from handlers.page.tags import NAME_OF
from handlers.page.walk import MARK_CHARACTERS, short_text

_TEXTS_BEFORE = 30
_TEXTS_AFTER = 16
_MAX_STATED = 400
_PROPERTIES = frozenset(("datepublished", "datecreated", "author"))


def stated_marks(outline: Outline) -> list[Mark]:
    """Microdata and rel=author anywhere on the page, in page order."""
    found: list[Mark] = []
    for node in outline.stated[:_MAX_STATED]:
        attributes = node.attributes
        names = [
            f"itemprop:{name}" for name in (attributes.get("itemprop") or "").lower().split() if name in _PROPERTIES
        ]
        if "author" in (attributes.get("rel") or "").lower().split():
            names.append("rel:author")
        if names:
            # What was taken out with its paragraph or footer has no place any more; an author stated there is meant.
            place = outline.place(node)
            hidden = place >= 0 and outline.is_boilerplate(place >> 1)
            value = _value(attributes)
            text = short_text(node)
            found += [Mark(name, value, text, 0, hidden) for name in names]
    return found


def times(outline: Outline, content_first: int) -> list[Mark]:
    """Elements ``time`` with a machine's date, the nearest to the main text first, boilerplate last."""
    found = []
    for index, node in outline.times[:_MAX_STATED]:
        value = _value(node.attributes)
        if value:
            hidden = outline.is_boilerplate(outline.place(node) >> 1)
            found.append(Mark("time", value, "", abs(index - content_first), hidden))
    return sorted(found, key=lambda mark: (mark.boilerplate, mark.distance))


def named_marks(outline: Outline, content_first: int) -> list[Mark]:
    """Elements around the beginning of the main text that call themselves a byline or a date, the nearest first."""
    if (known := outline.named.get(content_first)) is not None:
        return known
    start = max(0, content_first - _TEXTS_BEFORE)
    found: list[Mark] = []
    seen: set[int] = set()
    for index in range(start, min(content_first + _TEXTS_AFTER, len(outline.texts))):
        element = outline.element_of(index)
        if start and index == start:
            # These began before, and are too large for what is looked for.
            seen.update(outline.around(element))
        nodes: list[tuple[LexborNode, int]] = []
        node = outline.nodes[index].parent
        while node is not None and node.tag_id not in NAME_OF and node.mem_id not in seen:
            seen.add(node.mem_id)
            nodes.append((node, outline.hints.of_node(node)))
            node = node.parent
        for around in outline.around(element):
            if around in seen:
                break
            seen.add(around)
            nodes.append((outline.elements[around], outline.hint(around)))
        for node, hint in nodes:
            if hint & (BYLINE | DATE):
                hidden = outline.is_boilerplate(element)
                distance = abs(index - content_first)
                value, text = _value(node.attributes), short_text(node)
                names = (("hint:byline", BYLINE), ("hint:date", DATE))
                found += [Mark(name, value, text, distance, hidden) for name, bit in names if hint & bit]
    found.sort(key=lambda mark: (mark.boilerplate, mark.distance))
    outline.named[content_first] = found
    return found


def _value(attributes: dict[str, str | None]) -> str:
    return (attributes.get("content") or attributes.get("datetime") or "").strip()[:MARK_CHARACTERS]
