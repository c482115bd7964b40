"""How declarations of a style hide text. Each value is read once, in time linear in its length."""

from __future__ import annotations

import re
from collections.abc import Collection, Iterable, Mapping
from colorsys import hls_to_rgb
from functools import lru_cache
from typing import Literal, NamedTuple

Kind = Literal["style", "tiny_font", "same_colour", "off_screen"]
Colour = tuple[int, int, int]
Said = Mapping[str, str]
WHITE: Colour = (255, 255, 255)
SCREEN = (1280.0, 900.0)
"""Width and height in pixels of the usual screen."""
_OFF = 900.0
"""Pixels to the left of a page or above it: no part of a usual line is left on the screen."""
_PIXELS = {"px": 1.0, "": 1.0, "pt": 1.33, "em": 16.0, "rem": 16.0, "vw": 12.8, "vh": 9.0, "ex": 8.0, "ch": 8.0,
           "in": 96.0, "cm": 37.8, "mm": 3.78, "pc": 16.0, "vmin": 9.0, "vmax": 12.8}  # fmt: skip
_UNREADABLE, _TINY = 1.0, 3.0
"""Pixels of a font that leaves no sign, and of one that can hardly be read."""
_FAINT, _NEAR = 0.05, 30
"""An opacity, and a sum of differences of red, green and blue, that can't be seen."""
_USUAL, _LONGEST = 2_000, 300
"""Characters of a style that is kept for the next page, and of a value that is read."""
_SIDES = ["left", "right", "top", "bottom", "inline", "inline-start", "inline-end", "block", "block-start", "block-end"]
_PLACES = frozenset(("inset", *(f"{part}{side}" for part in ("", "inset-") for side in _SIDES)))
_MOVES = frozenset(("text-indent", "margin", *(f"margin-{side}" for side in _SIDES)))
_BOX = frozenset(f"{most}{side}" for most in ("", "max-") for side in ("height", "width", "block-size", "inline-size"))
_NAMES = {
    "white": WHITE, "canvas": WHITE, "window": WHITE, "snow": (255, 250, 250), "ivory": (255, 255, 240),
    "whitesmoke": (245, 245, 245), "ghostwhite": (248, 248, 255), "floralwhite": (255, 250, 240),
    "azure": (240, 255, 255), "aliceblue": (240, 248, 255), "mintcream": (245, 255, 250), "honeydew": (240, 255, 240),
    "lavenderblush": (255, 240, 245), "seashell": (255, 245, 238), "black": (0, 0, 0), "canvastext": (0, 0, 0),
    "red": (255, 0, 0), "blue": (0, 0, 255), "green": (0, 128, 0), "yellow": (255, 255, 0),
    "gray": (128, 128, 128), "grey": (128, 128, 128), "navy": (0, 0, 128), "silver": (192, 192, 192),
}  # fmt: skip
_COMMENT = re.compile(r"/\*.*?(?:\*/|\Z)", re.DOTALL)
_STRING = re.compile(r"\"[^\"]*(?:\"|\Z)|'[^']*(?:'|\Z)")
_ESCAPE = re.compile(r"\\(?:([0-9a-fA-F]{1,6})\s?|(.))", re.DOTALL)
_LENGTH = re.compile(
    r"(?<![\w.#])([-+]?(?:\d{1,9}(?:\.\d{0,9})?|\.\d{1,9})(?:e[-+]?\d{1,2})?)"
    r"(px|pt|r?em|%|v(?:w|h|min|max)|ex|ch|in|cm|mm|pc)?(?![\w.])"
)
_COLOUR = re.compile(r"#[0-9a-f]{3,8}\b|(?:rgba?|hsla?)\([^()]{1,80}\)|[a-z]{3,20}(?![\w(-])")
_NUMBER = re.compile(r"([-+]?(?:\d{1,6}\.?\d{0,6}|\.\d{1,6})(?:e[-+]?\d{1,2})?)(%?)")
_VARIABLE = re.compile(r"var\(\s{0,9}(--[\w-]{1,100})\s{0,9}(?:,([^()]{0,200}))?\)")
_WIDE = "inherit|initial|unset|revert|var"
_VALID = {
    "display": re.compile(f"none|block|inline|flex|grid|table|contents|list|flow|ruby|-webkit|-ms|-moz|{_WIDE}"),
    "visibility": re.compile(f"visible|hidden|collapse|{_WIDE}"),
    "opacity": re.compile(rf"[-+.\d]|calc|min|max|clamp|{_WIDE}"),
}
"""Beginnings of the values that a browser knows: it ignores a declaration with another one."""
_NO_SIGNS = str.maketrans(";!", "  ")
_NO_CLIP = re.compile(r"clip(?:-path)?:(?:inset\((?:0(?:px|%)?[ ,]*)+\)|auto|none)")
_CLIPS = re.compile(
    r"rect\(\s{0,9}([01])(?:px)?[ ,]+\1(?:px)?[ ,]+\1(?:px)?[ ,]+\1|inset\([^)]{0,40}\b(?:50|100)%|circle\(\s{0,9}0"
    r"|polygon\([0 ,px%]{1,60}\)"
)
_COMPUTED = re.compile(r"calc|min\(|max\(|clamp|var\(|env\(|expression|lab\(|lch\(|hwb\(|color\(|currentcolor")
_ODD = re.compile(
    r"(?:^|;)(?:(?:-webkit-)?mask[\w-]*|offset[\w-]*|zoom|perspective|scale|rotate|translate|-webkit-text-fill-color"
    r"|font-size-adjust|content-visibility):(?!none|auto)|(?:^|;)(?:-webkit-)?clip(?:-path)?:|filter:[^;]{0,99}"
    r"(?:opacity|contrast|brightness|blur)|transform:[^;]{0,99}(?:scale|rotate|skew|matrix|translate|persp)|;line-height:0"
)
"""What seldom hides text, or what a reader of declarations alone can't decide, in declarations without blanks."""


