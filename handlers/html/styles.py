"""How declarations of a style hide text. Each value is read once, in time linear in its length."""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping
from colorsys import hls_to_rgb
from dataclasses import dataclass
from functools import lru_cache
from math import prod
from typing import Literal

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
_UNREADABLE, _TINY = 0.5, 3.0
"""Pixels of a font that leaves no sign, and of one that can hardly be read."""
_FAINT, _NEAR = 0.05, 24
"""An opacity, and a sum of differences of red, green and blue, that can't be seen."""
_USUAL = 2_000
"""Characters of a style whose declarations are kept for the next page."""
_SHORT_VALUE = 300
INHERITED = ("visib", "font", "color", "indent")
_BOX = ("height", "width", "max-height", "max-width", "block-size", "inline-size", "max-block-size", "max-inline-size")
_SIDES = ("left", "right", "top", "bottom", "inline", "inline-start", "inline-end", "block", "block-start", "block-end")
_PLACES = frozenset(
    (
        *("inset", "margin", "text-indent", "letter-spacing", "word-spacing"),
        *(f"{part}{side}" for part in ("", "margin-", "inset-") for side in _SIDES),
    )
)
_CUTS = re.compile("hidden|clip|paint|strict|content|scroll|auto")
_NAMES = {
    "white": WHITE, "canvas": WHITE, "window": WHITE, "snow": (255, 250, 250), "ivory": (255, 255, 240),
    "whitesmoke": (245, 245, 245), "ghostwhite": (248, 248, 255), "floralwhite": (255, 250, 240),
    "azure": (240, 255, 255), "aliceblue": (240, 248, 255), "mintcream": (245, 255, 250), "honeydew": (240, 255, 240),
    "seashell": (255, 245, 238), "black": (0, 0, 0), "canvastext": (0, 0, 0), "red": (255, 0, 0), "blue": (0, 0, 255),
    "green": (0, 128, 0), "yellow": (255, 255, 0), "gray": (128, 128, 128), "grey": (128, 128, 128),
    "navy": (0, 0, 128), "silver": (192, 192, 192),
}  # fmt: skip
_COMMENT = re.compile(r"/\*.*?(?:\*/|\Z)", re.DOTALL)
_STRING = re.compile(r"\"[^\"]*(?:\"|\Z)|'[^']*(?:'|\Z)")
_ESCAPE = re.compile(r"\\(?:([0-9a-fA-F]{1,6})\s?|(.))", re.DOTALL)
_LENGTH = re.compile(
    r"(?<![\w.#])([-+]?(?:\d{1,9}(?:\.\d{0,9})?|\.\d{1,9})(?:e[-+]?\d{1,2})?)"
    r"(px|pt|r?em|%|v(?:w|h|min|max)|ex|ch|in|cm|mm|pc)?(?![\w.])"
)
_ANGLE = re.compile(r"([-+]?[\d.]{1,9})(deg|turn|rad|grad)")
_DEGREES = {"deg": 1.0, "turn": 360.0, "rad": 57.2958, "grad": 0.9}
_CALL = re.compile(r"([a-z0-9]{1,20})\(([^()]{0,300})\)")
_COLOUR = re.compile(
    r"#[0-9a-f]{3,8}\b|(?:rgba?|hsla?|hwb|(?:ok)?l(?:ab|ch)|color)\([^()]{1,80}\)|[a-z]{3,20}(?![\w(-])"
)
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


@dataclass(frozen=True, slots=True)
class Hiding:
    """How a style hides text.

    Attributes:
        kind: What it does.
        is_gone: Whether the text has no size or place on the screen, or is ``visibility: hidden``.
        is_sure: Whether this hides the text; else something around it, or that is not known here, may show it.
        by: Parts of the names of the properties that decide it; the first is inherited if it is one of ``INHERITED``.
    """

    kind: Kind
    is_gone: bool = True
    is_sure: bool = True
    by: tuple[str, ...] = ()


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


