"""How a style hides text: by the ``style`` attribute of an element, or by rules of the page's own style sheet.

Only declarations with plain values count. Sheets of other addresses, scripts and variables are not known here.
"""

from __future__ import annotations

import re
from dataclasses import dataclass, replace
from functools import lru_cache
from typing import Literal

from ahocorasick_rs import BytesAhoCorasick, MatchKind

Kind = Literal["style", "tiny_font", "same_colour", "off_screen"]
MAX_SHEET = 500_000
"""Characters of a page's style sheets that are read."""
_MAX_RULES = 2_000
_MAX_SELECTORS = 200
_MAX_STYLE = 2_000
_MAX_SELECTOR = 120
_MAX_KNOWN = 10_000
_SHORT_SHEET = 3_000
_MAX_PAGE_RULES = 20
_OTHER_MEDIA = ("print", "speech", "max-", "prefers-")
_NARROW = 500.0
"""Pixels of the narrowest usual screen."""
_LEAST_OFF_SCREEN = 500.0
_PIXELS = {
    "px": 1.0,
    "": 1.0,
    "pt": 1.33,
    "em": 16.0,
    "rem": 16.0,
    "%": 0.16,
    "vw": 5.0,
    "vh": 5.0,
    "ex": 8.0,
    "ch": 8.0,
}
_SIZES = ("min-width", "min-height", "padding", "padding-top", "padding-bottom", "flex", "flex-grow", "flex-basis")
"""Properties that can give a size to an element whose width or height is zero."""
_TINY = 3.0
"""Pixels of a font that cannot be read."""
_NEAR = 24
"""Sum of the differences of red, green and blue below which two colours look the same."""
_NAMES = {
    "white": (255, 255, 255), "black": (0, 0, 0), "snow": (255, 250, 250), "ivory": (255, 255, 240),
    "whitesmoke": (245, 245, 245), "ghostwhite": (248, 248, 255), "floralwhite": (255, 250, 240),
    "azure": (240, 255, 255), "mintcream": (245, 255, 250), "red": (255, 0, 0), "blue": (0, 0, 255),
    "green": (0, 128, 0), "yellow": (255, 255, 0), "gray": (128, 128, 128), "grey": (128, 128, 128),
    "navy": (0, 0, 128), "silver": (192, 192, 192),
}  # fmt: skip
Colour = tuple[int, int, int]
WHITE: Colour = (255, 255, 255)
_HIDES = frozenset((
    "display", "content-visibility", "visibility", "opacity", "filter", "overflow", "overflow-x", "overflow-y", "clip",
    "clip-path", "transform", "translate", "scale", "zoom", "text-indent", "margin-left", "margin-top", "margin-right",
    "left", "right", "top", "bottom", "inset", "font", "font-size", "color", "-webkit-text-fill-color",
))  # fmt: skip
"""Properties that may hide text; many styles set none of them."""
_SHEET_SIGNS = (
    "none", "hidden", "collapse", "opacity:0", "opacity: 0", "opacity:.0", "size:0", "size: 0", "size:1px",
    "size: 1px", "-99", "-100", "-50", "clip", "transparent", "scale(0", "color:#ff", "color: #ff", "color:#fe",
    "color:w", "color: w",
)  # fmt: skip
# Of this kind, a search takes two fifths of the time.
_SIGNS = BytesAhoCorasick([sign.encode() for sign in _SHEET_SIGNS], MatchKind.LeftmostFirst)
_SHOWING = re.compile(r"(?:display|visibility|opacity|font-size)\s*:")
"""Declarations of a rule that may show again what an earlier rule for the same selector hides."""
_SHOWN = {
    "display": re.compile(r"\{\s{0,99}display\s{0,9}:\s{0,9}(?!none)[a-z]"),
    "visibility": re.compile(r"visibility\s{0,9}:\s{0,9}visible"),
    "opacity": re.compile(r"opacity\s{0,9}:\s{0,9}0?\.?[1-9]"),
    "font-size": re.compile(r"font-size\s{0,9}:\s{0,9}(?:\d?\.?[1-9]|[a-z])"),
}
"""Declarations that may show what another rule hides, by property."""
_CLASS_BEFORE = re.compile(r"\.((?:[\w-]|\\[^\s\w]){1,60})\s{0,9}\Z")
_MAX_CLASS = 71
_COMMENT = re.compile(r"/\*[^*]*\*+(?:[^/*][^*]*\*+)*/")
_LENGTH = re.compile(r"(-?(?:\d{1,6}(?:\.\d{1,6})?|\.\d{1,6}))\s*(px|pt|em|rem|%|vw|vh|ex|ch)?(?![\w.])")
_HEX = re.compile(r"#([0-9a-f]{3,8})\b")
_RGB = re.compile(r"rgba?\(\s*(\d{1,3})[\s,]+(\d{1,3})[\s,]+(\d{1,3})(?:[\s,/]+([\d.]{1,6})%?)?")
_WORD = re.compile(r"[a-z]+")
_SELECTOR = re.compile(
    r"(?:[\w*-]*(?:[.#][\w-]+|\[[\w-]+(?:=[\"']?[\w-]+[\"']?)?\])+|[\w-]+)(?:\s*[\s>]\s*(?:[\w*-]*(?:[.#][\w-]+|\[[\w-]+(?:=[\"']?[\w-]+[\"']?)?\])+|[\w-]+)){0,4}"
)
_IMPORTANT = re.compile(r"!\s{0,9}important")
_PAGE = re.compile(r"(?:html|body|:root)[\w.#:-]{0,99}")
_ZERO_CLIP = re.compile(
    r"rect\(\s*(?:[01](?:px)?[\s,]+){3}[01](?:px)?\s*\)|inset\(\s*(?:50|100)%|circle\(\s*0|polygon\(\s*0[\s,]+0[\s,]+0[\s,]+0"
)
_ZERO_SCALE = re.compile(r"scale[xy]?\(\s*0(?:\.0+)?\s*[,)]")
_ZERO_FILTER = re.compile(r"opacity\(\s*0(?:\.0+)?%?\s*\)")


