"""Which pages are not parsed at all: those whose parse would take quadratic time or memory.

A page's bytes go in, a refusal in plain words or None comes out. The HTML parser walks the open elements at each tag,
an element's attributes at each attribute, and repeats unclosed formatting in each new block, so depth, attributes and
unclosed formatting are bounded before it runs. Small pages can't hurt and are let through after two cheap counts; only
those that could pass a limit are read tag by tag.
"""

from __future__ import annotations

import re
from itertools import islice

from handlers.page.reading import PageReadingSection

_HARMLESS_TAGS = 3000
_HARMLESS_BYTES = 64 * 1024
_PROBE = 4000
_FEW = 16  # attributes of a stretch that can add up to no harm
_ATTRIBUTES = rb"(?:[^>=]++|=\s*+(?:\"[^\"]*+\"?|'[^']*+'?|[^\s>\"'][^\s>]*+)?)*+"
_REST_OF_TAG = re.compile(_ATTRIBUTES)
_TAG = re.compile(
    rb"<(?:!--(?:[^-]++|-(?!->))*+(?:-->)?"
    rb"|/([a-z][^\s/>]*+)"
    rb"|([a-z][^\s/>]*+)(" + _ATTRIBUTES + rb"))",
    re.IGNORECASE,
)
_ATTRIBUTE = re.compile(rb"[^\s/>=][^\s/>=]*+(?:\s*+=\s*+(?:\"[^\"]*+\"?|'[^']*+'?|[^\s>]*+))?")
# Spelt out in both cases: without IGNORECASE the search jumps from bracket to bracket.
_FORMATTED = re.compile(
    rb"<(?=[bisutecfBISUTECF])(?:[bisuBISU]|[tT][tT]|[eE][mM]|[bB][iI][gG]|[cC][oO][dD][eE]|[fF][oO][nN][tT]"
    rb"|[sS](?:[mM][aA][lL][lL]|[tT][rR](?:[iI][kK][eE]|[oO][nN][gG])))[\s/]"
)
_FENCES = frozenset(b"table caption object applet marquee template svg math".split())
_OTHER, _FLAT, _FORMATTING, _RAW_TEXT, _CELL, _TABLE = range(6)
_KINDS = {
    **dict.fromkeys(
        b"area base br col embed hr img input link meta param source track wbr keygen frame basefont bgsound a nobr p "
        b"li dt dd option optgroup tr thead tbody tfoot colgroup rt rp html head body".split(),
        _FLAT,  # void, or closed by the next of its kind: never many inside each other without something else between
    ),
    **dict.fromkeys(b"b big code em font i s small strike strong tt u".split(), _FORMATTING),
    **dict.fromkeys(b"script style textarea title xmp iframe noembed noframes".split(), _RAW_TEXT),
    **dict.fromkeys(b"td th caption".split(), _CELL),
    b"table": _TABLE,
}
_NOT_NESTED = frozenset((_FLAT, _CELL))
_HOLDS_FEW = re.compile(
    rb"<(?:" + b"|".join(name for name, kind in _KINDS.items() if kind in (_FLAT, _CELL, _RAW_TEXT)) + rb")[\s/>]"
)
_FORMATTING_OR_FENCE = re.compile(
    rb"<(/?)("
    + b"|".join([name for name, kind in _KINDS.items() if kind in (_FORMATTING, _CELL)] + sorted(_FENCES))
    + rb")(?![^\s/>])([\s/])?",
    re.IGNORECASE,
)
_TOO_MANY_ATTRIBUTES = "an element has more than {} attributes"
_LOOK_BACK = 16


