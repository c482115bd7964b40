"""Style sheets of a page: rules that may hide text, the elements that they match, and what applies to an element.

The parser matches the selectors. A page has a budget of steps for them. What exceeds it is known by the last name of
the selector alone, and is in doubt: it hides instructions, and no other text.
"""

from __future__ import annotations

import re
from collections import defaultdict
from collections.abc import Iterable, Iterator, Mapping
from functools import cached_property, lru_cache
from itertools import count
from math import comb
from typing import NamedTuple
from urllib.parse import unquote

from selectolax.lexbor import LexborNode, SelectolaxError

from handlers.html.styles import (
    SCREEN,
    Colour,
    Hiding,
    background_of,
    declared,
    important_last,
    in_colour_of,
    lengths,
    may_be_hiding,
    resolved,
    unescaped,
)

_KEPT_SHEET = 500_000
"""Characters of a sheet whose rules are kept for the next page of the site."""
_MOST_READ = 1_500_000
"""Characters of the sheets of a page that are read."""
_LONGEST = 1_000
_MOST_GROUNDS = 20
"""Colours of backgrounds that text is compared with."""
_STEPS = 6_000_000
"""Looks at elements that the selectors of a page may take."""
_STEPS_EACH = 20
"""For an element that is found, and for a rule that is compared."""
_STEPS_OF_QUERY = 200
"""What it costs to read a selector."""
_MOST_FOUND = 120_000
_COMMENT = re.compile(r"/\*.*?(?:\*/|\Z)", re.DOTALL)
_STRING = re.compile(r"\"[^\"\n]*\"|'[^'\n]*'")
_BRACE = re.compile(r"[{}]")
_SIGN = re.compile("[{};]")
_IMPORTED = re.compile(r"@import\s{1,9}(?:url\()?\s{0,9}[\"']?data:text/css[^,]{0,40},([^\"']{1,9999})", re.IGNORECASE)
_SIGNS = (
    "none", "hidden", "collapse", "visib", "opacity", "clip", "scale", "rotate", "zoom", "mask", "-path", "var(",
    "transparent", "perspective", "translate", "spacing", "contrast", "color:", "color :", "fill", ":-", ": -", " -",
    "(-", "font", "height:0", "height: 0", "height:1px", "height: 1px", "height:calc", "height:m", "width:0",
    "width: 0", "width:1px", "width: 1px", "-size:", "matrix", "skew", "fixed",
)  # fmt: skip
"""What a declaration has that may hide text."""
_GROUP = re.compile(r"\([^()]*\)|\[[^\]]*\]")
_ESCAPE = re.compile(r"\\(?:([0-9a-fA-F]{1,6})\s?|(.))", re.DOTALL)
_ESCAPED = 0xE000
_TOKEN = re.compile(r"[.#](?:[^\W]|[-\u00a1-\uffff])+")
_SIMPLE = re.compile(r"[.#][\w-]+")
_PSEUDO = re.compile(r":[\w-]+")
_STATES = re.compile(r"::|:(?:hover|focus|active|visited|target|checked|before|after|first-l|placeholder|disabled)")
_ALWAYS = re.compile(r":(?:dir\(ltr\)|lang\([^()]{0,40}\)|defined|scope|read-only|optional)")
"""What is true of nearly all elements, and unknown to the parser."""
_FAR = re.compile(r"[^\s>+~,(]\s+(?![\s>+~,)])|~|:has|:nth")
_WIDE = re.compile(r"~|:has|:nth")
_FEATURE = re.compile(r"(min-|max-)?(width|height)\s*(:|[<>]=?)\s*([^()<>]+)")
_NO_SCREEN = re.compile(
    r"print|speech|portrait|hover:\s?none|coarse|prefers-(?!color-scheme:\s?light|[a-z-]+:\s?no-pref)"
    r"|^(?:only )?(?!all|screen|and|only)[a-z]"
)