@dataclass(frozen=True, slots=True)
class Hiding:
    """How a style hides text.

    Attributes:
        kind: What it does.
        is_gone: Whether the text has no size or place on the screen, or is ``visibility: hidden``.
        is_sure: Whether this alone hides the text; else its background or a rule of another sheet may show it.
        is_faded: Whether the text is transparent, as before an animation.
    """

    kind: Kind
    is_gone: bool
    is_sure: bool = True
    is_faded: bool = False

    @property
    def shown_by(self) -> str:
        """The property that shows the text again if another rule sets it."""
        if self.kind == "tiny_font":
            return "font-size"
        return "opacity" if self.is_faded else "visibility" if self.is_gone else "display"


@lru_cache(maxsize=_MAX_KNOWN)
def hiding(style: str, around: Colour | None = None) -> Hiding | None:
    """How declarations hide the text of their element; None if they do not.

    Args:
        style: Declarations, as in a ``style`` attribute.
        around: The colour behind the element, if known; white is assumed else.

    >>> hiding("color: red; display:none")
    Hiding(kind='style', is_gone=False, is_sure=True, is_faded=False)
    >>> hiding("position:absolute; left:-9999px").kind
    'off_screen'
    >>> hiding("display:block; opacity:.8") is None
    True
    """
    style = style[:_MAX_STYLE].lower()
    if "/*" in style:
        style = _COMMENT.sub("", style)
    said = _declared(style)
    if _HIDES.isdisjoint(said):
        return None
    return _by_display(said) or _by_place(said) or _by_font(said) or _by_colour(said, around)


def background(style: str) -> Colour | None:
    """The background colour that declarations set."""
    lower = style[:_MAX_STYLE].lower()
    if "background" not in lower:
        return None
    return _background(_declared(lower))


def _declared(style: str) -> dict[str, str]:
    """Values of declarations by property: the last one, or the last important one."""
    found: dict[str, str] = {}
    important: set[str] = set()
    for declaration in style.split(";"):
        name, _, value = declaration.partition(":")
        name = name.strip()
        if "!" in value and (plain := _IMPORTANT.sub("", value)) != value:
            important.add(name)
            found[name] = plain.strip()
        elif name not in important:
            found[name] = value.strip()
    return found