def refusal(body: bytes, limits: PageReadingSection) -> str | None:
    """Why a page is not parsed, or None where it may be.

    Args:
        body: The page as bytes in an encoding that keeps ASCII.
        limits: Depth, attributes and repeated formatting that are allowed.
    """
    # Taking them out counts them faster than counting does, which looks at each byte by itself.
    brackets = len(body) - len(body.replace(b"<", b""))
    if (brackets > limits.max_depth and _could_be_deep(body, brackets, limits)) or (
        brackets > _HARMLESS_TAGS and _has_much_formatting(body, limits.max_reopened // brackets)
    ):
        return _scan(body, limits)
    if len(body) > _HARMLESS_BYTES and _has_long_tag(body, limits.max_attributes):
        return _scan_attributes(body, limits.max_attributes)
    return None


def _could_be_deep(body: bytes, brackets: int, limits: PageReadingSection) -> bool:
    """Whether there are enough elements that can hold each other for more depth, or more steps, than allowed."""
    holders = brackets - body.count(b"</")
    if holders > limits.max_depth:
        holders -= sum(1 for _ in _HOLDS_FEW.finditer(body))
    return holders > limits.max_depth or holders * brackets > limits.max_steps


def _has_much_formatting(body: bytes, enough: int) -> bool:
    """Whether formatting with attributes (the parser drops repeated plain ones) could be reopened too often.

    An end tag closes formatting of its name, unless a table cell or the like lies between: what is open there counts
    as never closed.
    """
    if next(islice(_FORMATTED.finditer(body), enough, None), None) is None:
        return False
    unclosed: dict[bytes, int] = {}
    kept_open = most = 0
    for match in _FORMATTING_OR_FENCE.finditer(body):
        end, name, attributes = match.groups()
        name = name.lower()
        if _KINDS.get(name) != _FORMATTING:
            kept_open += sum(unclosed.values())
            unclosed.clear()
        elif end:
            unclosed[name] = max(0, unclosed.get(name, 0) - 1)
        elif attributes:
            unclosed[name] = unclosed.get(name, 0) + 1
            most = max(most, kept_open + sum(unclosed.values()))
    return most > enough


def _has_long_tag(body: bytes, max_attributes: int) -> bool:
    """Whether some stretch, read as the inside of a tag with no, a double or a single quote open, has no end of a tag.

    A ``>`` in a quoted value ends nothing, and where a value begins can't be told without reading all that is before.
    """
    for start in range(0, len(body), _PROBE):
        end = start + _PROBE
        for inside in (start, body.find(b'"', start, end) + 1, body.find(b"'", start, end) + 1):
            if not inside and start:
                continue
            rest = _REST_OF_TAG.match(body, inside, end)
            if rest and rest.end() >= min(end, len(body)) and _too_many(rest[0], min(max_attributes, _FEW)):
                return True
    return False


def _scan(body: bytes, limits: PageReadingSection) -> str | None:
    """Reads every tag once. The stack of open elements is the parser's own, as near as matters here."""
    stack: list[bytes] = []
    formatting: dict[bytes, int] = {}  # unclosed, by name
    tables: list[tuple[int, dict[bytes, int]]] = []  # depth and formatting where each open table began
    steps = unclosed = reopened = 0
    position: int | None = 0
    while position is not None:
        start, position = position, None
        for match in _TAG.finditer(body, start):
            steps += len(stack)
            if reopened > limits.max_reopened:
                return f"more than {limits.max_reopened} elements would come of unclosed formatting"
            if steps > limits.max_steps:
                return f"its parse would take more than {limits.max_steps} steps, for depth and number of elements"
            closed, opened, attributes = match.groups()
            if opened:
                reopened += unclosed
                name = opened.lower()
                kind = _KINDS.get(name, _OTHER)
                if len(attributes) > 2 * limits.max_attributes and _too_many(attributes, limits.max_attributes):
                    return _TOO_MANY_ATTRIBUTES.format(limits.max_attributes)
                if kind in _NOT_NESTED:
                    if kind == _CELL and tables:
                        _end_cell(stack, tables[-1][0])
                    continue
                if kind == _RAW_TEXT:
                    position = _end_of_raw_text(body, match.end(), name)
                    break
                stack.append(name)
                if len(stack) > limits.max_depth:
                    return f"elements are nested more than {limits.max_depth} deep"
                if kind == _FORMATTING and attributes.strip():
                    formatting[name] = formatting.get(name, 0) + 1
                    unclosed += 1
                elif kind == _TABLE:
                    tables.append((len(stack), formatting.copy()))
            elif closed:
                name = closed.lower()
                kind = _KINDS.get(name, _OTHER)
                if kind == _FORMATTING and formatting.get(name):
                    formatting[name] -= 1
                    unclosed -= 1
                elif kind >= _CELL and tables:
                    _end_cell(stack, tables[-1][0])
                    # What stands unclosed in a cell ends with it; what stood before the table goes on after it.
                    formatting = tables.pop()[1] if kind == _TABLE else tables[-1][1].copy()
                    unclosed = sum(formatting.values())
                if kind not in _NOT_NESTED:
                    _close(stack, name)
    return None


def _scan_attributes(body: bytes, most: int) -> str | None:
    """Reads every tag once, for the number of its attributes alone."""
    position: int | None = 0
    while position is not None:
        start, position = position, None
        for match in _TAG.finditer(body, start):
            _, opened, attributes = match.groups()
            if not opened:
                continue
            if len(attributes) > 2 * most and _too_many(attributes, most):
                return _TOO_MANY_ATTRIBUTES.format(most)
            if _KINDS.get(opened.lower()) == _RAW_TEXT:
                position = _end_of_raw_text(body, match.end(), opened)
                break
    return None


def _too_many(attributes: bytes, most: int) -> bool:
    return any(number >= most for number, _ in enumerate(_ATTRIBUTE.finditer(attributes)))


def _close(stack: list[bytes], name: bytes) -> None:
    """Closes the nearest open element of that name; one out of scope or far away stays open, as deep as it is."""
    for distance, open_name in enumerate(reversed(stack[-_LOOK_BACK:]), 1):
        if open_name == name:
            del stack[-distance:]
            return
        if open_name in _FENCES:
            return


def _end_cell(stack: list[bytes], table_depth: int) -> None:
    """Closes what a cell left open, unless it is much or could keep the cell open."""
    inside = len(stack) - table_depth
    if 0 < inside <= _LOOK_BACK and _FENCES.isdisjoint(stack[table_depth:]):
        del stack[table_depth:]


def _end_of_raw_text(body: bytes, start: int, name: bytes) -> int:
    """Where a script, style or the like ends: its text holds no tags."""
    found = re.compile(b"</" + name, re.IGNORECASE).search(body, start)
    return found.start() if found else len(body)