class Rule(NamedTuple):
    """A rule that applies to screens: its selectors, its declarations, and what it takes precedence by."""

    selectors: str
    style: str
    is_unlayered: bool
    order: int


class Sheet:
    """The rules of style sheets, in the forms that are asked for."""

    def __init__(self, text: str) -> None:
        self.is_cut = len(text) > _MOST_READ
        self.rules = list(_rules(text[:_MOST_READ]))
        self.variables = {
            name: value
            for rule in self.rules
            if "--" in rule.style
            for name, value, _ in declared(rule.style)
            if name.startswith("--")
        }
        grounds = (self._said(rule.style) for rule in self.rules if "background" in rule.style)
        self.grounds = list(dict.fromkeys(filter(None, map(background_of, grounds))))[:_MOST_GROUNDS]
        page = (rule.style for rule in self.rules if "background" in rule.style and _is_page(rule.selectors))
        self.page: Colour | None = next((it for style in page if (it := background_of(self._said(style)))), None)
        self._setters: dict[str, dict[str, list[tuple[str, Rule]]]] = {}

    def _said(self, style: str) -> dict[str, str]:
        return resolved({name: value for name, value, _ in declared(style)}, self.variables)

    @cached_property
    def telling(self) -> dict[str, frozenset[str]]:
        """Selectors of the rules that may hide text, if others give the place or cut the box, and what decides it."""
        known: dict[str, Hiding | None] = {}
        found: dict[str, frozenset[str]] = {}
        for rule in self.rules:
            style = rule.style
            if style not in known:
                said = self._said(style) if any(map(style.lower().__contains__, _SIGNS)) else {}
                known[style] = may_be_hiding(said, self.page) or in_colour_of(said, self.grounds)
            if how := known[style]:
                for selector in _listed(rule.selectors):
                    found[selector] = found.get(selector, frozenset()).union(how.by)
        return found

    def setters(self, part: str) -> dict[str, list[tuple[str, Rule]]]:
        """Selectors of the rules that set properties with a word in their names, by the key of the selector."""
        if part not in self._setters:
            found: dict[str, list[tuple[str, Rule]]] = defaultdict(list)
            for rule in self.rules:
                if part in rule.style:
                    for selector in _listed(rule.selectors):
                        found[key_of(selector)[0]].append((selector, rule))
            self._setters[part] = found
        return self._setters[part]


def read_sheet(text: str) -> Sheet:
    """The rules of style sheets; those of a usual size are kept."""
    return _kept_sheet(text) if len(text) <= _KEPT_SHEET else Sheet(text)


@lru_cache(maxsize=64)
def _kept_sheet(text: str) -> Sheet:
    return Sheet(text)


def _rules(text: str) -> Iterator[Rule]:
    """The rules of a style sheet; one inside of another has the selectors of both.

    >>> [rule[:2] for rule in _rules("/*}*/ .a{top:0; &.b{left:0}} @media print{p{top:0}} @layer x{i{top:0}")]
    [('.a', 'top:0; '), (':is(.a).b', 'left:0'), ('i', 'top:0')]
    """
    if "/*" in text:
        text = _COMMENT.sub(" ", text)
    if "data:text/css" in text:
        text = "".join(map(unquote, _IMPORTED.findall(text))) + "\n" + text
    if '"' in text or "'" in text:
        text = _STRING.sub(_without_signs, text)
    text = text.replace("<!--", " ").replace("-->", " ")
    order = count()
    stack: list[tuple[str, bool, bool]] = [("", True, True)]
    last = 0
    for brace in _BRACE.finditer(text):
        place = brace.start()
        around, applies, is_unlayered = stack[-1]
        own = text[last:place]
        last = place + 1
        is_end = brace[0] == "}"
        if not is_end:
            own, _, head = own.rpartition(";")
        if applies and around and own and not own.isspace():
            yield Rule(around, unescaped(own) if "\\" in own else own, is_unlayered, next(order))
        if is_end:
            if len(stack) > 1:
                stack.pop()
            continue
        head = head.strip()
        if head[:1] == "@":
            stack.append((around, applies and _applies(head.lower()), is_unlayered and not head.startswith("@layer")))
        elif around and applies:
            inner = f":is({around})" if len(around) < _LONGEST else ":is(!)"
            nested = (one.replace("&", inner) if "&" in one else f"{inner} {one}" for one in _listed(head))
            stack.append((",".join(nested) if len(head) < _LONGEST else ":is(!)", applies, is_unlayered))
        else:
            stack.append((head, applies, is_unlayered))
    around, applies, is_unlayered = stack[-1]
    if applies and around and (rest := text[last:]):
        yield Rule(around, unescaped(rest), is_unlayered, next(order))


