"""Rules of a page's style sheets that may hide text, and the elements that they match.

The parser finds the elements by the last part of the selectors, in one query for all of them. What else a selector asks
for is compared with the elements around, or is in doubt: that hides text that is written to a machine, and no other.
Each look is a step of the page's budget. Beyond it all text is in doubt.
"""

from __future__ import annotations

import re
from collections import defaultdict
from collections.abc import Container, Iterator
from functools import cached_property, lru_cache
from typing import NamedTuple
from urllib.parse import unquote

from selectolax.lexbor import LexborNode, SelectolaxError

from handlers.html.styles import (
    SCREEN,
    Colour,
    Hiding,
    background_of,
    hiding,
    lengths,
    may_hide,
    read_style,
    unescaped,
)

STEPS = 1_000_000
"""Looks of the selectors of a page at elements, ancestors and rules."""
_PER_NODE, _BYTES_PER_STEP = 4, 40
"""Names that are compared, and bytes of a page whose elements the parser passes, in the time of a look."""
_MOST_READ, _KEPT_SHEET, _LONGEST, _MOST_GROUNDS = 700_000, 5_000, 1_000, 20
_IN_A_QUERY, _QUERIES = 40, 8
"""Names that are asked for in one query, above which all elements are listed, and queries for tags and attributes."""
_COMMENT = re.compile(r"/\*.*?(?:\*/|\Z)", re.DOTALL)
_STRING = re.compile(r"\"[^\"\n]*\"|'[^'\n]*'")
_SIGN = re.compile("[{};]")
_IMPORTED = re.compile(r"@import\s{1,9}(?:url\()?\s{0,9}[\"']?data:text/css[^,]{0,40},([^\"']{1,9999})", re.IGNORECASE)
_SIGNS = re.compile(
    r"none|hidden|collapse|visib|opacity|clip|scale|rotate|zoom|mask|-path|var\(|transparent|perspective|translate"
    r"|spacing|contrast|fill|:\s*-[\d.]{2}|[ (]-[\d.]{2}|font(?:-size)?\s*:\s*[0-3.](?!\d)|\d{4}|\d{3}(?:v[wh]|%)"
    r"|(?:height|width|size)\s*:\s*[01.](?![\d.]{2})|:\s*(?:calc|min|max)\(|matrix|skew|fixed|\\",
    re.IGNORECASE,
)
"""What a declaration has that may hide text."""
_VARIABLES = re.compile(r"(--[\w-]{1,100})\s{0,9}:\s{0,9}([^;{}]{1,300})")
_BACKGROUND = re.compile(r"background(?:-color)?\s{0,9}:([^;{}]{1,100})", re.IGNORECASE)
_TEXT_COLOUR = re.compile(r"(?<![\w-])color\s{0,9}:\s{0,9}([^;!]{1,60})", re.IGNORECASE)
_MAY_BE_WHITE = re.compile(
    r"#[ef]|[a-z]{3,6}\(|w|snow|ivory|[fa][a-z]{4,}|ghost|mint|honey|seash|canvas|current", re.IGNORECASE
)
_PAGE = re.compile(r"(?:^|[\s,])(?:body|html|:root|\*)(?:$|[\s,])")
_GROUP = re.compile(r"\([^()]*\)")
_COMPOUND = re.compile(r"(?:\[[^\[\]]*\]|\([^()]*\)|\\.|[^\s>+~])+")
_NAMED = re.compile(r"[.#](?:\\[0-9a-fA-F]{1,6}\s?|\\.|[\w-]|[^\x00-\x7f])+")
_PLAIN_NAME = re.compile(r"[.#][a-zA-Z_][\w-]*")
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
        key: The id, class, tag or attribute by which its elements are looked up.
        names: Ids and classes of the element.
        tag: Of the element; "" for any.
        around: Ids and classes that elements around it have together.
        is_plain: Whether it asks for nothing else.
    """

    key: str
    names: frozenset[str]
    tag: str
    around: frozenset[str]
    is_plain: bool


@lru_cache(maxsize=20_000)
def read_selector(text: str) -> Selector | None:
    """A selector; None for one of elements that no visitor sees at first.

    >>> read_selector("div > P.q:not(.z)")[:3]
    ('.q', frozenset({'.q'}), 'p')
    """
    plain = _GROUP.sub("", _GROUP.sub("", text)) if "(" in text else text
    if _STATES.search(plain):
        return None
    parts = _COMPOUND.findall(text)
    if not parts:
        return None
    last = plain.rpartition("|")[2] if len(parts) == 1 else _COMPOUND.findall(plain)[-1].rpartition("|")[2]
    named = [_unescaped(name) for name in _NAMED.findall(re.sub(r"\[[^\[\]]*\]", "", last))]
    found = _TAG.match(last)
    tag = found[0].lower() if found else ""
    attribute = re.search(r"\[[^\[\]]*\]", last)
    ids = [name for name in named if name[0] == "#"]
    key = ids[0] if ids else named[-1] if named else attribute[0] if attribute else tag or "*"
    is_beside = "+" in plain or "~" in plain
    outer = [] if is_beside else parts[:-1]
    around = frozenset(_unescaped(name) for part in outer for name in _NAMED.findall(_GROUP.sub("", part)))
    is_plain = ":" not in text and "[" not in text and not is_beside
    return Selector(key, frozenset(named), tag, around, is_plain)


def _unescaped(name: str) -> str:
    return name[0] + unescaped(name[1:]) if "\\" in name else name


class Rule(NamedTuple):
    """A rule that may hide text, if others give the place or cut the box."""

    selector: Selector
    style: str
    how: Hiding


class Sheet:
    """The rules of style sheets that may hide text; of elements with names that are not on the page, only some."""

    def __init__(self, text: str, names: Container[str] | None = None) -> None:
        self.is_cut = len(text) > _MOST_READ
        text = _plain(text[:_MOST_READ])
        self.variables = dict(_VARIABLES.findall(text)) if "var(" in text else {}
        values = dict.fromkeys(value.strip().lower() for value in _BACKGROUND.findall(text))
        known = (background_of(read_style(f"background:{value}", self.variables)) for value in values)
        self.grounds = list(dict.fromkeys(filter(None, known)))[:_MOST_GROUNDS]
        self.rules: list[Rule] = []
        self.page: Colour | None = None
        self._all = [rule for rule in _rules(text) if names is None or _may_be_on(rule[0], names)]
        self._setters: dict[tuple[str, ...], dict[str, list[Selector]]] = {}
        for selectors, style in self._all:
            if "background" in style and _PAGE.search(selectors[:_LONGEST]):
                self.page = background_of(read_style(style, self.variables)) or self.page
            colours = _TEXT_COLOUR.findall(style) if "olor" in style or "OLOR" in style else ()
            is_like = any(_MAY_BE_WHITE.match(one) or one.strip().lower() in values for one in colours)
            if (is_like or _SIGNS.search(style)) and (how := may_hide(read_style(style, self.variables), self.grounds)):
                read = map(read_selector, listed(selectors))
                self.rules += [Rule(selector, style, how) for selector in read if selector is not None]

    def setters(self, by: tuple[str, ...]) -> dict[str, list[Selector]]:
        """Selectors, by their key, of rules that set properties that hide text, and do not hide it."""
        if by not in self._setters:
            found: dict[str, list[Selector]] = defaultdict(list)
            for selectors, style in self._all:
                if any(map(style.__contains__, by)) and hiding(read_style(style, self.variables)) is None:
                    for selector in filter(None, map(read_selector, listed(selectors))):
                        found[selector.key].append(selector)
            self._setters[by] = found
        return self._setters[by]


def _may_be_on(selectors: str, names: Container[str]) -> bool:
    """Whether a page may have all the names of one of some selectors."""
    plain = _GROUP.sub("", selectors) if "(" in selectors else selectors
    return "\\" in plain or any(all(map(names.__contains__, _PLAIN_NAME.findall(one))) for one in plain.split(","))


@lru_cache(maxsize=256)
def _kept_sheet(text: str) -> Sheet:
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


class Styles:
    """The styles of one page: which elements its sheets may hide, and whether others show them."""

    def __init__(self, root: LexborNode, text: str, size: int) -> None:
        self.steps = 0
        self._number = size // _BYTES_PER_STEP
        self._root = root
        # Most rules of a long sheet are for other pages of the site.
        self.sheet = _kept_sheet(text) if len(text) <= _KEPT_SHEET else Sheet(text, self._index)
        self.exceeded = self.sheet.is_cut
        self._names: dict[int, frozenset[str]] = {}

    def spend(self, steps: int) -> bool:
        """Whether so many steps are left. Without them it is not known what the rest would hide."""
        self.steps += steps
        self.exceeded = self.exceeded or self.steps > STEPS
        return not self.exceeded

    @cached_property
    def _index(self) -> dict[str, list[LexborNode]]:
        """The elements of the page by their ids and classes."""
        found: dict[str, list[LexborNode]] = defaultdict(list)
        for node in self._root.css("[class],[id]"):
            for name in names_of(node):
                found[name].append(node)
        return found

    def may_hide(self) -> dict[int, tuple[LexborNode, list[Rule], bool]]:
        """The elements that rules may hide, with these rules, and whether one of them surely matches."""
        by_key: dict[str, list[Rule]] = defaultdict(list)
        for rule in self.sheet.rules:
            by_key[rule.selector.key].append(rule)
        found: dict[int, tuple[LexborNode, list[Rule], bool]] = {}
        for node, keys in self._looked_up(list(by_key)):
            names = {*names_of(node)}
            for key in keys:
                if not self.spend(len(by_key[key]) + len(names) // _PER_NODE):
                    return found
                for rule in by_key[key]:
                    selector = rule.selector
                    is_it = selector.names <= names and selector.tag in ("", node.tag)
                    if is_it and (not selector.around or selector.around <= self._around(node)):
                        _, rules, is_sure = found.get(node.mem_id, (node, [], False))
                        found[node.mem_id] = node, [*rules[-_QUERIES:], rule], is_sure or selector.is_plain
        return found

    def _looked_up(self, keys: list[str]) -> Iterator[tuple[LexborNode, list[str]]]:
        """The elements that have one of the keys, each with its keys."""
        named = [key for key in keys if key[0] in ".#"]
        others = [key for key in keys if key[0] not in ".#"]
        if named and self.spend(self._number):
            if "_index" not in self.__dict__ and len(named) <= _IN_A_QUERY and all(map(_PLAIN_NAME.fullmatch, named)):
                known = frozenset(named)
                for node in self._root.css(",".join(named)):
                    yield node, list(known.intersection(names_of(node)))
            else:
                yield from ((node, [name]) for name in named for node in self._index.get(name, ()))
        for key in others[:_QUERIES]:
            if self.spend(self._number):
                try:
                    for node in self._root.css(key if key != "*" else "[class],[id]"):
                        yield node, [key]
                except SelectolaxError:
                    self.exceeded = True
        self.exceeded = self.exceeded or len(others) > _QUERIES

    def _around(self, node: LexborNode | None) -> frozenset[str]:
        """The names of the elements around an element."""
        path = []
        above = node.parent if node is not None else None
        while above is not None and above.mem_id not in self._names:
            path.append(above)
            above = above.parent
        found = self._names[above.mem_id] if above is not None else frozenset[str]()
        for one in reversed(path):
            found = found.union(names_of(one)) if self.spend(1 + len(found) // _PER_NODE) else found
            self._names[one.mem_id] = found
        return found

    def is_shown(self, node: LexborNode, by: tuple[str, ...]) -> bool:
        """Whether a rule may give an element other values of properties that hide it."""
        names = frozenset(names_of(node))
        self.spend(1 + len(names))
        setters = self.sheet.setters(by)
        others = [one for key in (*names, node.tag or "") for one in setters.get(key, ())]
        if not others or not self.spend(len(others)):
            return bool(others)
        around = self._around(node)
        return any(one.names <= names and one.tag in ("", node.tag) and one.around <= around for one in others)


def names_of(node: LexborNode) -> list[str]:
    """The id and the classes of an element, as in selectors."""
    attributes = node.attributes
    names = [f".{name}" for name in (attributes.get("class") or "").split()]
    return [f"#{identity}", *names] if (identity := attributes.get("id")) else names
