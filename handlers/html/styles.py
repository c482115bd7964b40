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
Said = dict[str, str]
WHITE: Colour = (255, 255, 255)
SCREEN = (1280.0, 900.0)
"""Width and height in pixels of the usual screen."""
_OFF = 900.0
"""Pixels to the left of a page or above it: no part of a usual line is left on the screen."""
_PIXELS = {"px": 1.0, "": 1.0, "pt": 1.33, "em": 16.0, "rem": 16.0, "vw": 12.8, "vh": 9.0, "ex": 8.0, "ch": 8.0,
           "in": 96.0, "cm": 37.8, "mm": 3.78, "pc": 16.0, "vmin": 9.0, "vmax": 12.8, "%": 12.8}  # fmt: skip
INHERITED = ("visibility", "font", "color", "indent")
_BOX, _SHAPE = ("overflow", "height", "width", "padding", "contain", "-size"), ("clip", "mask", "position")
_MOVE, _SIDES = (
    ("transform", "scale", "rotate", "translate", "zoom", "path"),
    ("left", "right", "top", "bottom", "inset"),
)
_UNREADABLE, _TINY = 0.5, 3.0
"""Pixels of a font that leaves no sign, and of one that can hardly be read."""
_USUAL = 2_000
"""Characters of a style whose declarations are kept for the next page."""
_ASSUMED = {"position": "absolute", "overflow": "hidden"}
_FAINT = 0.05
_NEAR = 24
"""Sum of the differences of red, green and blue below which two colours look the same."""
_NAMES = {
    "white": WHITE, "canvas": WHITE, "window": WHITE, "snow": (255, 250, 250), "ivory": (255, 255, 240),
    "whitesmoke": (245, 245, 245), "ghostwhite": (248, 248, 255), "floralwhite": (255, 250, 240),
    "azure": (240, 255, 255), "aliceblue": (240, 248, 255), "mintcream": (245, 255, 250), "honeydew": (240, 255, 240),
    "seashell": (255, 245, 238), "black": (0, 0, 0), "canvastext": (0, 0, 0), "red": (255, 0, 0), "blue": (0, 0, 255),
    "green": (0, 128, 0), "yellow": (255, 255, 0), "gray": (128, 128, 128), "grey": (128, 128, 128),
    "navy": (0, 0, 128), "silver": (192, 192, 192),
}  # fmt: skip
_BOX_NAMES = (
    "height",
    "width",
    "max-height",
    "max-width",
    "block-size",
    "inline-size",
    "max-block-size",
    "max-inline-size",
    "line-height",
)
_PLACE_NAMES = tuple(
    f"{start}{side}"
    for start, sides in (
        ("", ("left", "right", "top", "bottom", "inset", "margin", "text-indent", "letter-spacing", "word-spacing")),
        ("margin-", ("left", "top", "right", "inline", "inline-start", "block", "block-start")),
        ("inset-", ("inline", "block", "inline-start", "inline-end", "block-start", "block-end")),
    )
    for side in sides
)
_MASKS = ("mask", "mask-image", "-webkit-mask", "-webkit-mask-image")
_OF_BOX, _OF_SHAPE, _OF_MOVE = (
    frozenset(_BOX_NAMES),
    frozenset(("clip", "clip-path", "-webkit-clip-path", *_MASKS)),
    frozenset(("transform", "scale", "rotate", "translate", "zoom", "offset-path")),
)
_OF_PLACE, _OF_FONT, _OF_COLOUR = (
    frozenset(_PLACE_NAMES),
    frozenset(("font", "font-size", "font-size-adjust")),
    frozenset(("color", "-webkit-text-fill-color")),
)
_HIDES = (
    frozenset(("display", "content-visibility", "visibility", "opacity", "filter"))
    | _OF_BOX
    | _OF_SHAPE
    | _OF_MOVE
    | _OF_PLACE
    | _OF_FONT
    | _OF_COLOUR
)
"""Properties that may hide text; many styles have none of them."""
_COMMENT = re.compile(r"/\*.*?(?:\*/|\Z)", re.DOTALL)
_STRING = re.compile(r"\"[^\"]*(?:\"|\Z)|'[^']*(?:'|\Z)")
_ESCAPE = re.compile(r"\\(?:([0-9a-fA-F]{1,6})\s?|(.))")
_LENGTH = re.compile(
    r"(?<![\w.#])([-+]?(?:\d{1,9}(?:\.\d{0,9})?|\.\d{1,9})(?:e[-+]?\d{1,2})?)(px|pt|r?em|%|v(?:w|h|min|max)|ex|ch|in|cm|mm|pc)?(?![\w.])"
)
_ANGLE = re.compile(r"([-+]?[\d.]{1,9})(deg|turn|rad|grad)")
_DEGREES = {"deg": 1.0, "turn": 360.0, "rad": 57.2958, "grad": 0.9}
_CALL = re.compile(r"([a-z0-9]{1,20})\(([^()]{0,500})\)")
_COLOUR = re.compile(
    r"#[0-9a-f]{3,8}\b|(?:rgba?|hsla?|hwb|(?:ok)?l(?:ab|ch)|color)\([^()]{1,80}\)|[a-z]{3,20}(?![\w(-])"
)
_NUMBER = re.compile(r"([-+]?(?:\d{1,6}\.?\d{0,6}|\.\d{1,6})(?:e[-+]?\d{1,2})?)(%?)")
_BOTH_WAYS = {"left": -1, "top": -1, "inset": -1, "right": 1, "bottom": 1}


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


