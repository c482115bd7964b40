"""A suspicious page, written anew so that its parse takes bounded time: each element is closed by a tag of its own.

A page's bytes go in, the same page as balanced markup comes out, or why it is not parsed. What costs the HTML parser
more than its size is repair: elements that stay open, formatting that is opened again in each block, text that stands
between the parts of a table, attributes that are added to an element that exists. Balanced markup needs none. Comments,
scripts and styles are left away, ``<`` in text and values is written as a reference: so in whatever state the parser
reads on, it sees no tags but those written here. A tag closes the last element that was opened, where no rule of HTML
keeps the parser from doing the same: so it has no more elements open than were counted here.
"""

from __future__ import annotations

import re
from collections.abc import Callable
from collections.abc import Set as AbstractSet

from handlers.html.attributes import ATTRIBUTES, NAMES, most_attributes
from handlers.html.reading import PageReadingSection

_NAME = rb"([a-z][^\0 \t\n\r\f/><\"']*+)"
_MARKUP = re.compile(
    rb"<(?:!--(?:-?>|(?:[^-]++|-(?!-!?>))*+(?:--!?>)?)"  # a comment
    rb"|[!?][^>]*+>?|/[^a-z>][^>]*+>?"  # what is read as one
    rb"|/" + _NAME + ATTRIBUTES + rb">?|" + _NAME + rb"(" + ATTRIBUTES + rb")>?)",
    re.IGNORECASE,
)
_VOID = frozenset(
    b"area base basefont bgsound br col embed frame hr image img input link meta param source track wbr".split()
)
_RAW_TEXT = frozenset(b"script style textarea title xmp iframe noembed noframes".split())
_END_OF_RAW_TEXT = {
    name: re.compile(rb"</" + name + rb"(?=[ \t\n\r\f/>])", re.IGNORECASE) for name in sorted(_RAW_TEXT)
}
_ROOTS = frozenset(b"html head body".split())
# As spans they lose emphasis, of which nothing is read, and the parser never opens them again.
_FORMATTING = frozenset(b"b big code em font i nobr s small strike strong tt u".split())
_HEADINGS = frozenset(b"h1 h2 h3 h4 h5 h6".split())
_CELLS = frozenset(b"td th caption".split())
_TABLE_PARTS = frozenset(b"table tbody thead tfoot tr colgroup".split())
_FENCES = _CELLS | frozenset(b"table applet button marquee math object select svg template".split())
_SPECIAL = (
    _FENCES
    | _HEADINGS
    | _TABLE_PARTS
    | frozenset(
        b"address article aside blockquote center dd details dialog dir div dl dt fieldset figcaption figure footer "
        b"form frameset header hgroup li listing main menu nav noscript ol p plaintext pre search section summary "
        b"ul".split()
    )
)
_NOT_IN_LIST = _SPECIAL - frozenset(b"address div p".split())
_TABLE = frozenset((b"table", b"template"))
_ENDED_BY = {  # what ends where another element begins, and what is not looked beyond for it
    b"p": ({b"p"}, _SPECIAL),
    b"li": ({b"li"}, _NOT_IN_LIST),
    b"dd": ({b"dd", b"dt"}, _NOT_IN_LIST),
    b"dt": ({b"dd", b"dt"}, _NOT_IN_LIST),
    b"td": ({b"td", b"th", b"caption", b"colgroup"}, _TABLE | {b"tr"}),
    b"th": ({b"td", b"th", b"caption", b"colgroup"}, _TABLE | {b"tr"}),
    b"tr": ({b"tr", b"caption", b"colgroup"}, _TABLE | {b"tbody", b"thead", b"tfoot"}),
    b"tbody": ({b"tbody", b"thead", b"tfoot", b"caption", b"colgroup"}, _TABLE),
    b"thead": ({b"tbody", b"thead", b"tfoot", b"caption", b"colgroup"}, _TABLE),
    b"tfoot": ({b"tbody", b"thead", b"tfoot", b"caption", b"colgroup"}, _TABLE),
    b"option": ({b"option"}, _SPECIAL | {b"optgroup"}),
    b"optgroup": ({b"option", b"optgroup"}, _SPECIAL),
}
_STRAY_TEXT = _TABLE_PARTS | {b"form", b"frameset"}
_TAGS_OF_NODE = 2  # what comes after all nodes that are read is left away
_LOOK_BACK = 32
_MAX_SPECIAL_IN_LINK = 7  # of which the parser takes a link apart
_MOVED_BYTES = 50_000_000
_FEW_ATTRIBUTES = 32
_MOST_COMPARISONS = 100_000_000
_MOST_ATTRIBUTES = 1_000_000
"""Of a whole page: each takes the parser about 200 bytes of memory. Those after it are left away."""
_FEW_BYTES = 100_000