class Hiding(NamedTuple):
    """How a style hides text.

    Attributes:
        kind: What it does.
        by: The property that decides it.
        is_gone: Whether the text has no size or place on the screen, or is ``visibility: hidden``.
    """

    kind: Kind
    by: str
    is_gone: bool = True


def read_style(style: str, variables: Said | None = None) -> dict[str, str]:
    r"""Values by property: the last one, or the last important one.

    >>> read_style("d\\69 splay:none !important; /* ; */ color: RED; display: block")
    {'color': 'red', 'display': 'none'}
    """
    said = _kept(style) if len(style) <= _USUAL else _kept.__wrapped__(style)
    if "var(" not in style:
        return said
    known = {**(variables or {}), **{name: value for name, value in said.items() if name.startswith("--")}}
    return {name: _filled(value, known) if "var(" in value else value for name, value in said.items()}


@lru_cache(maxsize=10_000)
def _kept(style: str) -> dict[str, str]:
    if "/*" in style:
        style = _COMMENT.sub(" ", style)
    if "\\" in style:
        style = unescaped(style)
    if '"' in style or "'" in style:
        style = _STRING.sub(lambda found: found[0].translate(_NO_SIGNS), style)
    usual: dict[str, str] = {}
    important: dict[str, str] = {}
    for declaration in style.lower().split(";"):
        name, _, value = declaration.partition(":")
        name, value = name.strip(), value.strip()
        if value and not (name in _VALID and not _VALID[name].match(value)):
            plain, mark, word = value.rpartition("!")
            if mark and word.strip() == "important":
                important[name] = plain.rstrip()
            else:
                usual[name] = value
    return usual | important


def unescaped(text: str) -> str:
    """A text of a style sheet without escapes."""

    def sign(found: re.Match[str]) -> str:
        number = int(found[1], 16) if found[1] else 0
        return found[2] or (chr(number) if 0 < number < 0x110000 else "\ufffd")

    return _ESCAPE.sub(sign, text)


def _filled(value: str, variables: Said) -> str:
    for _ in range(5):
        value, number = _VARIABLE.subn(lambda found: variables.get(found[1], found[2] or ""), value[:1000])
        if not number:
            break
    return value.strip()


@lru_cache(maxsize=10_000)
def _hiding(style: str) -> Hiding | None:
    return hiding(read_style(style))


def hiding_of(style: str) -> Hiding | None:
    """How a style surely hides the text of its element; kept for the next one."""
    return _hiding(style) if len(style) <= _USUAL else _hiding.__wrapped__(style)


def hiding(said: Said) -> Hiding | None:
    """How declarations surely hide the text of their element, in one of the usual ways.

    >>> hiding({"display": "none"})
    Hiding(kind='style', by='display', is_gone=False)
    >>> hiding({"position": "absolute", "left": "-9999px"}).kind
    'off_screen'
    >>> hiding({"display": "block", "opacity": ".8"}) is None
    True
    """
    if said.get("display") == "none" or said.get("content-visibility") == "hidden":
        return Hiding("style", "display", is_gone=False)
    if said.get("visibility") in ("hidden", "collapse"):
        return Hiding("style", "visibility")
    if _number(said.get("opacity", "")) <= _FAINT:
        return Hiding("style", "opacity", is_gone=False)
    position = said.get("position", "static")
    shape = said.get("clip-path", "") + said.get("clip", "") * (position in ("absolute", "fixed"))
    if shape and _CLIPS.search(shape[:_LONGEST]):
        return Hiding("style", "clip")
    if said.get("overflow", "")[:4] in ("hidd", "clip"):
        sizes = [max(lengths(said[name]), default=99.0) for name in _BOX.intersection(said)]
        has_room = any(any(lengths(said[name])) for name in said if name.startswith(("min-", "padding", "flex")))
        if any(0 <= size <= 1 for size in sizes) and not has_room and said.get("text-overflow") != "ellipsis":
            return Hiding("style", "overflow")
    if "scale(0)" in said.get("transform", ""):
        return Hiding("style", "transform")
    moved = {"transform"} if said.get("transform", "").startswith("translate") else set()
    moved |= {name for name in _MOVES.intersection(said) if not name.endswith(("right", "bottom", "end"))}
    moved |= {name for name in _PLACES.intersection(said) if position not in ("static", "sticky")}
    for name in moved:
        if min(lengths(said[name]), default=0.0) <= -_OFF and not name.startswith(("right", "bottom")):
            return Hiding("off_screen", name)
    if _font(said) <= _UNREADABLE:
        return Hiding("tiny_font", "font")
    text, behind = said.get("color", ""), background_of(said)
    if text and (colour := colour_in(text)) and "text" not in said.get("background-clip", ""):
        is_clear = colour == "transparent" and "text-shadow" not in said
        if is_clear or (isinstance(colour, tuple) and behind and are_near(colour, (behind,))):
            return Hiding("same_colour", "color")
    return None