def declared(style: str) -> tuple[tuple[str, str, bool], ...]:
    r"""Names and values of declarations, and whether they are important.

    >>> declared("d\\69 splay:none !important; /* ; */ color: RED")
    (('display', 'none', True), ('color', 'red', False))
    """
    return _kept(style) if len(style) <= _USUAL else _kept.__wrapped__(style)


@lru_cache(maxsize=10_000)
def _kept(style: str) -> tuple[tuple[str, str, bool], ...]:
    if "/*" in style:
        style = _COMMENT.sub(" ", style)
    if "\\" in style:
        style = unescaped(style)
    if '"' in style or "'" in style:
        style = _STRING.sub(lambda found: found[0].translate(_NO_SIGNS), style)
    found = []
    for declaration in style.lower().split(";"):
        name, _, value = declaration.partition(":")
        name, value = name.strip(), value.strip()
        if value and not (name in _VALID and not _VALID[name].match(value)):
            plain, mark, word = value.rpartition("!")
            is_important = bool(mark) and word.strip() == "important"
            found.append((name, plain.rstrip() if is_important else value, is_important))
    return tuple(found)


_WIDE = "inherit|initial|unset|revert|var"
_VALID = {
    "display": re.compile(f"none|block|inline|flex|grid|table|contents|list|flow|ruby|-webkit|-ms|-moz|{_WIDE}"),
    "visibility": re.compile(f"visible|hidden|collapse|{_WIDE}"),
    "opacity": re.compile(rf"[-+.\d]|calc|min|max|clamp|{_WIDE}"),
}
"""Beginnings of the values that a browser knows: it ignores a declaration with another one."""
_NO_SIGNS = str.maketrans(";!", "  ")


def unescaped(text: str) -> str:
    """A text of a style sheet without escapes."""

    def sign(found: re.Match[str]) -> str:
        number = int(found[1], 16) if found[1] else 0
        return found[2] or (chr(number) if 0 < number < 0x110000 else "\ufffd")

    return _ESCAPE.sub(sign, text)


def said_by(style: str) -> dict[str, str]:
    """Values by property: the last one, or the last important one."""
    ordered = declared(style)
    return {n: v for n, v, is_important in ordered if not is_important} | {n: v for n, v, i in ordered if i}


@lru_cache(maxsize=10_000)
def _kept_hiding(style: str) -> tuple[dict[str, str], Hiding | None]:
    said = resolved(said_by(style), {})
    return said, may_be_hiding(said)


def read_style(style: str) -> tuple[dict[str, str], Hiding | None]:
    """Values by property of an element's style, and how they hide its text if others give the place or cut the box."""
    if len(style) <= _USUAL:
        return _kept_hiding(style)
    return _kept_hiding.__wrapped__(style)