def may_hide(said: Said, grounds: Iterable[Colour] = ()) -> Hiding | None:
    """How declarations hide text if others give the place, cut the box or have one of some backgrounds."""
    if found := hiding({"position": "absolute", "overflow": "hidden", **said}):
        return found
    colour = _colour(said.get("color", ""))
    is_one = isinstance(colour, tuple) and any(_are_near(colour, ground) for ground in grounds)
    return Hiding("same_colour", is_sure=False, by=("color", "background")) if is_one else None


def hiding(said: Said, around: Colour | None = None) -> Hiding | None:
    """How declarations hide the text of their element; None if they do not.

    Args:
        said: Values by property.
        around: The colour behind the element, if known; white is assumed else.

    >>> hiding({"display": "none"})
    Hiding(kind='style', is_gone=False, is_sure=True, by=('display', 'content-v'))
    >>> hiding({"position": "absolute", "left": "-9999px"}).kind
    'off_screen'
    >>> hiding({"display": "block", "opacity": ".8"}) is None
    True
    """
    if said.get("display") == "none" or said.get("content-visibility") == "hidden":
        return Hiding("style", is_gone=False, by=("display", "content-v"))
    if said.get("visibility") in ("hidden", "collapse"):
        return Hiding("style", by=("visib",))
    faded = [value for name, value in _calls(said.get("filter", "")) if name in ("opacity", "contrast")]
    if any(_number(value) <= _FAINT for value in (said.get("opacity", ""), *faded)):
        return Hiding("style", is_gone=False, by=("opacity",))
    found = None
    for names, judge in _JUDGES:
        if (found is None or not found.is_sure) and not names.isdisjoint(said):
            found = judge(said, around) or found
    return found


def _calls(value: str) -> list[tuple[str, str]]:
    return _CALL.findall(value[:_USUAL]) if "(" in value else []


def lengths(value: str, percent: float = 12.8) -> list[float]:
    """The lengths of a value in pixels."""
    found = [float(n) * (percent if unit == "%" else _PIXELS[unit]) for n, unit in _LENGTH.findall(value[:_USUAL])]
    return [prod(found)] if "*" in value and found else found


def _by_box(said: Said, _around: Colour | None) -> Hiding | None:
    """A box without size that cuts what is larger than it."""
    cuts = " ".join(said[name] for name in ("overflow", "overflow-x", "overflow-y", "contain") if name in said)
    if not _CUTS.search(cuts):
        return None
    sizes = [
        (min if said[name].startswith("min(") else max)(lengths(said[name], 99.0), default=99.0)
        for name in _BOX
        if name in said
    ]
    if not any(0 <= size <= 1 for size in sizes) and said.get("line-height") not in ("0", "0px"):
        return None
    has_room = any(any(lengths(said[name])) for name in said if name.startswith(("min-", "padding", "flex")))
    is_sure = not has_room and said.get("text-overflow") != "ellipsis"
    return Hiding("style", by=("overflow", "height", "width", "padding", "contain", "-size"), is_sure=is_sure)


def _by_shape(said: Said, _around: Colour | None) -> Hiding | None:
    """A clip or mask that lets nothing through."""
    by = ("clip", "mask", "position")
    for name, value in _calls(said.get("clip-path", "") + said.get("-webkit-clip-path", "")):
        edges = lengths(value.partition(" at ")[0].partition("round")[0], 1.0)
        top, right, bottom, left = (edges * 4)[:4] if len(edges) in (1, 2, 4) else (*edges, 0.0, 0.0, 0.0, 0.0)[:4]
        is_half = name == "inset" and "%" in value and (top + bottom >= 100 or left + right >= 100)
        is_line = name == "polygon" and (len(set(edges[::2])) == 1 or len(set(edges[1::2])) == 1)
        is_round = name in ("circle", "ellipse") and 0 in edges
        if is_half or is_line or is_round or (name in ("rect", "xywh", "path") and not any(edges)):
            return Hiding("style", by=by)
    for _, value in _calls(said.get("clip", "")):
        edges = lengths(value.replace(",", " "))
        if len(edges) == 4 and (edges[2] - edges[0] <= 1 or edges[1] - edges[3] <= 1):
            return Hiding("style", by=by, is_sure=said.get("position") in ("absolute", "fixed"))
    mask = " ".join(value for name, value in said.items() if "mask" in name and "gradient" in value)[:_USUAL]
    colours = {_colour(one) for one in _COLOUR.findall(mask)} - {None}
    return Hiding("style", by=by, is_sure=len(colours) == 1) if "transparent" in colours else None


