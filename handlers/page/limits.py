"""Bytes that are parsed in bounded time: a page's own, the same without what may hide harm, or none at all.

The HTML parser takes quadratic time where it looks at all attributes of an element for each new one, walks the open
elements at each tag, or repeats unclosed formatting in each new block. What a page of its size can do in this way is
bounded by a few counts, which nearly every page passes. The others are read tag by tag and written anew without
scripts, comments and the like: what is left are tags and text, so the parser sees the very tags that were counted here,
and no quotation mark or half-open comment can make it see others. They are refused where a count exceeds its limit.
"""

from __future__ import annotations

import re
from itertools import islice

from handlers.page.reading import PageReadingSection

_HARMLESS_TAGS = 4000
_HARMLESS_BYTES = 64 * 1024
_PROBED = 4_000_000_000
"""Over a page's size, half the bytes of the longest tag that is let through unread. The parse of a page full of such
tags was measured to take 0.5 to 1.6 seconds, at sizes from 100 KB to 8 MB."""
_LONG_VALUE = 4096
_FEW = 16  # attributes of a stretch that can add up to no harm
_FEW_ROOTS = 50  # tags of html and body, whose attributes all go to one element
_ATTRIBUTES = rb"(?:[^>=]++|=\s*+(?:\"[^\"]*+\"?|'[^']*+'?|[^\s>\"'][^\s>]*+)?)*+"
_REST_OF_TAG = re.compile(_ATTRIBUTES)
_MARKUP = re.compile(
    rb"<(?:!--(?:-?>|(?:[^-]++|-(?!-!?>))*+(?:--!?>)?)"  # a comment
    rb"|[!?][^>]*+>?|/[^a-z>][^>]*+>?"  # what is read as one
    rb"|/([a-z][^\s/>]*+)" + _ATTRIBUTES + rb">?"
    rb"|([a-z][^\s/>]*+)(" + _ATTRIBUTES + rb")>?)",
    re.IGNORECASE,
)
_ATTRIBUTE = re.compile(rb"[^\s/>=][^\s/>=]*+(?:\s*+=\s*+(?:\"[^\"]*+\"?|'[^']*+'?|[^\s>]*+))?")
# Spelt out in both cases: without IGNORECASE the search jumps from bracket to bracket.
_FORMATTED = re.compile(
    rb"<(?=[bisutecfBISUTECF])(?:[bisuBISU]|[tT][tT]|[eE][mM]|[bB][iI][gG]|[cC][oO][dD][eE]|[fF][oO][nN][tT]"
    rb"|[sS](?:[mM][aA][lL][lL]|[tT][rR](?:[iI][kK][eE]|[oO][nN][gG])))[\s/]"
)
_ROOT = re.compile(rb"<(?:[hH][tT][mM][lL]|[bB][oO][dD][yY])[\s/]")
_DATA_IN_VALUE = re.compile(rb"(=\s?\")[^\"<>]{%d,}+(?=\")" % _LONG_VALUE)
_SCRIPT = re.compile(rb"<(?=[sS])(?:[sS][cC][rR][iI][pP][tT]|[sS][tT][yY][lL][eE])[\s/>]")
_END_OF_SCRIPT = re.compile(rb"</(?=[sS])(?:[sS][cC][rR][iI][pP][tT]|[sS][tT][yY][lL][eE])[\s/>]")
_ROOTS = frozenset((b"html", b"body"))
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
_LOOK_BACK = 16