def balanced(body: bytes, limits: PageReadingSection) -> bytes | str:
    """A page as balanced markup, or why it is not parsed, in words.

    The loop is long on purpose: a hostile page has a million tags, and a call costs as much as the work.

    Args:
        body: The page as bytes in an encoding that keeps ASCII.
        limits: Depth, attributes and their names, and repeated links that are allowed.
    """
    kept: list[bytes] = []
    write = kept.append
    stack: list[bytes] = []
    count: dict[bytes, int] = {}  # of open elements, by name
    links: list[int] = []  # attributes of open links, at most
    roots = set(_ROOTS)
    names: set[bytes] = set()
    many_bytes = 2 * _FEW_ATTRIBUTES
    most_read = _TAGS_OF_NODE * limits.max_nodes
    read = steps = comparisons = counted = attribute_bytes = reopened = in_links = done = strays = moved = 0
    position: int | None = 0
    while position is not None:
        begin, position = position, None
        for match in _MARKUP.finditer(body, begin):
            start, end = match.span()
            if (read := read + 1) > most_read:
                return b"".join(kept)
            if start > done:
                text = body[done:start]
                if b"<" in text:
                    text = text.replace(b"<", b"&lt;")
                if stack and stack[-1] in _STRAY_TEXT and not text.isspace():
                    # The parser may move it before a table, and copy all that it has moved there before.
                    strays += len(text)
                    moved += strays
                if moved <= _MOVED_BYTES:
                    write(text)
            done = end
            which = match.lastindex
            if which is None:
                continue
            if which == 1:
                name = match[1].lower()
                if not count.get(name):
                    continue
                steps += len(stack)
                if stack[-1] == name:
                    stack.pop()
                    count[name] -= 1
                    write(b"</span>" if name in _FORMATTING else b"</%s>" % name)
                elif name == b"a":
                    if _end_link(stack, count):
                        write(b"</a>")
                else:
                    stops = _FENCES if name in _SPECIAL else _SPECIAL
                    _end(frozenset((name,)), stops - _CELLS if name in _TABLE_PARTS else stops, stack, count, write)
            else:
                name, attributes = match[2].lower(), match[3]
                steps += len(stack)
                reopened += in_links
                if steps > limits.max_steps:
                    return f"its parse would take more than {limits.max_steps} steps, for depth and number of elements"
                if reopened > limits.max_reopened:
                    return f"more than {limits.max_reopened} elements and attributes would come of links left open"
                in_foreign = count.get(b"svg") or count.get(b"math")
                if name in _RAW_TEXT:
                    if in_foreign and attributes[-1:] == b"/":
                        continue
                    end_tag = _END_OF_RAW_TEXT[name].search(body, end)
                    position = done = end_tag.start() if end_tag else len(body)
                    write(_raw_text(body[end:done], name, attributes))
                    break
                if attributes:
                    if b"<" in attributes:
                        attributes = attributes.replace(b"<", b"&lt;")
                    attribute_bytes += len(attributes)
                    if len(attributes) > many_bytes or attribute_bytes > _FEW_BYTES:
                        found = NAMES.findall(attributes)
                        if len(found) > limits.max_attributes:
                            return f"an element has more than {limits.max_attributes} attributes"
                        comparisons += len(found) * len(found) // 2
                        counted += len(found)
                        if comparisons > _MOST_COMPARISONS or counted > _MOST_ATTRIBUTES:
                            attributes = b""
                        elif attribute_bytes > _FEW_BYTES:
                            names.update(found)
                if len(names) + len(count) > limits.max_names:
                    return f"its elements and attributes have more than {limits.max_names} different names"
                written = b"span" if name in _FORMATTING else name
                if name in _ROOTS:
                    if name in roots:  # the attributes of another one would be added to it
                        roots.discard(name)
                        write(b"<%s %s>" % (name, attributes))
                    continue
                if name == b"form" and count.get(name):
                    continue
                if name == b"a":
                    if count.get(name):
                        _end_link(stack, count)
                elif (ended := _ENDED_BY.get(name)) is not None:
                    _end(*ended, stack, count, write)
                write(b"<%s %s>" % (written, attributes) if attributes else b"<%s>" % written)
                if name in _VOID:
                    if in_foreign and name != b"br":
                        write(b"</%s>" % name)
                    continue
                if in_foreign and attributes[-1:] == b"/":
                    write(b"</%s>" % written)
                    continue
                stack.append(name)
                count[name] = count.get(name, 0) + 1
                if len(stack) > limits.max_depth:
                    return f"elements are nested more than {limits.max_depth} deep"
                if name == b"a":
                    links.append(most_attributes(attributes))
                    in_links += links[-1]
            if links and len(links) > count[b"a"]:
                in_links -= sum(links[count[b"a"] :])
                del links[count[b"a"] :]
    if moved <= _MOVED_BYTES:
        write(body[done:].replace(b"<", b"&lt;"))
    return b"".join(kept)


def _end(
    names: AbstractSet[bytes],
    stops: AbstractSet[bytes],
    stack: list[bytes],
    count: dict[bytes, int],
    write: Callable[[bytes], None],
) -> None:
    """Closes the nearest open element of these names, and what is open in it; one far away stays open."""
    tail = stack[-_LOOK_BACK:]
    if names.isdisjoint(tail):
        return
    inside: list[bytes] = []
    for open_name in reversed(tail):
        inside.append(open_name)
        if open_name in names:
            break
        if open_name in stops:
            return
    del stack[-len(inside) :]
    for open_name in inside:
        count[open_name] -= 1
        write(b"</span>" if open_name in _FORMATTING else b"</%s>" % open_name)


def _end_link(stack: list[bytes], count: dict[bytes, int]) -> bool:
    """Ends the nearest open link as the parser does it at the next one: what is open in it stays open."""
    special = 0
    for distance, open_name in enumerate(reversed(stack[-_LOOK_BACK:]), 1):
        if open_name == b"a":
            del stack[-distance]
            count[b"a"] -= 1
            return True
        if open_name in _FENCES or (special := special + (open_name in _SPECIAL)) > _MAX_SPECIAL_IN_LINK:
            break
    return False


def _raw_text(text: bytes, name: bytes, attributes: bytes) -> bytes:
    """A title or structured data, without anything that could be a tag; of others nothing is read."""
    if name == b"title":
        return b"<title>%s</title>" % text.replace(b"<", b"&lt;")
    if name == b"script" and b"ld+json" in attributes.lower():
        return b'<script type="application/ld+json">%s</script>' % text.replace(b"<", rb"\u003c")
    return b""
