"""Pages that are parsed and read; any other page is refused with the reason, the same wherever it is read.

The parser searches linearly in the attributes of a tag, in the elements that are open and in the open elements of
formatting, and it opens the latter again in each new block, so that a small page can take it minutes. ``too_complex``
counts these, rather too many than too few. For nearly all pages that is a count of ``<`` and a look at a few places.
The process that reads a page bounds its memory.
"""

from __future__ import annotations

import re
from itertools import islice, product

from ahocorasick_rs import BytesAhoCorasick, MatchKind
from selectolax.lexbor import LexborHTMLParser, LexborNode

from handlers.html.encoding import parse_bytes
from handlers.html.nodes import DEEPEST, ancestors
from handlers.html.reading import PageReadingSection

MAX_ATTRIBUTES = 400
"""Of one tag of a large page, and of all its ``html`` and ``body`` tags, which the parser merges."""
_MAX_SQUARE = 2_000_000_000
"""Attributes of a tag times bytes of the page, which may consist of such tags."""
_TEMPLATE = re.compile(rb"<(/?)template\b([^<>]{0,999})>", re.IGNORECASE)
_ROOT = re.compile(rb"""(?i)[\s"']shadowrootmode\s?=\s?["']?(?:open|closed)(?:["'\s/]|$)""")
MAX_NAMES = 60_000
"""Different names of attributes, and of elements."""
MAX_REOPENED = 6_000_000
"""Elements and attributes that the parser may make, or compare, by opening elements of formatting again."""
MAX_STEPS = 100_000_000
"""Open elements, summed over the tags."""
MAX_MOVED = 50_000
"""Texts in a table that are in none of its cells, which the parser puts before the table."""
_SHORT, _LONG = 4_000, 480_000
"""Bytes of a page whose tags need no look, and of attributes that may have too many names."""
_FEW_TAGS, _FEW_MERGED = 20_000, 40
_ALIKE = 3
"""Open elements of formatting with the same name and attributes that the parser opens again."""

_FORMATTING = frozenset(b"b big code em font i nobr s small strike strong tt u".split())
"""Without ``a``: of links, one is open, whose attributes are bounded by the number of tags."""
_MERGED = frozenset((b"html", b"body"))
_VOID = frozenset(b"area base br col embed frame hr img input link meta param source track wbr".split())
_RAW = frozenset(b"iframe noembed noframes script style textarea title xmp".split())
_FOREIGN = frozenset(b"svg math select frameset".split())
"""Elements inside of which the content of those of ``_RAW`` may be tags."""
_IMPLIED = frozenset(b"p li dd dt option optgroup rb rp rt rtc".split())
_ROWS = frozenset(b"table tbody thead tfoot tr".split())
_OF_TABLE = _ROWS | {b"td", b"th"}
_BLOCKS = _OF_TABLE | frozenset(
    b"address article aside blockquote body button center dd details dialog div dl dt fieldset figcaption figure "
    b"footer form header html li main menu nav ol section select summary ul".split()
)
_CLOSES: dict[bytes, frozenset[bytes]] = {
    name: frozenset(others.split())
    for names, others in (
        (b"p", b"p"), (b"li", b"li p"), (b"dd dt", b"dd dt p"), (b"option", b"option"), (b"td th", b"td th"),
        (b"optgroup", b"option"), (b"tr", b"tr td th"), (b"tbody thead tfoot", b"tbody thead tfoot tr td th"),
        (b"a", b"a"),
    )
    for name in names.split()
}  # fmt: skip
"""The elements that a start tag closes where they are the innermost ones."""


def _cases(text: str) -> list[bytes]:
    return ["".join(letters).encode() for letters in product(*({letter, letter.upper()} for letter in text))]