def may_be_hiding(said: Said, around: Colour | None = None) -> Hiding | None:
    """How declarations hide text if others give the place or cut the box."""
    return None if _HIDES.isdisjoint(said) else hiding(_ASSUMED | said, around)


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
        return Hiding("style", by=("visibility",))
    if "opacity" in said and _number(said["opacity"]) <= _FAINT:
        return Hiding("style", is_gone=False, by=("opacity",))
    if "filter" in said and any(
        n in ("opacity", "contrast") and _number(v) <= _FAINT for n, v in _calls(said["filter"])
    ):
        return Hiding("style", is_gone=False, by=("opacity",))
    found = None
    for names, judge in _JUDGES:
        if (found is None or not found.is_sure) and not names.isdisjoint(said):
            found = judge(said, around) or found
    return found


def _calls(value: str) -> list[tuple[str, str]]:
    return _CALL.findall(value) if "(" in value else []


def lengths(value: str, percent: float = _PIXELS["%"]) -> list[float]:
    """The lengths of a value in pixels."""
    found = [float(n) * (percent if unit == "%" else _PIXELS[unit]) for n, unit in _LENGTH.findall(value)]
    return [prod(found)] if "*" in value else found


def _by_box(said: Said, _around: Colour | None) -> Hiding | None:
    """A box without size that cuts what is larger than it."""
    cuts = " ".join(said[name] for name in ("overflow", "overflow-x", "overflow-y", "contain") if name in said)
    if not any(word in cuts for word in ("hidden", "clip", "paint", "strict", "content", "scroll", "auto")):
        return None
    names = [name for name in _BOX_NAMES[:-1] if name in said]
    sizes = [(min if said[name].startswith("min(") else max)(lengths(said[name], 99.0), default=99.0) for name in names]
    if not any(0 <= size <= 1 for size in sizes) and said.get("line-height") not in ("0", "0px"):
        return None
    room = [said[name] for name in said if name.startswith(("min-", "padding", "flex"))]
    return Hiding(
        "style", by=_BOX, is_sure=said.get("text-overflow") != "ellipsis" and not any(map(any, map(lengths, room)))
    )


def _by_shape(said: Said, _around: Colour | None) -> Hiding | None:
    """A clip or mask that lets nothing through."""
    for name, value in _calls(said.get("clip-path", "")) + _calls(said.get("-webkit-clip-path", "")):
        numbers = [float(number) for number, _ in _LENGTH.findall(value.partition(" at ")[0].partition("round")[0])]
        if name == "inset" and numbers and "%" in value:
            top, right, bottom, left = (numbers * 4)[:4] if len(numbers) != 3 else (*numbers, numbers[1])
            is_gone = top + bottom >= 100 or left + right >= 100
        elif name == "polygon":
            ends = list(zip(numbers[::2], numbers[1::2], strict=False))
            turned = zip(ends, ends[1:] + ends[:1], strict=True)
            is_gone = abs(sum(one[0] * other[1] - other[0] * one[1] for one, other in turned)) < 1
        else:
            is_gone = (set(numbers) <= {0} and name in ("rect", "xywh", "path")) or (
                name in ("circle", "ellipse") and 0 in numbers
            )
        if is_gone:
            return Hiding("style", by=_SHAPE)
    for _, value in _calls(said.get("clip", "")):
        edges = lengths(value.replace(",", " "))
        if len(edges) == 4 and (edges[2] - edges[0] <= 1 or edges[1] - edges[3] <= 1):
            return Hiding("style", by=_SHAPE, is_sure=said.get("position") in ("absolute", "fixed"))
    mask = " ".join(said[name] for name in _MASKS if name in said)
    colours = {_colour(one) for one in _COLOUR.findall(mask)} - {None} if "gradient" in mask else set()
    if "transparent" in colours:
        return Hiding("style", by=_SHAPE, is_sure=len(colours) == 1)
    return None


