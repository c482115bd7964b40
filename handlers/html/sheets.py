"""Rules of a page's style sheets that hide text, and the elements that they match.

The usual rules are looked up in short sheets only: longer ones hide menus and tabs, which scripts show. Whether a
passage that is written to a machine may be hidden is asked of all rules, for the elements around it: by the last part
of each selector, which is enough for a doubt. So each cost is linear in the page.
"""

from __future__ import annotations

import re
from collections import defaultdict
from collections.abc import Callable, Iterator
from contextlib import suppress
from functools import cached_property, lru_cache
from itertools import islice
from typing import NamedTuple
from urllib.parse import unquote

from selectolax.lexbor import LexborNode, SelectolaxError

from handlers.html.nodes import ancestors
from handlers.html.styles import (
    SCREEN,
    WHITE,
    Colour,
    Hiding,
    Kind,
    background_of,
    doubt,
    hiding,
    lengths,
    read_style,
    unescaped,
)

Names = Callable[[LexborNode], frozenset[str]]
"""Reads the ids and classes of an element."""
SHORT = 20_000
"""Characters of sheets whose usual rules are looked up."""
_MOST_READ, _LONGEST, _MOST_GROUNDS = 700_000, 1_000, 20
_BYTES_QUERIED, _MOST_ELEMENTS, _MOST_SETTERS, _MOST_AROUND, _MOST_DOUBTFUL = 40_000_000, 1_000, 50, 20, 300
"""Bytes of a page times rules, elements of a rule, rules that may show one, elements around it, and rules in doubt."""
_USUAL = ("none", "hidden", "collapse", "opacity", "clip", "scale", "indent", "left", "top", "font", "var(")
_COMMENT = re.compile(r"/\*.*?(?:\*/|\Z)", re.DOTALL)
_STRING = re.compile(r"\"[^\"\n]*\"|'[^'\n]*'")
_SIGN = re.compile("[{};]")
_IMPORTED = re.compile(r"@import\s{1,9}(?:url\()?\s{0,9}[\"']?data:text/css[^,]{0,40},([^\"']{1,9999})", re.IGNORECASE)
_VARIABLES = re.compile(r"(--[\w-]{1,100})\s{0,9}:\s{0,9}([^;{}]{1,300})")
_GROUP = re.compile(r"\([^()]*\)")
_ATTRIBUTE = re.compile(r"\[[^\[\]]*\]")
_COMPOUND = re.compile(r"(?:\[[^\[\]]*\]|\([^()]*\)|\\.|[^\s>+~])+")
_NAMED = re.compile(r"[.#](?:\\[0-9a-fA-F]{1,6}\s?|\\.|[\w-]|[^\x00-\x7f])+")
_PLAIN = re.compile(r"[\w.# >-]+")
_TAG = re.compile(r"[a-zA-Z][\w-]*")
_STATES = re.compile(r"::|:(?:hover|focus|active|visited|target|checked|before|after|first-l|placeholder|disabled)")
_FEATURE = re.compile(r"(min-|max-)?(width|height)\s*(:|[<>]=?)\s*([^()<>]+)")
_NO_SCREEN = re.compile(
    r"print|speech|portrait|hover:\s?none|coarse|prefers-(?!color-scheme:\s?light|[a-z-]{1,30}:\s?no-pref)"
    r"|^(?:only )?(?!all|screen|and|only)[a-z]"
)


class Selector(NamedTuple):
    """What a selector asks for.

    Attributes:
        names: Ids and classes of the element.
        tag: Of the element; "" for any.
        around: Ids and classes that elements around it have together.
        is_plain: Whether it asks for nothing else.
    """

    names: frozenset[str]
    tag: str
    around: frozenset[str]
    is_plain: bool

    @property
    def key(self) -> str:
        """The id, class or tag by which it is looked up."""
        return min(self.names, default=self.tag or "*")