def _by_display(said: dict[str, str]) -> Hiding | None:
    if said.get("display") == "none" or said.get("content-visibility") == "hidden":
        return Hiding("style", is_gone=False)
    if said.get("visibility") in ("hidden", "collapse"):
        return Hiding("style", is_gone=True)
    if ("opacity" in said and _number(said["opacity"], 1.0) <= 0.02) or _ZERO_FILTER.search(said.get("filter", "")):
        return Hiding("style", is_gone=False, is_faded=True)
    cuts = said.get("overflow", said.get("overflow-y", said.get("overflow-x", ""))) in ("hidden", "clip")
    sizes = (said[name] for name in ("width", "height", "max-height", "max-width") if name in said)
    if cuts and any(_is_no_size(size) for size in sizes):
        return Hiding("style", is_gone=True, is_sure=not _has_size(said))
    if _ZERO_CLIP.search(said.get("clip", "")) or _ZERO_CLIP.search(said.get("clip-path", "")):
        return Hiding("style", is_gone=True)
    if _ZERO_SCALE.search(said.get("transform", "")) or said.get("zoom") in ("0", "0%") or said.get("scale") == "0":
        return Hiding("style", is_gone=True)
    return None


def _is_no_size(value: str) -> bool:
    """Whether a size is a pixel or less; a share of the element around it is a size."""
    length = _length(value, 99.0)
    return length == 0 or (length <= 1 and "%" not in value)


def _has_size(said: dict[str, str]) -> bool:
    """Whether other declarations can give a size to an element of no width or height, such as a cell of a table."""
    sizes = (_LENGTH.findall(said[name]) for name in _SIZES if name in said)
    return said.get("text-overflow") == "ellipsis" or any(float(number) > 0 for found in sizes for number, _ in found)


def _by_place(said: dict[str, str]) -> Hiding | None:
    names = ["text-indent", "margin-left", "margin-top", "margin-right"]
    if said.get("position") in ("absolute", "fixed", "relative"):
        names += ["left", "right", "top", "bottom", "inset"]
    far = any(
        abs(_length(said[name], 0.0)) >= _LEAST_OFF_SCREEN and "-" in said[name] for name in names if name in said
    )
    moved = said.get("transform", "") + " " + said.get("translate", "")
    if "translate" in moved or "translate" in said:
        lengths = (float(number) * _PIXELS[unit] for number, unit in _LENGTH.findall(moved))
        far = far or any(length <= -_LEAST_OFF_SCREEN for length in lengths)
    return Hiding("off_screen", is_gone=True) if far else None


def _by_font(said: dict[str, str]) -> Hiding | None:
    size = said.get("font-size", "")
    if not size and (font := said.get("font")):
        found = _LENGTH.search(font)
        size = found[0] if found else ""
    # The longest of a calculation: ``calc(1px + 2vw)`` can be read.
    length = max((float(number) * _PIXELS[unit] for number, unit in _LENGTH.findall(size)), default=99.0)
    return Hiding("tiny_font", is_gone=True) if 0 <= length <= _TINY else None


def _by_colour(said: dict[str, str], around: Colour | None) -> Hiding | None:
    text = said.get("-webkit-text-fill-color") or said.get("color")
    if not text:
        return None
    colour = _colour(text)
    # Without a plain colour a background is an image or a gradient.
    is_plain = not any(name.startswith("background") for name in said)
    if colour == "transparent":
        return Hiding("same_colour", is_gone=False, is_sure=is_plain)
    if not isinstance(colour, tuple):
        return None
    behind = _background(said)
    if behind is not None:
        return Hiding("same_colour", is_gone=True) if _are_near(colour, behind) else None
    if _are_near(colour, around or WHITE):
        return Hiding("same_colour", is_gone=False, is_sure=is_plain and around is not None)
    return None


def _background(said: dict[str, str]) -> Colour | None:
    found = _colour(said.get("background-color") or said.get("background", ""))
    return found if isinstance(found, tuple) else None