def doubt(said: Said, grounds: Collection[Colour] = (WHITE,)) -> Kind | None:
    """How declarations may hide the text of their element, before one of some backgrounds or with other rules.

    >>> doubt({"transform": "rotateY(90deg)"}), doubt({"left": "-999px"}), doubt({"color": "red"})
    ('style', 'off_screen', None)
    """
    if found := hiding({"position": "absolute", "overflow": "hidden", **said}):
        return found.kind
    if _font(said) <= _TINY:
        return "tiny_font"
    colour, behind = colour_in(said.get("color", "")), background_of(said)
    if colour == "transparent" or (isinstance(colour, tuple) and are_near(colour, (behind,) if behind else grounds)):
        return "same_colour"
    for name in (_PLACES | _MOVES | {"letter-spacing", "word-spacing"}).intersection(said):
        if _COMPUTED.search(said[name]) or any(abs(length) >= _OFF for length in lengths(said[name])):
            return "off_screen"
    sizes = ("font", "font-size", "opacity", "display", "visibility", "color", *_BOX.intersection(said))
    if any(_COMPUTED.search(said[name][:_LONGEST]) for name in sizes if name in said):
        return "style"
    if any(0 <= max(lengths(said[name]), default=99.0) <= 1 for name in _BOX.intersection(said)):
        return "style"
    plain = ";".join(f"{name}:{value[:_LONGEST]}" for name, value in said.items())
    return "style" if _ODD.search(plain) and not _NO_CLIP.fullmatch(plain) else None


INHERITED = ("visibility", "font", "color", "text-indent")
"""Properties that an element inside may set again."""


def lengths(value: str, percent: float = 12.8) -> list[float]:
    """The lengths of a value in pixels."""
    return [float(n) * (percent if unit == "%" else _PIXELS[unit]) for n, unit in _LENGTH.findall(value[:_LONGEST])]


def _font(said: Said) -> float:
    size = said.get("font-size") or (_LENGTH.search(said.get("font", "")[:_LONGEST]) or [""])[0]
    return 99.0 if _COMPUTED.search(size) else max(lengths(size, 0.16), default=99.0)


def are_near(one: Colour, others: Iterable[Colour]) -> bool:
    """Whether a colour can't be told from one of some others."""
    return any(sum(abs(a - b) for a, b in zip(one, other, strict=True)) <= _NEAR for other in others)


def background_of(said: Said) -> Colour | None:
    """The background colour that declarations set, if it is plain."""
    value = said.get("background-color") or said.get("background", "")
    is_image = "url(" in value or "gradient(" in value or "background-image" in said
    found = None if is_image or not value else colour_in(value)
    return found if isinstance(found, tuple) else None


@lru_cache(maxsize=2_000)
def colour_in(value: str) -> Colour | Literal["transparent"] | None:
    """The first colour that a value names."""
    return next(filter(None, map(_colour, _COLOUR.findall(value[:_LONGEST]))), None)


def _colour(value: str) -> Colour | Literal["transparent"] | None:
    if value.startswith("#"):
        digits = value[1:] if len(value) > 5 else "".join(digit * 2 for digit in value[1:])
        if len(digits) == 8 and int(digits[6:], 16) <= 255 * _FAINT:
            return "transparent"
        red, green, blue = (int(digits[place : place + 2] or "0", 16) for place in (0, 2, 4))
        return red, green, blue
    kind, call, inside = value.partition("(")
    if not call:
        return "transparent" if value == "transparent" else _NAMES.get(value)
    said = [float(number) * (0.01 if sign else 1) for number, sign in _NUMBER.findall(inside)]
    if len(said) < 3 or (len(said) > 3 and said[3] <= _FAINT):
        return "transparent" if len(said) > 3 else None
    one, two, three = said[:3]
    if kind.startswith("hsl"):
        one, two, three = (255 * part for part in hls_to_rgb(one % 360 / 360, three, two))
    elif "%" in inside:
        one, two, three = 255 * one, 255 * two, 255 * three
    return round(min(255.0, one)), round(min(255.0, two)), round(min(255.0, three))


def _number(value: str) -> float:
    match = _NUMBER.match(value)
    return float(match[1]) * (0.01 if match[2] else 1.0) if match else 1.0