def _by_transform(said: Said, _around: Colour | None) -> Hiding | None:
    by = ("transform", "scale", "rotate", "translate", "zoom", "path")
    moved = said.get("transform", "")
    for name in ("scale", "translate"):
        moved += f" {name}({said[name]})" if name in said else ""
    if "rotate" in said and said["rotate"][:1] in "xy":
        moved += f" rotate{said['rotate'][0]}({said['rotate'][1:]})"
    is_far = any(length <= -_OFF for length in lengths(re.sub("[a-z]", " ", said.get("offset-path", ""))))
    deep = near = 0.0
    is_flat = _number(said.get("zoom", "")) <= _FAINT
    for name, value in _calls(moved):
        far = lengths(value)
        if name.startswith("scale"):
            is_flat |= any(abs(_number(one)) <= _FAINT for one in re.split("[ ,]+", value.strip()))
        elif name.startswith(("rotate", "skew")) and name != "rotate":
            turns = (float(number) * _DEGREES[unit] % 180 for number, unit in _ANGLE.findall(value))
            is_flat |= any(abs(turn - 90) < 1 for turn in turns)
        elif name == "matrix" and len(far) == 6:
            is_flat |= abs(far[0] * far[3] - far[1] * far[2]) < _FAINT * _FAINT
        elif name == "perspective":
            near = min(far, default=0.0)
        elif name == "translatez":
            deep = min(far, default=0.0)
        elif name.startswith("translate") and min(far, default=0.0) <= -_OFF:
            return Hiding("off_screen", by=by, is_sure="%" not in value)
    if is_flat:
        return Hiding("style", by=by)
    return Hiding("off_screen", by=by) if is_far or 0 < near <= deep else None


def _by_place(said: Said, _around: Colour | None) -> Hiding | None:
    position = said.get("position", "static")
    cuts = "hidden" in said.get("overflow", "")
    for name in _PLACES.intersection(said):
        value = said[name]
        side = name.removeprefix("margin-").removeprefix("inset-").removesuffix("-start").removesuffix("-end")
        far = lengths(value)
        least, most = min(far, default=0.0), max(far, default=0.0)
        is_moved = side in ("left", "right", "top", "bottom", "inset", "inline", "block")
        if name.endswith("spacing") and least <= -_OFF:
            return Hiding("off_screen", by=("spacing",))
        if name == "text-indent" and (least <= -_OFF or (cuts and most >= SCREEN[0])):
            return Hiding("off_screen", by=("indent", "overflow"))
        if name.startswith("margin"):
            if least <= -_OFF and not name.endswith(("right", "bottom", "end")):
                return Hiding("off_screen", by=("margin",))
        elif is_moved and position not in ("static", "sticky"):
            is_back = not (name.endswith("end") or side in ("right", "bottom"))
            size = SCREEN[side in ("top", "bottom", "block", "inset")]
            ends = most if is_back else -least
            is_past = not is_back and most >= _OFF + SCREEN[0] * (position != "relative")
            if (is_back and least <= -_OFF) or is_past or (position == "fixed" and ends >= size):
                return Hiding("off_screen", by=("position", "left", "right", "top", "bottom", "inset"))
    return None


def _by_font(said: Said, _around: Colour | None) -> Hiding | None:
    size = said.get("font-size") or (_LENGTH.search(said.get("font", "")) or [""])[0]
    pixels = (min if size.startswith("min(") else max)(lengths(size, 0.16), default=99.0)
    pixels = 0.0 if said.get("font-size-adjust") == "0" else pixels
    # Of letters that are only small, some pixels can be seen.
    return Hiding("tiny_font", is_sure=pixels <= _UNREADABLE, by=("font",)) if 0 <= pixels <= _TINY else None


