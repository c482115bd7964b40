"""Pages that take the HTML parser long: named shapes, and random mixtures of their parts."""

import random
from collections.abc import Callable
from itertools import count, product

from tests.tables import tables

Shape = Callable[[int], bytes]

_LETTERS = b"abcdefghijklmnopqrstuvwxyz0123456789"
_SHORT_NAMES = [bytes(name) for length in (1, 2) for name in product(_LETTERS[:26], *[_LETTERS] * length)]
_PLAIN = b"".join(b"<%s>" % name * 3 for name in b"b big code em font i nobr s small strike strong tt u".split())


def _many(unit: bytes, start: bytes = b"") -> Shape:
    """A unit again and again; ``%d`` in it is another number each time."""
    if b"%d" not in unit:
        return lambda size: start + unit * (size // len(unit))
    return lambda size: start + b"".join(unit % number for number in range(size // (len(unit) + 4)))


def _then(first: bytes, then: bytes, share: float = 0.5) -> Shape:
    return lambda size: first * int(size * share / len(first)) + then * int(size * (1 - share) / len(then))


def _tags(attributes: int) -> Shape:
    tag = b"<p " + b" ".join(_SHORT_NAMES[:attributes]) + b">"
    return lambda size: tag * (size // len(tag))


SHAPES: dict[str, Shape] = {
    **{name: _many(unit.encode()) for name, unit in tables(__file__)["repeated"].items()},
    # attributes of one element
    "one tag": lambda size: b"<p " + _many(b"a%d ")(size) + b">",
    "values": lambda size: b"<p " + _many(b'a%d=">" ')(size) + b">",
    "no blanks": lambda size: b"<p " + _many(b'a%d=""')(size) + b">",
    "names that begin with an equals sign": lambda size: b"<p " + _many(b'="x%d=">" ')(size) + b">",
    "end tag": lambda size: b"<p></p " + _many(b"a%d ")(size) + b">",
    "svg style": lambda size: b"<svg><style><p " + _many(b"a%d ")(size) + b">",
    "select title": lambda size: b"<select><title><p " + _many(b"a%d ")(size) + b">",
    "tags of 120": _tags(120),
    "tags of 500": _tags(500),
    "around a value": lambda size: _tags(962)(size).replace(b" ev ", b' x=">" '),
    "elements": lambda size: b"".join(b"<x%d></x%d>" % (number, number) for number in range(size // 17)),
    # open elements
    "div p": _then(b"<div>", b"</p>"),
    "span, ends of others": _then(b"<span>", b"</x>", 0.1),
    "span li": _then(b"<span>", b"<li>", 0.1),
    "optgroup": _then(b"<optgroup>", b"<p>"),
    "rt": _then(b"<rt>", b"</x>"),
    "svg g": _then(b"<g>", b"</x>"),
    "svg options": lambda size: b"<svg>" + _then(b"<option>", b"</x>")(size),
    "svg links": lambda size: b"<svg>" + _then(b"<link>", b"</x>")(size),
    "math a": lambda size: b"<math>" + _then(b"<a>", b"</x>")(size),
    # formatting
    "formatting again": lambda size: b"<p>" + _many(b"<font a%d>")(size // 4) + b"<p>x" * (size // 6),
    "formatting closed in a comment": lambda size: _many(b"<b a%d><!--</b>-->")(size // 3) + b"<p>x</p>" * (size // 12),
    "plain formatting": _many(b"<p>x", b"<p>" + _PLAIN),
    "compared": _many(b"<b " + b" ".join(_SHORT_NAMES[:300]) + b" x=%d>"),
    "long link": lambda size: _tags(450)(1800).replace(b"<p", b"<p><a") + b"<div>x</div>" * (size // 12),
    "adoption": lambda size: b"<b>" * 8 + _then(b"<div>", b"</b>")(size),
    # text out of tables, and the rest
    "comments in a table": _many(b" <!---->x", b"<table>"),
    "inputs in a table": _many(b"x<input type=hidden>", b"<table>"),
    "rows with text": _many(b"x<tr>", b"<table>"),
    "options": _many(b"<option selected>x", b"<select>"),
    # attributes of a whole page
    "tags of 4": _tags(4),
    "tags of 8": _tags(8),
    "tags of 16": _tags(16),
    "tags of 60": _tags(60),
    "void tags of 8": lambda size: _tags(8)(size).replace(b"<p", b"<br"),
    # what is kept of a page: links, metadata, items, lines, tables
    "metadata in the body": _many(b"<meta itemprop=a%d content=y>", b"<body>"),
    "Chinese bylines": _many("<p>記者王小明／台北報導</p>".encode()),
}
ORDINARY: Shape = _many(
    b'<h2>Head line</h2><p class=x>The harbour festival opens on <a href="/may">3 May</a> with boats, music and '
    b"fireworks, says the mayor of the town.</p>\n<ul><li>One thing<li>Another</ul>",
    b"<title>Festival</title><article>",
)
"""A page without hostile intent, to compare with."""
_NAMES = (
    b"a b i nobr font span q div p li ul dd dt dl h1 form button select option optgroup table tbody tr td th caption "
    b"col colgroup svg math g desc foreignObject title mi mtext annotation-xml template object applet marquee br "
    b"input textarea style script noscript iframe xmp plaintext frameset frame html head body address rt ruby image hr "
    b"x-y"
).split()
_TEXTS = (
    b"x", b" ", b"x y", b"<", b"&lt;", b">", b'"', b"'", b"\0", b"<!---->", b"<!-- > --!>", b"<!x>", b"<?x>", b"</ >",
    b"<![CDATA[x]]>", b"=", b"/", b"<!--", b"-->", b"<!-->", b"<a",
)  # fmt: skip
_ATTRIBUTES = (
    b" a%d", b" a%d=1", b' a%d="x"', b" b%d='>'", b" href=x", b" class=c", b"/", b' ="x%d=">"', b' a%d="', b" c%d='",
    b" type=hidden", b" encoding=text/html",
)  # fmt: skip


def mixture(seed: int, size: int) -> bytes:
    """A page of some random tags, texts and attributes, one after the other and again and again."""
    chance = random.Random(seed)
    numbers = count()
    parts = chance.choice((1, 1, 2, 3))
    page = b""
    for _ in range(parts):
        unit = _unit(chance)
        end = len(page) + int(size * chance.choice((0.05, 0.3, 1, 1)) / parts)
        while unit and len(page) < end:
            page += b"".join(piece % next(numbers) if b"%d" in piece else piece for piece in unit)
    return page[:size]


def _unit(chance: random.Random) -> list[bytes]:
    unit = []
    for _ in range(chance.choice((1, 2, 3, 4, 6, 9))):
        kind = chance.random()
        if kind < 0.45:
            name = chance.choice(_NAMES)
            attributes = [chance.choice(_ATTRIBUTES) for _ in range(chance.choice((0, 0, 0, 1, 2)))]
            unit.append([b"<" + name, *attributes, b"/>" if chance.random() < 0.05 else b">"])
            if chance.random() < 0.3:
                unit.insert(chance.randrange(len(unit) + 1), [b"</" + name + b">"])
        elif kind < 0.75:
            unit.append([b"</" + chance.choice(_NAMES) + b">"])
        else:
            unit.append([chance.choice(_TEXTS)])
    return [piece for tag in unit for piece in tag]