def _by_transform(said: Said, _around: Colour | None) -> Hiding | None:
    moved = said.get("transform", "")
    if "scale" in said:
        moved += f" scale({said['scale']})"
    if "rotate" in said and said["rotate"][:1] in "xy":
        moved += f" rotate{said['rotate'][0]}({said['rotate'][1:]})"
    if "translate" in said:
        moved += f" translate({said['translate']})"
    if _number(said.get("zoom", "")) <= _FAINT:
        return Hiding("style", by=_MOVE)
    if "offset-path" in said and any(length <= -_OFF for length in lengths(re.sub("[a-z]", " ", said["offset-path"]))):
        return Hiding("off_screen", by=_MOVE)
    deep = near = 0.0
    for name, value in _calls(moved):
        far = min(lengths(value), default=0.0)
        if name.startswith("scale") and any(abs(_number(one)) <= _FAINT for one in re.split("[ ,]+", value.strip())):
            return Hiding("style", by=_MOVE)
        if name in ("rotatex", "rotatey", "rotate3d", "skewx", "skewy"):
            turns = (float(number) * _DEGREES[unit] % 180 for number, unit in _ANGLE.findall(value))
            if any(abs(turn - 90) < 1 for turn in turns):
                return Hiding("style", by=_MOVE)
        if name == "matrix" and len(parts := lengths(value)) == 6:
            area = parts[0] * parts[3] - parts[1] * parts[2]
            if abs(area) < _FAINT * _FAINT:
                return Hiding("style", by=_MOVE)
        if name.startswith("translate") and far <= -_OFF:
            return Hiding("off_screen", by=_MOVE, is_sure="%" not in value)
        if name == "perspective":
            near = far
        elif name == "translatez":
            deep = far
    return Hiding("off_screen", by=_MOVE) if 0 < near <= deep else None


def _by_place(said: Said, _around: Colour | None) -> Hiding | None:
    position = said.get("position", "static")
    for name, value in said.items():
        if name not in _OF_PLACE:
            continue
        side = name.removeprefix("margin-").removeprefix("inset-").removesuffix("-start").removesuffix("-end")
        far = lengths(value)
        if not far:
            continue
        least, most = min(far), max(far)
        if name.endswith("spacing") and least <= -_OFF:
            return Hiding("off_screen", by=("spacing",))
        if name == "text-indent" or name.startswith("margin"):
            if least <= -_OFF and not name.endswith(("right", "bottom", "end")):
                return Hiding("off_screen", by=("indent",) if name == "text-indent" else ("margin",))
            if name == "text-indent" and most >= SCREEN[0] and "hidden" in said.get("overflow", ""):
                return Hiding("off_screen", by=("indent", "overflow"))
        elif position != "static" and position != "sticky":
            way = 1 if name.endswith("end") or side in ("right", "bottom") else -1
            if (way < 0 and least <= -_OFF) or (way > 0 and most >= _OFF + SCREEN[0] * (position != "relative")):
                return Hiding("off_screen", by=("position", *_SIDES))
            size = SCREEN[side in ("top", "bottom", "inset-block", "block")]
            if position == "fixed" and (most >= size if way < 0 else least <= -size):
                return Hiding("off_screen", by=("position", *_SIDES))
    return None


def _by_font(said: Said, _around: Colour | None) -> Hiding | None:
    size = said.get("font-size") or (_LENGTH.search(said.get("font", "")) or [""])[0]
    pixels = (min if size.startswith("min(") else max)(lengths(size, 0.16), default=99.0)
    if said.get("font-size-adjust") == "0":
        pixels = 0.0
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
    if not isinstance(colour, tuple) or is_drawn:
        return None
    if are_near(colour, behind or around or WHITE):
        is_known = (behind is not None or around is not None) and not is_image
        return Hiding("same_colour", is_gone=behind is not None or is_known, is_sure=is_known, by=by)
    return None


def in_colour_of(said: Said, grounds: Iterable[Colour]) -> Hiding | None:
    """What hides a text if one of the colours is behind it; None if its colour is another."""
    found = _colour(said.get("color", ""))
    is_one = isinstance(found, tuple) and any(are_near(found, ground) for ground in grounds)
    return Hiding("same_colour", is_sure=False, by=("color", "background")) if is_one else None


def are_near(one: Colour, other: Colour) -> bool:
    """Whether two colours look the same."""
    return sum(abs(a - b) for a, b in zip(one, other, strict=True)) <= _NEAR