def _by_colour(said: Said, around: Colour | None) -> Hiding | None:
    text = said.get("-webkit-text-fill-color") or said.get("color", "")
    background = said.get("background-color") or said.get("background", "")
    if not text or "text" in said.get("background-clip", "") + said.get("-webkit-background-clip", ""):
        return None
    is_drawn = "text-shadow" in said or "-webkit-text-stroke" in said
    is_image = "url(" in background or "gradient" in background or "background-image" in said
    colour, behind = _colour(text), background_of(said)
    by = ("color", "background")
    if colour == "transparent" or text == background == "currentcolor":
        return Hiding("same_colour", is_sure=not is_drawn and not (is_image and "text" in background), by=by)
    if not isinstance(colour, tuple) or is_drawn or not _are_near(colour, behind or around or WHITE):
        return None
    is_known = (behind is not None or around is not None) and not is_image
    return Hiding("same_colour", is_gone=is_known, is_sure=is_known, by=by)


def _are_near(one: Colour, other: Colour) -> bool:
    return sum(abs(a - b) for a, b in zip(one, other, strict=True)) <= _NEAR


def background_of(said: Said) -> Colour | None:
    """The background colour that declarations set, if it is plain."""
    value = said.get("background-color") or said.get("background", "")
    found = None if "url(" in value or "gradient(" in value or not value else _colour(value)
    return found if isinstance(found, tuple) else None


@lru_cache(maxsize=2_000)
def _colour(value: str) -> Colour | Literal["transparent"] | None:
    """The first colour that a value names."""
    found = _COLOUR.findall(value[:_SHORT_VALUE])
    return next((colour for one in found if (colour := _named_colour(one)) is not None), None)


def _named_colour(value: str) -> Colour | Literal["transparent"] | None:
    if value.startswith("#"):
        digits = value[1:] if len(value) > 5 else "".join(digit * 2 for digit in value[1:])
        is_clear = len(digits) == 8 and int(digits[6:], 16) <= 255 * _FAINT
        rgb = [int(digits[place : place + 2], 16) for place in (0, 2, 4)] if len(digits) in (6, 8) else None
        return "transparent" if is_clear else (rgb[0], rgb[1], rgb[2]) if rgb else None
    kind, call, inside = value.partition("(")
    if not call:
        return "transparent" if value == "transparent" else _NAMES.get(value)
    most = 255.0 if kind.startswith("rgb") else 1.0 if kind.startswith(("ok", "color")) else 100.0
    said = [(float(number), sign) for number, sign in _NUMBER.findall(inside.replace("srgb", ""))]
    if len(said) < 3:
        return None
    if len(said) > 3 and said[3][0] * (0.01 if said[3][1] else 1) <= _FAINT:
        return "transparent"
    parts = [number / (100 if sign else most) for number, sign in said]
    red, green, blue = parts[:3]
    if kind.startswith("hsl"):
        red, green, blue = hls_to_rgb(red * most % 360 / 360, blue, green)
    elif kind == "hwb":
        red = green = blue = green / max(1.0, green + blue) if green + blue >= 1 else 0.5
    elif kind.endswith(("lab", "lch")):
        if abs(green) > _FAINT:
            return None
        green = blue = red
    return round(min(1.0, red) * 255), round(min(1.0, green) * 255), round(min(1.0, blue) * 255)


def _number(value: str) -> float:
    match = _NUMBER.search(value[:_SHORT_VALUE])
    return float(match[1]) * (0.01 if match[2] else 1.0) if match else 1.0


_JUDGES = (
    (frozenset(("overflow", "overflow-x", "overflow-y", "contain")), _by_box),
    (
        frozenset(
            ("clip", "clip-path", "-webkit-clip-path", "mask", "mask-image", "-webkit-mask", "-webkit-mask-image")
        ),
        _by_shape,
    ),
    (frozenset(("transform", "scale", "rotate", "translate", "zoom", "offset-path")), _by_transform),
    (_PLACES, _by_place),
    (frozenset(("font", "font-size", "font-size-adjust")), _by_font),
    (frozenset(("color", "-webkit-text-fill-color")), _by_colour),
)
"""Names of properties, and how one of them may hide text."""