_VALUE = rb"""(?:"[^"]*+"?+|'[^']*+'?+|[^\s>"'][^\s>]*+|(?=>))"""
_ATTRIBUTE = rb"[\s/]*+[^\s/>][^\s/>=]*+(?:\s*+=\s*+%s)?+" % _VALUE
_EACH = re.compile(rb"([^\s/>][^\s/>=]*+)(?:\s*+=\s*+%s)?+" % _VALUE)
_BEGIN = re.compile(rb"<[/a-zA-Z]")
_TAG = re.compile(rb"</?[a-zA-Z][^\s/>]*+((?:%s)*+)" % _ATTRIBUTE)
_TOKEN = re.compile(
    rb"<(?:!--(?:-?>|(?:[^-]|-(?!-!?>))*+)|(/?)([a-zA-Z][^\s/>]*+)((?:%s)*+[\s/]*+)|[!?/][^>]*+)" % _ATTRIBUTE
)
_REST = re.compile(rb"(?:%s)*+[\s/]*+>" % _ATTRIBUTE)
_RAW_ENDS = {name: re.compile(rb"(?i)</%s[\s/>]" % name) for name in _RAW}
_BEGUN = [
    sign
    for name in ("b", "i", "s", "u", "tt", "em", "big", "code", "font", "nobr", "small", "strike", "strong")
    for end in " \t\n\r\f/"
    for sign in _cases(f"<{name}{end}")
]
_FOUND = BytesAhoCorasick([*_BEGUN, *_cases("<html"), *_cases("<body")], MatchKind.LeftmostFirst)


def parse_within(utf8: bytes, limits: PageReadingSection) -> LexborHTMLParser | str:
    """The parse of a page in UTF-8, or why the page is refused."""
    if why := too_complex(utf8):
        return why
    tree = parse_bytes(_with_shadows(utf8) if b"shadowrootmode" in utf8 else utf8)
    has_few = 2 * utf8.count(b"<") <= min(limits.max_depth, limits.max_elements)
    return tree if has_few else _why_refused(tree.root, limits) or tree


def _with_shadows(utf8: bytes) -> bytes:
    """A page with its declarative shadow roots as elements, since the parser has templates outside of its tree.

    >>> _with_shadows(b"<b><template shadowrootmode=open>Rain<template></template></template></b>")
    b'<b><shadow-root shadowrootmode=open>Rain<template></template></shadow-root></b>'
    """
    are_roots: list[bool] = []

    def renamed(tag: re.Match[bytes]) -> bytes:
        if not tag[1]:
            are_roots.append(_ROOT.search(tag[2]) is not None)
        is_root = are_roots[-1] if not tag[1] else are_roots.pop() if are_roots else False
        return b"<%sshadow-root%s>" % (tag[1], tag[2]) if is_root else tag[0]

    return _TEMPLATE.sub(renamed, utf8)


def _why_refused(root: LexborNode | None, limits: PageReadingSection) -> str | None:
    """Why a page is refused; only some of its elements are looked at.

    The depth grows by one at most from an element to the next, so a page can exceed a limit by a part of ``max_depth``.
    """
    step = limits.max_depth // 4
    elements = root.traverse() if root is not None else ()
    for number, node in enumerate(islice(elements, 0, None, step)):
        if number * step > limits.max_elements:
            return f"it has more than {limits.max_elements} elements"
        if sum(1 for _ in ancestors(node, DEEPEST)) > limits.max_depth:
            return f"more than {limits.max_depth} elements are nested"
    return None