def background_of(said: Said) -> Colour | None:
    """The background colour that declarations set, if it is plain."""
    value = said.get("background-color") or said.get("background", "")
    found = None if "url(" in value or "gradient(" in value or not value else _colour(value)
    return found if isinstance(found, tuple) else None


@lru_cache(maxsize=2_000)
def _colour(value: str) -> Colour | Literal["transparent"] | None:
    """The first colour that a value names."""
    return next((found for one in _COLOUR.findall(value[:500]) if (found := _named_colour(one)) is not None), None)


def _named_colour(value: str) -> Colour | Literal["transparent"] | None:
    if value.startswith("#"):
        digits = value[1:] if len(value) > 5 else "".join(digit * 2 for digit in value[1:])
        if len(digits) not in (6, 8):
            return None
        is_clear = len(digits) == 8 and int(digits[6:], 16) <= 255 * _FAINT
        return "transparent" if is_clear else (int(digits[:2], 16), int(digits[2:4], 16), int(digits[4:6], 16))
    kind, call, inside = value.partition("(")
    if not call:
        return "transparent" if value == "transparent" else _NAMES.get(value)
    parts = [(float(number), sign) for number, sign in _NUMBER.findall(inside.replace("srgb", ""))]
    if len(parts) < 3:
        return None
    if len(parts) > 3 and _share(*parts[3], 1.0) <= _FAINT:
        return "transparent"
    if kind.startswith("hsl"):
        red, green, blue = hls_to_rgb(parts[0][0] % 360 / 360, parts[2][0] / 100, parts[1][0] / 100)
    elif kind == "hwb":
        red = green = blue = parts[1][0] / max(1.0, parts[1][0] + parts[2][0])
        if parts[1][0] + parts[2][0] < 100:
            return None
    elif kind.endswith(("lab", "lch")):
        if abs(parts[1][0]) > _FAINT or (kind.endswith("lab") and abs(parts[2][0]) > _FAINT):
            return None
        red = green = blue = _share(*parts[0], 1.0 if kind.startswith("ok") else 100.0)
    elif kind == "color":
        red, green, blue = (_share(*part, 1.0) for part in parts[:3])
    else:
        red, green, blue = (_share(*part, 255.0) for part in parts[:3])
    return round(red * 255), round(green * 255), round(blue * 255)


def _share(number: float, sign: str, most: float) -> float:
    return min(1.0, number / (100 if sign else most))


def _number(value: str, default: float = 1.0) -> float:
    match = _NUMBER.search(value)
    return float(match[1]) * (0.01 if match[2] else 1.0) if match else default


def resolved(said: dict[str, str], variables: Mapping[str, str]) -> dict[str, str]:
    """Declarations with the values of custom properties, each taken from a bounded part."""
    if not any("var(" in value for value in said.values()):
        return said
    own = {**variables, **{name: value for name, value in said.items() if name.startswith("--")}}
    return {name: _filled(value, own) if "var(" in value else value for name, value in said.items()}


_VARIABLE = re.compile(r"var\(\s{0,9}(--[\w-]{1,100})\s{0,9}(?:,([^()]{0,200}))?\)")


def _filled(value: str, variables: Mapping[str, str]) -> str:
    for _ in range(5):
        value, number = _VARIABLE.subn(lambda found: variables.get(found[1], found[2] or ""), value[:1000])
        if not number:
            break
    return value.strip()


_JUDGES = (
    (_OF_BOX, _by_box), (_OF_SHAPE, _by_shape), (_OF_MOVE, _by_transform), (_OF_PLACE, _by_place), (_OF_FONT, _by_font),
    (_OF_COLOUR, _by_colour),
)  # fmt: skip


def important_last(parts: Iterable[tuple[tuple[int, ...], str]]) -> dict[str, str]:
    """The declarations that apply, of styles with their precedence: important ones go before all others."""
    ordered = [one for _, style in sorted(parts, key=lambda part: part[0]) for one in declared(style)]
    return {n: v for n, v, is_important in ordered if not is_important} | {n: v for n, v, i in ordered if i}