def admitted(body: bytes, limits: PageReadingSection) -> bytes | str:
    """What of a page is parsed: its bytes, or such as say the same in bounded time; else why it is not, in words.

    Args:
        body: The page as bytes in an encoding that keeps ASCII.
        limits: Depth, attributes and repeated formatting that are allowed.
    """
    if len(body) > _HARMLESS_BYTES and _has_long_tag(body):
        # Nearly always it is data in a script, or in a value, of which nothing is wanted.
        body = _without_scripts(body)
        if _has_long_tag(body) and _has_long_tag(body := _DATA_IN_VALUE.sub(rb"\1", body)):
            return _rewritten(body, limits)
    # Taking them out counts them faster than counting does, which looks at each byte by itself.
    brackets = len(body) - len(body.replace(b"<", b""))
    if (
        (brackets > limits.max_depth and _could_be_deep(body, brackets, limits))
        or (brackets > _HARMLESS_TAGS and _has_much_formatting(body, limits.max_reopened // brackets))
        or (brackets > _HARMLESS_TAGS and _has_many_roots(body))
    ):
        return _rewritten(body, limits)
    return body


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


def _has_long_tag(body: bytes) -> bool:
    """Whether some stretch, read as the inside of a tag with no, a double or a single quote open, has no end of a tag.

    A ``>`` in a quoted value ends nothing, and where a value begins can't be told without reading all that is before.
    """
    probe = _PROBED // len(body)
    for start in range(0, len(body), probe):
        end = start + probe
        for inside in (start, body.find(b'"', start, end) + 1, body.find(b"'", start, end) + 1):
            if not inside and start:
                continue
            rest = _REST_OF_TAG.match(body, inside, end)
            if rest and rest.end() >= min(end, len(body)) and _has_more_attributes(rest[0], _FEW):
                return True
    return False


def _without_scripts(body: bytes) -> bytes:
    """A page without the contents of its scripts and styles, but for structured data."""
    kept = []
    done = 0
    for match in _SCRIPT.finditer(body):
        if match.start() < done:
            continue
        begin = body.find(b">", match.end() - 1) + 1
        end = _END_OF_SCRIPT.search(body, begin) if begin else None
        if end is None or b"ld+json" in body[match.start() : begin].lower():
            continue
        kept.append(body[done:begin])
        done = end.start()
    kept.append(body[done:])
    return b"".join(kept)


def _has_many_roots(body: bytes) -> bool:
    return next(islice(_ROOT.finditer(body), _FEW_ROOTS, None), None) is not None


def _rewritten(body: bytes, limits: PageReadingSection) -> bytes | str:
    """Reads every tag once. The stack of open elements is the parser's own, as near as matters here.

    The loop is long on purpose: a hostile page has a million tags, and a call costs as much as the work.
    """
    kept: list[bytes] = []
    stack: list[bytes] = []
    formatting: dict[bytes, int] = {}  # unclosed, by name
    tables: list[tuple[int, dict[bytes, int]]] = []  # depth and formatting where each open table began
    kind_of = _KINDS.get
    max_depth, max_steps, many_bytes = limits.max_depth, limits.max_steps, 2 * limits.max_attributes
    steps = unclosed = reopened = roots = done = 0
    position: int | None = 0
    while position is not None:
        begin, position = position, None
        for match in _MARKUP.finditer(body, begin):
            steps += len(stack)
            which = match.lastindex
            if which is None:  # a comment or the like
                kept.append(body[done : match.start()])
                done = match.end()
            elif which == 1:
                name = match[1].lower()
                start, end = match.span()
                if end - start > len(name) + 3:  # with attributes, which say nothing
                    kept += (body[done:start], b"</", name, b">")
                    done = end
                if stack and stack[-1] == name and name not in _KINDS:
                    stack.pop()
                    continue
                kind = kind_of(name, _OTHER)
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
            else:
                name, attributes = match[2].lower(), match[3]
                kind = kind_of(name, _OTHER)
                if steps > max_steps:
                    return f"its parse would take more than {max_steps} steps, for depth and number of elements"
                if unclosed and (reopened := reopened + unclosed) > limits.max_reopened:
                    return f"more than {limits.max_reopened} elements would come of unclosed formatting"
                if len(attributes) > many_bytes and _has_more_attributes(attributes, limits.max_attributes):
                    return f"an element has more than {limits.max_attributes} attributes"
                if kind == _OTHER:
                    stack.append(name)
                    if len(stack) > max_depth:
                        return f"elements are nested more than {max_depth} deep"
                elif kind in _NOT_NESTED:
                    if name in _ROOTS and (roots := roots + _count_attributes(attributes)) > limits.max_attributes:
                        return f"its html or body element would have more than {limits.max_attributes} attributes"
                    if kind == _CELL and tables:
                        _end_cell(stack, tables[-1][0])
                elif kind == _RAW_TEXT:
                    end = match.end()
                    position = _end_of_raw_text(body, end, name)
                    kept += (body[done:end], _without_tags(body[end:position], name, attributes))
                    done = position
                    break
                else:
                    stack.append(name)
                    if len(stack) > max_depth:
                        return f"elements are nested more than {max_depth} deep"
                    if kind == _TABLE:
                        tables.append((len(stack), formatting.copy()))
                    elif attributes.strip():
                        formatting[name] = formatting.get(name, 0) + 1
                        unclosed += 1
    kept.append(body[done:])
    return b"".join(kept)


def _count_attributes(attributes: bytes) -> int:
    return sum(1 for _ in _ATTRIBUTE.finditer(attributes))


def _has_more_attributes(attributes: bytes, than: int) -> bool:
    return any(number >= than for number, _ in enumerate(_ATTRIBUTE.finditer(attributes)))


def _without_tags(text: bytes, name: bytes, attributes: bytes) -> bytes:
    """The text of a script or the like with nothing in it that could be a tag, wherever the parser may see it stand."""
    if name == b"script":
        return text.replace(b"<", rb"\u003c") if b"ld+json" in attributes.lower() else b""
    return text.replace(b"<", b"&lt;") if name in (b"title", b"textarea") else b""


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
    """Where a script, style or the like ends."""
    found = re.compile(b"</" + name + rb"(?=[\s/>])", re.IGNORECASE).search(body, start)
    return found.start() if found else len(body)