def too_complex(utf8: bytes) -> str | None:
    """Why a page may take the parser too long, with the figure; None if it may be parsed.

    Args:
        utf8: The page as the parser gets it.

    >>> too_complex(b"<p " + b" ".join(b"a%d" % number for number in range(20_000)) + b">")
    '20000 attributes of p, more than 15516'
    """
    if len(utf8) < _SHORT:
        return None
    tags = utf8.count(b"<")
    most = max(MAX_ATTRIBUTES, min(_MAX_SQUARE // len(utf8), 2 * MAX_REOPENED // (tags + 1)))
    found = _FOUND.find_matches_as_indexes(utf8)
    begun = [begin for sign, begin, _ in found if sign < len(_BEGUN)]
    is_sure = tags <= _FEW_TAGS and len(found) - len(begun) <= _FEW_MERGED and not _reopened(utf8, begun, tags)
    has_short = is_sure and _has_short_tags(utf8, most)
    if not has_short or _has_much_markup(utf8):
        seen = set(_TAG.findall(utf8))
        has_short = has_short or not any(_may_have(each, most) for each in seen)
        if sum(map(len, seen)) > _LONG:
            names = {name for each in seen for name in _EACH.findall(each)}
            if why := _why(len(names), MAX_NAMES, "names of attributes"):
                return why
    return None if is_sure and has_short else _Pass(most).why(utf8, tags)


def _reopened(utf8: bytes, begun: list[int], tags: int) -> bool:
    """Whether too much may be opened again if all elements of formatting, which begin at these places, are open."""
    weights: dict[bytes, int] = {}
    for place in begun:
        tag = _TAG.match(utf8, place, place + _SHORT)
        if tag is None or tag.end() == place + _SHORT:
            return True
        if tag[0] not in weights:
            weights[tag[0]] = _ALIKE * (len(_EACH.findall(tag[1])) + 2)
    weight = sum(weights.values())
    return weight * max(tags, weight) > MAX_REOPENED


def _has_much_markup(utf8: bytes) -> bool:
    """Whether much of a page is near to a tag's beginning; a script is not."""
    if len(utf8) <= _LONG:
        return False
    near = (utf8.find(b"<", max(0, at - _SHORT), at + _SHORT) >= 0 for at in range(0, len(utf8), _SHORT))
    return _SHORT * sum(near) > _LONG


def _may_have(attributes: bytes, most: int) -> bool:
    """Whether a text may be more attributes, which are behind blanks or slashes, or behind another with a value."""
    if len(attributes) - len(attributes.translate(None, b" \t\n\r\f/=")) <= most:
        return False
    return len(attributes.split()) + attributes.count(b"/") + attributes.count(b"=") > most


def _has_short_tags(utf8: bytes, most: int) -> bool:
    """Whether no tag has many attributes, by looks from places all over the page.

    A place is behind ``>``. If it is inside of a tag, it is inside of a quoted value, whose quote is behind an equals
    sign. From the end of the value on, the tag has to end soon.
    """
    size = len(utf8)
    place = before = 0
    opened = {b'"': -1, b"'": -1}
    while (place := place + most) < size:
        begin = utf8.rfind(b">", place - most, place) + 1
        until = begin + most
        if not begin:
            begin, until = utf8.rfind(b">", 0, place) + 1, utf8.find(b">", place)
            place = until = size if until < 0 else until
            tag = _BEGIN.search(utf8, begin, until)
            if tag and _may_have(utf8[tag.start() : until], most):
                return False
        for quote, last in opened.items():
            at = utf8.rfind(quote, before, begin)
            if at > max(last, 0) and utf8[at - 1] in b"= \t\n\r\f":
                end = utf8.find(quote, begin)
                if end >= 0 and not _REST.match(utf8, end + 1, end + 1 + most):
                    return False
            opened[quote] = max(at, last)
        before = begin
    return True


def _why(count: int, most: int, what: str) -> str | None:
    return f"{count} {what}, more than {most}" if count > most else None


class _Pass:
    """The tags of a page, one after the other.

    An element is closed only if its end tag comes where no other element is open inside, so that no more elements are
    open in the tree than here. An end tag does not count where it may be text.
    """

    def __init__(self, most_attributes: int) -> None:
        self._most_attributes = most_attributes
        self._stack: list[bytes] = []
        self._formatting = self._foreign = self._merged = 0
        self._has_form = self._has_template = False
        self._open_formatting: list[int] = []
        self._counts: dict[bytes, int] = {}

    def why(self, utf8: bytes, tags: int) -> str | None:
        """Why the page is refused, of whose bytes so many may begin tags."""
        place = text_until = steps = read = moved = most_formatting = 0
        is_sure = True
        names: set[bytes] = set()
        while token := _TOKEN.search(utf8, place):
            if self._stack and self._stack[-1] in _ROWS:
                # What ends the tag or comment before is no part of its token.
                text = utf8[place : token.start()].removeprefix(b"--")[1:]
                moved += bool(text.strip())
            place = token.end()
            is_sure = is_sure and not token.start() < text_until < place
            ends, name, attributes = token.groups()
            if name is None:
                if self._foreign and utf8.startswith(b"<![CDATA[", token.start()):
                    text_until = max(text_until, utf8.find(b"]]>", place))
                continue
            read += 1
            name = name.lower()
            if len(attributes) > 1 and (why := self._attributes(name, attributes)):
                return why
            steps += len(self._stack)
            if ends:
                if is_sure and place > text_until:
                    self._end(name)
                continue
            if name in _RAW:
                end = _RAW_ENDS[name].search(utf8, place)
                until = end.start() if end else len(utf8)
                comment = utf8.find(b"<!--", place, until) if name == b"script" else -1
                if self._foreign:
                    text_until = max(text_until, until)
                else:
                    place = until
                if comment >= 0:
                    text_until = max(text_until, utf8.find(b"-->", comment))
            names.add(name)
            self._start(name, attributes)
            most_formatting = max(most_formatting, self._formatting)
            if steps > MAX_STEPS:
                break
        # What is no tag here may be one for the parser, such as in the text of a script.
        steps += (tags - read) * len(self._stack)
        return (
            _why(len(names), MAX_NAMES, "names of elements")
            or _why(steps, MAX_STEPS, "open elements are searched")
            or _why(moved, MAX_MOVED, "texts are in tables but in no cells")
            or _why(
                most_formatting * max(tags, most_formatting), MAX_REOPENED, "elements of formatting may be opened again"
            )
        )

    def _attributes(self, name: bytes, attributes: bytes) -> str | None:
        if (count := self._counts.get(attributes)) is None:
            count = self._counts[attributes] = len(_EACH.findall(attributes))
        most = self._most_attributes
        if name in _MERGED:
            count, most = self._merged + count, MAX_ATTRIBUTES
            self._merged = count
        return _why(count, most, f"attributes of {name.decode(errors='replace')[:20]}")

    def _start(self, name: bytes, attributes: bytes) -> None:
        self._has_template = self._has_template or name == b"template"
        if name == b"form" and not self._has_template:
            if self._has_form:
                return
            self._has_form = True
        if not self._foreign:
            if name in _VOID or name in _MERGED:
                return
            closed = _CLOSES.get(name, ())
            while closed and self._stack and self._stack[-1] in closed:
                self._pop()
        self._stack.append(name)
        self._foreign += name in _FOREIGN
        if name in _FORMATTING:
            self._open_formatting.append(2 + self._counts.get(attributes, 0))
            self._formatting += self._open_formatting[-1]

    def _end(self, name: bytes) -> None:
        """Closes an element, and those inside of it that have no end tag; of forms only the one that is known open."""
        if name == b"form" and not self._has_template:
            had_form, self._has_form = self._has_form, False
            if not had_form:
                return
        stack = self._stack
        last = len(stack) - 1
        inside = _IMPLIED | _OF_TABLE if name in _OF_TABLE else _IMPLIED if name in _BLOCKS else frozenset[bytes]()
        while last >= 0 and stack[last] != name and stack[last] in inside:
            last -= 1
        if last >= 0 and stack[last] == name:
            while len(stack) > last:
                self._pop()

    def _pop(self) -> None:
        name = self._stack.pop()
        self._foreign -= name in _FOREIGN
        if name in _FORMATTING:
            self._formatting -= self._open_formatting.pop()