def _without_signs(string: re.Match[str]) -> str:
    return '""' if _SIGN.search(string[0]) else string[0]


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


def _is_page(selectors: str) -> bool:
    return any(one in ("body", "html", ":root", "html body", "*") for one in _listed(selectors))


def _listed(selectors: str) -> list[str]:
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


def _tokens(plain: str) -> list[str]:
    found = _TOKEN.findall(plain)
    if plain.isascii():
        return found
    return ["".join(chr(ord(one) - _ESCAPED) if _ESCAPED <= ord(one) < 0xF000 else one for one in it) for it in found]


@lru_cache(maxsize=20_000)
def key_of(selector: str) -> tuple[str, frozenset[str], bool]:
    """The name by which a selector's elements are looked up, the names that a page must have, and whether it is all.

    >>> key_of("div > p.q:not(.z)")[:2], key_of(".a")
    (('.q', frozenset({'.q'})), ('.a', frozenset({'.a'}), True))
    """
    plain = selector[-_LONGEST:]
    if "\\" in plain:
        plain = _ESCAPE.sub(lambda it: chr(_ESCAPED + min(int(it[1], 16) if it[1] else ord(it[2]), 0xFFF)), plain)
    for _ in range(4):
        if "(" in plain or "[" in plain:
            plain = _GROUP.sub("", plain)
    if "(" in plain:
        return "*", frozenset(), False
    tokens = _tokens(plain)
    last = re.split(r"[\s>+~]+", plain.strip())[-1]
    own = _tokens(last)
    name = re.match(r"[a-z][\w-]*", last.lower())
    key = next((one for one in own if one[0] == "#"), own[-1] if own else name[0] if name else "*")
    return key, frozenset(tokens), len(own) == 1 and "\\" not in selector and selector == key


def _precedence(selector: str, rule: Rule) -> tuple[int, ...]:
    ids, classes = selector.count("#"), selector.count(".") + selector.count("[") + len(_PSEUDO.findall(selector))
    names = sum(one[:1].isalpha() for one in re.split(r"[\s>+~(),]+", selector))
    return int(rule.is_unlayered), 0, ids, classes, names, rule.order