@lru_cache(maxsize=20_000)
def read_selector(text: str) -> Selector | None:
    """A selector; None for one of elements that no visitor sees at first.

    >>> read_selector("div > P.q:not(.z)")[:2]
    (frozenset({'.q'}), 'p')
    """
    plain = _GROUP.sub("", _GROUP.sub("", text)) if "(" in text else text
    parts = _COMPOUND.findall(plain)
    if not parts or _STATES.search(plain):
        return None
    last = _ATTRIBUTE.sub("", parts[-1]).rpartition("|")[2]
    found = _TAG.match(last)
    is_plain = _PLAIN.fullmatch(text) is not None
    around = frozenset(_unescaped(name) for part in parts[:-1] for name in _NAMED.findall(part))
    tag = found[0].lower() if found else ""
    return Selector(frozenset(map(_unescaped, _NAMED.findall(last))), tag, around, is_plain)


def _unescaped(name: str) -> str:
    return name[0] + unescaped(name[1:]) if "\\" in name else name


class Sheet:
    """The rules of the style sheets of a page."""

    def __init__(self, text: str) -> None:
        self.is_cut = len(text) > _MOST_READ
        text = _plain(text[:_MOST_READ])
        self.variables = dict(_VARIABLES.findall(text)) if "var(" in text else {}
        self.rules = list(_rules(text))

    def _read(self, has: tuple[str, ...] = ()) -> Iterator[tuple[list[Selector], dict[str, str]]]:
        for selectors, style in self.rules:
            if not has or any(map(style.__contains__, has)):
                read = read_style(style, self.variables)
                yield list(filter(None, map(read_selector, listed(selectors)))), read

    @cached_property
    def hiding(self) -> list[tuple[Selector, Hiding]]:
        """Plain selectors of what is surely hidden."""
        read = ((selectors, hiding(said)) for selectors, said in self._read(_USUAL))
        return [(one, how) for selectors, how in read if how for one in selectors if one.is_plain]

    @cached_property
    def setters(self) -> dict[str, list[tuple[Selector, frozenset[str]]]]:
        """By their key, selectors of rules that hide nothing, with the beginnings of properties that they set."""
        found: dict[str, list[tuple[Selector, frozenset[str]]]] = defaultdict(list)
        for selectors, said in self._read():
            if hiding(said) is None:
                names = frozenset(name.partition("-")[0] for name in said)
                for one in selectors:
                    found[one.key].append((one, names))
        return found

    @cached_property
    def doubtful(self) -> dict[str, list[tuple[Selector, Kind]]]:
        """By their key, selectors of what may be hidden."""
        found: dict[str, list[tuple[Selector, Kind]]] = defaultdict(list)
        for selectors, said in self._read():
            if kind := doubt(said, self.grounds):
                for one in selectors:
                    found[one.key].append((one, kind))
        return found

    @cached_property
    def grounds(self) -> list[Colour]:
        """Colours of backgrounds."""
        grounds = (background_of(said) for _, said in self._read(("background", "BACKGROUND")))
        return [WHITE, *dict.fromkeys(filter(None, grounds))][:_MOST_GROUNDS]

    def hidden(self, root: LexborNode, size: int, names: Names) -> Iterator[tuple[LexborNode, Hiding]]:
        """The elements of a page of so many bytes that the usual rules hide, if no other rule may show them."""
        for selector, how in self.hiding[: _BYTES_QUERIED // max(1, size)]:
            # The parser knows no names that begin with a digit.
            with suppress(SelectolaxError):
                for node in root.css(selector.tag + "".join(selector.names))[:_MOST_ELEMENTS]:
                    if _is_around(node, selector.around, names) and not self.is_shown(node, how, names):
                        yield node, how

    def is_shown(self, node: LexborNode, how: Hiding, names: Names) -> bool:
        """Whether another rule may show an element."""
        own, by = names(node), how.by.partition("-")[0]
        keys = (*islice(own, _MOST_SETTERS), node.tag or "")
        setters = [one for key in keys for one in self.setters.get(key, ())[:_MOST_SETTERS]][:_MOST_SETTERS]
        found = (by in sets and one.names <= own and one.tag in ("", node.tag) for one, sets in setters)
        return len(own) + len(setters) >= _MOST_SETTERS or any(found)

    def doubt(self, node: LexborNode) -> Kind | None:
        """How a rule may hide an element; one of very many may."""
        names = names_of(node)
        for key in (*names, node.tag or "", "*"):
            for number, (one, kind) in enumerate(self.doubtful.get(key, ())):
                if (one.names <= names and one.tag in ("", node.tag)) or number >= _MOST_DOUBTFUL:
                    return kind
        return None


def _is_around(node: LexborNode, asked: frozenset[str], names: Names) -> bool:
    """Whether the nearest elements around an element have all names that a selector asks for."""
    for above in ancestors(node, _MOST_AROUND) if asked else ():
        asked -= names(above)
        if not asked:
            break
    return not asked


@lru_cache(maxsize=64)
def short_sheet(text: str) -> Sheet:
    """A short sheet, kept for the next page."""
    return Sheet(text)


def _plain(text: str) -> str:
    """A style sheet without comments and without signs in strings, and with sheets in its imports."""
    if "/*" in text:
        text = _COMMENT.sub(" ", text)
    if "data:text/css" in text:
        text = "".join(map(unquote, _IMPORTED.findall(text))) + "\n" + text
    if '"' in text or "'" in text:
        text = _STRING.sub(lambda found: '""' if _SIGN.search(found[0]) else found[0], text)
    return text.replace("<!--", " ").replace("-->", " ")


def _rules(text: str) -> Iterator[tuple[str, str]]:
    """The rules of a plain style sheet that apply to screens: selectors and declarations.

    >>> list(_rules(".a{top:0; &.b{left:0}} @media print{p{top:0}} @layer x{i{top:0}"))
    [('.a', 'top:0'), ('.a.b', 'left:0'), ('i', 'top:0')]
    """
    stack: list[tuple[str, bool]] = [("", True)]
    for chunk in text.split("}"):
        *heads, body = chunk.split("{")
        for head in heads:
            around, applies = stack[-1]
            own, _, head = head.rpartition(";")
            if own and around and applies:
                yield around, own
            head = head.strip()
            if head[:1] == "@":
                stack.append((around, applies and _applies(head.lower())))
            elif around and len(around) + len(head) < _LONGEST:
                inner = (one.replace("&", around) if "&" in one else f"{around} {one}" for one in listed(head))
                stack.append((",".join(inner), applies))
            else:
                stack.append((head, applies))
        around, applies = stack[-1]
        if around and applies and not body.isspace() and body:
            yield around, body
        if len(stack) > 1:
            stack.pop()


def _applies(head: str) -> bool:
    if head.startswith("@media"):
        return is_for_screens(head[6:])
    return head.startswith(("@supports", "@layer", "@container", "@scope", "@document", "@-moz-document"))


def is_for_screens(media: str) -> bool:
    """Whether one of the media that are named is the usual screen.

    >>> is_for_screens("print"), is_for_screens("print, screen and (min-width: 300px)"), is_for_screens("not print")
    (False, True, True)
    >>> is_for_screens("(max-width: 600px)"), is_for_screens("(width >= 600px)")
    (False, True)
    """
    return any(_is_for_screen(one.strip()) for one in media[:_LONGEST].lower().split(","))


def _is_for_screen(query: str) -> bool:
    query = query.removeprefix("(") if query.startswith("(not ") else query
    if query.startswith("not "):
        return not _is_for_screen(query[4:])
    for bound, side, sign, value in _FEATURE.findall(query):
        pixels, screen = max(lengths(value), default=0.0), SCREEN[side == "height"]
        if screen < pixels if bound == "min-" or ">" in sign else screen > pixels and (bound or "<" in sign):
            return False
    return not _NO_SCREEN.search(query)


def listed(selectors: str) -> list[str]:
    """The selectors of a list, which commas separate that are in no parentheses."""
    if "(" not in selectors and "[" not in selectors:
        return [plain for one in selectors.split(",") if (plain := one.strip())]
    found, depth, last = [], 0, 0
    for sign in re.finditer(r"[()\[\],]", selectors):
        if sign[0] != ",":
            depth += 1 if sign[0] in "([" else -1
        elif depth == 0:
            found.append(selectors[last : sign.start()].strip())
            last = sign.end()
    return [one for one in (*found, selectors[last:].strip()) if one]


def names_of(node: LexborNode) -> frozenset[str]:
    """The id and the classes of an element, as in selectors."""
    attributes = node.attributes
    names = [f".{name}" for name in (attributes.get("class") or "").split()]
    return frozenset((*names, f"#{attributes['id']}") if attributes.get("id") else names)