def _are_near(one: Colour, other: Colour) -> bool:
    return sum(abs(a - b) for a, b in zip(one, other, strict=True)) <= _NEAR


def _colour(value: str) -> Colour | Literal["transparent"] | None:
    """The colour that a value names; None for images, gradients and variables, which may have one in their name."""
    if "url(" in value or "gradient(" in value or "var(" in value:
        return None
    if match := _HEX.search(value):
        digits = match[1]
        if len(digits) in (3, 4):
            digits = "".join(digit * 2 for digit in digits)
        if len(digits) == 8 and digits.endswith("00"):
            return "transparent"
        return (int(digits[:2], 16), int(digits[2:4], 16), int(digits[4:6], 16)) if len(digits) >= 6 else None
    if match := _RGB.search(value):
        if match[4] and _number(match[4], 1.0) == 0:
            return "transparent"
        return int(match[1]), int(match[2]), int(match[3])
    names = _WORD.findall(value)
    if "transparent" in names:
        return "transparent"
    return next((_NAMES[name] for name in names if name in _NAMES), None)


def _length(value: str, default: float) -> float:
    """The first length of a value in pixels."""
    match = _LENGTH.search(value)
    return float(match[1]) * _PIXELS[match[2] or ""] if match else default


def _number(value: str, default: float) -> float:
    match = _LENGTH.match(value)
    return float(match[1]) * (0.01 if match[2] == "%" else 1.0) if match else default


@lru_cache(maxsize=64)
def hiding_rules(sheet: str) -> dict[str, Hiding]:
    """Simple selectors of a style sheet that hide text, and how.

    The time is linear in the length of the sheet: each rule is looked for in a bounded part of it.

    >>> list(hiding_rules(".a, #b p { display: none } @media print { .c { display: none } }"))
    ['.a', '#b p']
    """
    sheet = sheet[:MAX_SHEET]
    lower = sheet.lower()
    if len(lower) != len(sheet):
        sheet = lower
    behind = page_background(lower)
    found: dict[str, Hiding] = {}
    depth = last = 0
    for begin in _telling_rules(lower):
        depth += lower.count("{", last, begin) - lower.count("}", last, begin)
        last = begin
        end = lower.find("}", begin, begin + _MAX_STYLE)
        if end < 0 or (depth > 0 and not _applies(lower, begin)):
            continue
        own = _own(lower[begin + 1 : end])
        how = hiding(own, behind)
        if how is not None and how.kind == "same_colour" and not how.is_gone:
            # The text may be in a box with a background of its own, or be cut out of one.
            how = replace(how, is_sure=False)
        if how is None and not (found and _SHOWING.search(own)):
            continue
        for plain in _selectors(sheet, begin, _MAX_STYLE):
            if how is None:
                if plain in found:
                    found[plain] = replace(found[plain], is_sure=False)
            elif len(plain) <= _MAX_SELECTOR and len(found) < _MAX_SELECTORS and _SELECTOR.fullmatch(plain):
                found.setdefault(plain, how)
    for selector, how in found.items():
        if how.kind == "tiny_font" and _is_enlarged(lower, selector.lower()):
            found[selector] = replace(how, is_sure=False)
    return found


def _selectors(sheet: str, begin: int, most: int) -> list[str]:
    """The selectors of the rule whose brace is at a place, in at most so many characters before it."""
    near = max(0, begin - most)
    start = max(sheet.rfind("{", near, begin), sheet.rfind("}", near, begin), sheet.rfind(";", near, begin)) + 1
    return [" ".join(one.split()) for one in _COMMENT.sub(" ", sheet[max(start, near) : begin]).split(",")]


def _is_enlarged(sheet: str, selector: str) -> bool:
    """Whether a rule gives a font that can be read to elements inside of those that a selector matches."""
    for following in sheet.split(selector, _MAX_RULES)[1:]:
        inside, _, declarations = following[:_MAX_STYLE].partition("{")
        is_inside = inside[:1].isspace() or inside[:1] == ">"
        if is_inside and inside.strip("> \t\r\n")[:1] not in ("", ","):
            own = _own(declarations.partition("}")[0])
            if "font" in own and ((how := hiding(own)) is None or how.kind != "tiny_font"):
                return True
    return False


