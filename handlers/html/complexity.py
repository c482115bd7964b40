"""What a page costs the parser, from one pass over its bytes before the parse.

The parser searches linearly in the attributes of a tag, in the elements that are open and in the open elements of
formatting, and it opens the latter again in each new block. So a small page can take it minutes. ``too_complex`` counts
these. It counts too many rather than too few, and most pages pass by a look at a few of their bytes.
"""

from __future__ import annotations

import re
from collections import Counter
from itertools import product

from ahocorasick_rs import BytesAhoCorasick, MatchKind

MAX_ATTRIBUTES = 1_000
"""Of one tag, and of all ``html`` and ``body`` tags, which the parser merges."""
MAX_NAMES = 20_000
"""Different names of attributes."""
MAX_FORMATTING = 200
"""Elements of formatting that are open."""
MAX_REOPENED = 3_000_000
"""Open elements of formatting times tags: elements that the parser may make."""
MAX_STEPS = 400_000_000
"""Open elements, summed over the tags."""
_FEW_TAGS, _FEW_FORMATTING = 8_000, 40
_SHORT = 4_000
"""Bytes of a page whose tags need no look."""
_LONG = 500_000
"""Bytes of a page with fewer different names of attributes than the limit."""
_STRIDE = 16_384

_FORMATTING = frozenset(b"a b big code em font i nobr s small strike strong tt u".split())
_MERGED = frozenset((b"html", b"body"))
_VOID = frozenset(b"area base br col embed frame hr img input link meta param source track wbr".split())
_RAW = frozenset(b"iframe noembed noframes script style textarea title xmp".split())
_FOREIGN = frozenset(b"svg math select frameset".split())
"""Elements inside of which the content of those of ``_RAW`` may be tags."""
_HTML_INSIDE = frozenset(b"foreignobject desc title annotation-xml mi mn mo ms mtext".split())
_BREAK_OUT = frozenset(
    b"b big blockquote body br center code dd div dl dt em embed font h1 h2 h3 h4 h5 h6 head hr i img li listing menu meta "
    b"nobr ol p pre ruby s small span strong strike sub sup table tt u ul var".split()
)
_INSIDE = _FOREIGN | _HTML_INSIDE
"""Start tags that may end ``svg`` and ``math``."""
_IMPLIED = frozenset(b"p li dd dt option optgroup rb rp rt rtc".split())
_OF_TABLE = frozenset(b"table tbody thead tfoot tr td th".split())
_BLOCKS = _OF_TABLE | frozenset(
    b"address article aside blockquote body button center dd details dialog div dl dt fieldset figcaption figure footer "
    b"form header html li main menu nav ol section select summary ul".split()
)
_CLOSES: dict[bytes, frozenset[bytes]] = {
    name: frozenset(others.split())
    for names, others in (
        (b"p", b"p"), (b"li", b"li p"), (b"dd dt", b"dd dt p"), (b"option", b"option"), (b"td th", b"td th"),
        (b"optgroup", b"option optgroup"), (b"tr", b"tr td th"), (b"tbody thead tfoot", b"tbody thead tfoot tr td th"),
        (b"a", b"a"),
    )
    for name in names.split()
}  # fmt: skip
"""The elements that a start tag closes where they are the innermost ones."""


def _cases(text: str) -> list[bytes]:
    return ["".join(letters).encode() for letters in product(*({letter, letter.upper()} for letter in text))]