class Styles:
    """The styles of one page: which elements its sheets may hide, and what applies to an element."""

    def __init__(self, root: LexborNode, sheet: Sheet) -> None:
        self.sheet = sheet
        self.exceeded = sheet.is_cut
        self._root = root
        self.steps = _STEPS
        self._found: dict[str, tuple[frozenset[int], bool]] = {}

    @cached_property
    def _index(self) -> Mapping[str, list[LexborNode]]:
        found: dict[str, list[LexborNode]] = defaultdict(list)
        for node in self._root.css("[class],[id]"):
            for name in names_of(node):
                found[name].append(node)
        return found

    @cached_property
    def _number(self) -> int:
        return len(self._root.css("*"))

    @cached_property
    def _depth(self) -> int:
        depths: dict[int, int] = {}
        most = 0
        for node in self._root.css("*"):
            path = []
            above: LexborNode | None = node
            while above is not None and above.mem_id not in depths:
                path.append(above.mem_id)
                above = above.parent
            depth = depths[above.mem_id] if above is not None else 0
            depths |= {identity: depth + number for number, identity in enumerate(reversed(path), 1)}
            most = max(most, depth + len(path))
        return most

    def may_hide(self) -> dict[int, tuple[LexborNode, frozenset[str], bool]]:
        """The elements that rules may hide, what decides it, and whether all of these rules surely match them."""
        found: dict[int, tuple[LexborNode, frozenset[str], bool]] = {}
        for selector, by in self.sheet.telling.items():
            if selector not in self._index and _SIMPLE.fullmatch(selector):
                continue
            nodes, is_sure = self._matched(selector)
            for node in nodes[:_MOST_FOUND]:
                _, known, is_known = found.get(node.mem_id, (node, by, is_sure))
                found[node.mem_id] = node, known | by, is_known or is_sure
        return found

    def _matched(self, selector: str) -> tuple[list[LexborNode], bool]:
        """The elements that a selector matches; by its key alone, and in doubt, those of one that takes too long."""
        key, names, is_all = key_of(selector)
        if not all(map(self._index.__contains__, names)) or _STATES.search(_GROUP.sub("", selector)):
            return [], True
        if is_all:
            return self._index[key], True
        by_key = self._index[key] if key[0] in ".#" else None
        if len(selector) > _LONGEST or not self._spend(
            self._cost(selector, self._number if by_key is None else len(by_key))
        ):
            return [], False
        try:
            nodes = self._root.css(_ALWAYS.sub("", selector) or "*")
        except SelectolaxError:
            # Browsers may know what the parser does not.
            return (by_key or [], False) if ":" in selector and self._spend(len(by_key or ())) else ([], True)
        self.steps = max(0, self.steps - _STEPS_EACH * len(nodes))
        return nodes, True

    def _spend(self, steps: int) -> bool:
        """Whether so many steps are left. What the others would hide is not known then."""
        if steps > self.steps:
            self.exceeded = True
            return False
        self.steps -= steps
        return True

    def _cost(self, selector: str, number: int) -> int:
        far = len(_FAR.findall(selector))
        if not far:
            return self._number + _STEPS_OF_QUERY
        width = self._number if _WIDE.search(selector) else self._depth if far > 1 else 100
        return self._number + _STEPS_OF_QUERY + number * max(width, comb(width, far))

    def said(self, node: LexborNode, parts: Iterable[str], inline: str = "") -> dict[str, str] | None:
        """What applies to an element of the properties with one of some words in their names; None if it takes long."""
        styles: list[tuple[tuple[int, ...], str]] = [((1, 1), inline)]
        keys = (*names_of(node), node.tag or "", "*")
        known: set[tuple[str, int]] = set()
        for part in parts:
            setters = self.sheet.setters(part)
            for key in keys:
                rules = setters.get(key, ())
                if not self._spend(_STEPS_EACH * len(rules)):
                    return None
                for selector, rule in rules:
                    if (selector, rule.order) in known:
                        continue
                    known.add((selector, rule.order))
                    is_match = self._matches(selector, node)
                    if is_match is None:
                        return None
                    if is_match:
                        styles.append((_precedence(selector, rule), rule.style))
        return resolved(important_last(styles), self.sheet.variables)

    def sets(self, node: LexborNode, part: str) -> bool:
        """Whether a rule may set a property with a word in its name for an element."""
        setters = self.sheet.setters(part)
        return any(key in setters for key in (*names_of(node), node.tag or "", "*"))

    def _matches(self, selector: str, node: LexborNode) -> bool | None:
        """Whether a selector matches an element; None if that is not known."""
        if selector not in self._found:
            nodes, is_sure = self._matched(selector)
            self._found[selector] = frozenset(one.mem_id for one in nodes), is_sure
        found, is_sure = self._found[selector]
        if is_sure:
            return node.mem_id in found
        return False if found and node.mem_id not in found else None


def names_of(node: LexborNode) -> list[str]:
    """The id and the classes of an element, as in selectors."""
    attributes = node.attributes
    names = [f".{name}" for name in (attributes.get("class") or "").split()]
    return [f"#{identity}", *names] if (identity := attributes.get("id")) else names