@lru_cache(maxsize=64)
def showing_classes(sheet: str, by: str) -> frozenset[str]:
    r"""Classes whose rules set a property, such as ``md:block``, so that they may show what others hide.

    >>> sheet = r".hidden{display:none} @media (min-width:768px){.md\:block{display:block}} .on{visibility:visible}"
    >>> showing_classes(sheet, "display"), showing_classes(sheet, "visibility")
    (frozenset({'md:block'}), frozenset({'on'}))
    """
    sheet = sheet[:MAX_SHEET]
    places = (place.start() + 1 for place in _SHOWN[by].finditer(sheet))
    rules = (sheet.rfind("{", max(0, place - _MAX_STYLE), place) for place in places)
    names = (_CLASS_BEFORE.search(sheet, max(0, begin - _MAX_CLASS), begin) for begin in rules if begin >= 0)
    return frozenset(name[1].replace("\\", "") for name in names if name)


def _own(declarations: str) -> str:
    """The declarations of a rule before the first rule inside of it.

    >>> _own("color: red; &.off { display: none")
    'color: red'
    """
    own, nested, _ = declarations.partition("{")
    return own.rpartition(";")[0] if nested else own


def _telling_rules(sheet: str) -> list[int]:
    """Where the braces of rules are that may hide text; all rules of a short sheet are looked at."""
    if len(sheet) <= _SHORT_SHEET:
        return [place for place, sign in enumerate(sheet) if sign == "{"][:_MAX_RULES]
    # Bytes are searched faster than text; with one for each character, the places are the same.
    signs = _SIGNS.find_matches_as_indexes(sheet.encode("ascii", "replace"))
    found = {sheet.rfind("{", max(0, place - _MAX_STYLE), place) for _, place, _ in signs}
    return sorted(found - {-1})[:_MAX_RULES]


def _applies(sheet: str, begin: int) -> bool:
    """Whether a nested rule applies to the usual screen, by the beginning of the block around it."""
    at = sheet.rfind("@", max(0, begin - 20 * _MAX_STYLE), begin)
    head = sheet[at : sheet.find("{", at, at + 200)] if at >= 0 else ""
    return is_for_screens(head) if head.startswith("@media") else head.startswith(("@supports", "@layer"))


def is_for_screens(media: str) -> bool:
    """Whether one of the media that are named is the usual screen.

    >>> is_for_screens("print"), is_for_screens("print, screen and (min-width: 300px)"), is_for_screens("not print")
    (False, True, True)
    """
    return any(
        not any(other in one for other in _OTHER_MEDIA)
        and all(float(number) * _PIXELS[unit] <= _NARROW for number, unit in _LENGTH.findall(one))
        for one in media[:_MAX_STYLE].replace("not print", "all").split(",")
    )


def page_background(sheet: str) -> Colour | None:
    """The background that a rule for ``body`` sets."""
    sheet = sheet[:MAX_SHEET]
    place = -1
    for _ in range(_MAX_PAGE_RULES):
        place = sheet.find("body", place + 1)
        if place < 0:
            break
        begin = sheet.find("{", place, place + 50)
        end = sheet.find("}", begin, begin + _MAX_STYLE) if begin >= 0 else -1
        if end >= 0 and (found := background(sheet[begin + 1 : end])) is not None:
            return found
    return None


def has_boxes(sheet: str) -> bool:
    """Whether another rule than that of the page sets a background, before which text may be seen.

    >>> has_boxes("body { background: #fff }"), has_boxes("body { background: #fff } .hero { background: #123 }")
    (False, True)
    """
    sheet = sheet[:MAX_SHEET].lower()
    place = -1
    for _ in range(_MAX_PAGE_RULES):
        place = sheet.find("background", place + 1)
        if place < 0:
            return False
        begin = sheet.rfind("{", max(0, place - _MAX_STYLE), place)
        if begin < 0 or not all(map(_PAGE.fullmatch, _selectors(sheet, begin, _MAX_SELECTOR))):
            return True
    return True