_VALUE = rb"""(?:"[^"]*+"?+|'[^']*+'?+|[^\s>"'][^\s>]*+|(?=>))"""
_ATTRIBUTE = rb"[\s/]*+[^\s/>][^\s/>=]*+(?:\s*+=\s*+%s)?+" % _VALUE
_EACH = re.compile(rb"[\s/]*+([^\s/>][^\s/>=]*+)(?:\s*+=\s*+%s)?+" % _VALUE)
_REST = re.compile(rb"(?:%s){0,%d}+[\s/]*+>" % (_ATTRIBUTE, MAX_ATTRIBUTES))
_TOKEN = re.compile(
    rb"<(?:!--(?:-?>|(?:[^-]|-(?!-!?>))*+)|(/?)([a-zA-Z][^\s/>]*+)((?:%s)*+[\s/]*+)|[!?/][^>]*+)" % _ATTRIBUTE
)
_RAW_ENDS = {
    name: re.compile(rb"</" + b"".join(b"[%c%c]" % (letter, letter - 32) for letter in name) + rb"[\s/>]")
    for name in _RAW
}
# Of start tags without an end of their name, longer ones may count too: ``strip`` for ``strike``.
_SIGNS = [
    *(sign for name in "bius" for end in " \t\n\r\f/>" for sign in _cases(f"<{name}{end}")),
    *(sign for name in ("tt", "em", "big", "cod", "fon", "nob", "sma", "str") for sign in _cases(f"<{name}")),
]
_MERGED_SIGNS = [*_cases("<html"), *_cases("<body")]
_ENDS = [sign.replace(b"<", b"</") for sign in _SIGNS]
_FOUND = BytesAhoCorasick([*_SIGNS, *_MERGED_SIGNS, *_ENDS], MatchKind.LeftmostFirst)


def too_complex(utf8: bytes, max_depth: int) -> str | None:
    """Why a page may take the parser too long, with the figure; None if it may be parsed.

    Args:
        utf8: The page as the parser gets it.
        max_depth: Elements inside each other that a page may have, twice of which are parsed.

    >>> too_complex(b"<p " + b" ".join(b"a%d" % number for number in range(5000)) + b">", 1000)
    'p has 5000 attributes, more than 1000'
    """
    if len(utf8) < _SHORT:
        return None
    tags, formatting = utf8.count(b"<"), _formatting(utf8)
    is_plain = tags <= _FEW_TAGS and formatting is not None and formatting * tags <= MAX_REOPENED
    if is_plain and len(utf8) < _LONG and _has_short_tags(utf8):
        return None
    return _Pass().why(utf8, tags, 2 * max_depth)


def _formatting(utf8: bytes) -> int | None:
    """How many elements of formatting are opened; None if many of them, or of those that are merged, are not closed."""
    opened = ended = merged = 0
    for sign, _, _ in _FOUND.find_matches_as_indexes(utf8):
        if sign < len(_SIGNS):
            opened += 1
        elif sign < len(_SIGNS) + len(_MERGED_SIGNS):
            merged += 1
        else:
            ended += 1
    return opened if opened - ended <= _FEW_FORMATTING and merged <= _FEW_FORMATTING else None


def _has_short_tags(utf8: bytes) -> bool:
    """Whether no tag has many attributes, by looks from places all over the page.

    A place is behind ``>``. If it is inside of a tag, it is inside of a quoted value. From there the tag has to end soon,
    whichever the quote. What is between two ``>`` has no more attributes than blanks, slashes and equals signs.
    """
    size, place = len(utf8), 0
    while (place := place + _STRIDE) < size:
        begin = utf8.find(b">", place, place + _STRIDE)
        if begin < 0:
            first, begin = utf8.rfind(b">", 0, place) + 1, utf8.find(b">", place)
            begin = size if begin < 0 else begin
            between = utf8[first:begin]
            if len(between.split()) + between.count(b"/") + between.count(b"=") > 2 * MAX_ATTRIBUTES:
                return False
            place = begin
        for quote in (b'"', b"'"):
            end = utf8.find(quote, begin)
            if end >= 0 and not _REST.match(utf8, end + 1):
                return False
    return True


class _Pass:
    """The tags of a page, one after the other.

    An element is closed only if its end tag comes where no other element is open inside, so that no more elements are
    open in the tree than here. An end tag does not count where it may be text.
    """

    def __init__(self) -> None:
        self._stack: list[bytes] = []
        self._open: Counter[bytes] = Counter()
        self._formatting: list[bytes] = []
        self._seen: set[bytes] = set()
        self._names: set[bytes] = set()
        self._merged = 0
        self._foreign = 0
        self._is_broken_out = False

    def why(self, utf8: bytes, tags: int, max_depth: int) -> str | None:
        """Why the page is refused, of whose bytes so many may begin tags."""
        place = text_until = steps = read = most_formatting = 0
        is_sure = True
        while token := _TOKEN.search(utf8, place):
            place = token.end()
            is_sure = is_sure and not token.start() < text_until < place
            ends, name, attributes = token.groups()
            if name is None:
                if self._foreign and utf8.startswith(b"<![CDATA[", token.start()):
                    text_until = max(text_until, utf8.find(b"]]>", place))
                continue
            read += 1
            name = name.lower()
            if len(attributes) > 1 and (why := self._count(name, attributes)):
                return why
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
            self._start(name, attributes)
            steps += len(self._stack)
            most_formatting = max(most_formatting, len(self._formatting))
            if len(self._stack) > max_depth or most_formatting > MAX_FORMATTING:
                break
        # What is no tag here may be one for the parser, such as in the text of a script.
        steps += (tags - read) * read
        counted = (
            (len(self._stack), max_depth, "elements are open"),
            (most_formatting, MAX_FORMATTING, "elements of formatting are open"),
            (steps, MAX_STEPS, "open elements are searched"),
            (most_formatting * tags, MAX_REOPENED, "elements of formatting are opened again"),
        )
        return next((f"{count} {what}, more than {most}" for count, most, what in counted if count > most), None)

    def _count(self, name: bytes, attributes: bytes) -> str | None:
        if attributes in self._seen and name not in _MERGED:
            return None
        self._seen.add(attributes)
        names = _EACH.findall(attributes)
        self._names.update(names)
        count = len(names)
        if name in _MERGED:
            count = self._merged = self._merged + count
        if count > MAX_ATTRIBUTES:
            return f"{name.decode()} has {count} attributes, more than {MAX_ATTRIBUTES}"
        return f"attributes have more than {MAX_NAMES} names" if len(self._names) > MAX_NAMES else None

    def _start(self, name: bytes, attributes: bytes) -> None:
        if self._foreign:
            self._is_broken_out = self._is_broken_out or name in _BREAK_OUT
            if attributes.endswith(b"/") and self._has_only_foreign:
                return
        elif name in _VOID or name in _MERGED:
            return
        else:
            self._is_broken_out = False
            closed = _CLOSES.get(name, ())
            while closed and self._stack and self._stack[-1] in closed:
                self._pop()
        self._stack.append(name)
        if name in _INSIDE:
            self._open[name] += 1
            self._foreign += name in _FOREIGN
        if name in _FORMATTING:
            self._formatting.append(attributes)

    def _end(self, name: bytes) -> None:
        """Closes an element, and those inside of it that have no end tag."""
        stack = self._stack
        last = len(stack) - 1
        inside = _IMPLIED | _OF_TABLE if name in _OF_TABLE else _IMPLIED if name in _BLOCKS else frozenset[bytes]()
        is_foreign = name in _FOREIGN and self._has_only_foreign
        while last >= 0 and stack[last] != name and (stack[last] in inside or is_foreign):
            last -= 1
        if last >= 0 and stack[last] == name:
            while len(stack) > last:
                self._pop()

    @property
    def _has_only_foreign(self) -> bool:
        """Whether no element of HTML can be open inside of ``svg`` or ``math``."""
        is_html = self._is_broken_out or self._open[b"select"] or self._open[b"frameset"]
        return not is_html and not any(self._open[name] for name in _HTML_INSIDE)

    def _pop(self) -> None:
        name = self._stack.pop()
        if name in _INSIDE:
            self._open[name] -= 1
            self._foreign -= name in _FOREIGN
        if name in _FORMATTING:
            self._formatting.pop()
