"""Bytes that are parsed in bounded time: a page's own, the same as balanced markup, or none at all.

The HTML parser takes quadratic time, and memory, where it compares the attributes of a tag with each other, walks the
open elements at each tag, repeats unclosed formatting in each new block, looks names up, or moves text out of a table.
What a page of its size can do in this way is bounded by a few counts of its bytes, which nearly every page passes, and
none of which depends on what the parser makes of them. The others are written anew.
"""

from __future__ import annotations

import re

from handlers.html.attributes import ATTRIBUTES, NAMES, has_long_tags
from handlers.html.balanced import balanced
from handlers.html.reading import PageReadingSection

_MANY_TAGS = 20_000
"""From here on a page is written anew whatever is in it: that takes a fraction of the time that reading it takes."""
_LITTLE_MOVED = 3_000_000_000
"""Tags times bytes. The parser copies all text before a table for each piece that it adds: 0.5 GB at the most."""
_FEW_REPEATED = 4_000_000
"""Elements and attributes, were no formatting ever closed and all of it repeated after each tag: half a second."""
_FEW_ROOTS = 10
"""Tags of html and body, whose attributes all go to one element."""
_SMALL = 400_000
"""Bytes that can't hold so many names that the parser would take a second."""
_TAG_BYTES = 4096
# Spelt out in both cases: without IGNORECASE the search jumps from bracket to bracket.
_FORMATTING_OR_ROOT = re.compile(
    rb"<(?=[bhisutecfnBHISUTECFN])(?:[bisuBISU]|[tT][tT]|[eE][mM]|[bB][iI][gG]|[cC][oO][dD][eE]|[fF][oO][nN][tT]"
    rb"|[nN][oO][bB][rR]|[sS](?:[mM][aA][lL][lL]|[tT][rR](?:[iI][kK][eE]|[oO][nN][gG]))"
    rb"|([hH][tT][mM][lL]|[bB][oO][dD][yY]))(?=[\s/])"
)
_LINK = re.compile(rb"<[aA][\s/]")
_TABLE = re.compile(rb"<[tT][aA][bB][lL][eE]")
_PART_OF_TABLE = re.compile(
    rb"<(?:!|[tT](?:[rRdDhH][\s/>]|[bB][oO]|[hH][eE]|[fF][oO]|[eE][mM])|[cC][oOaA]|[sS][cCtT]|[iI][nN]|[fF][oO])"
)
"""What may be put into a table between two pieces of text; a few other elements begin so too."""
_NEVER_DEEP = re.compile(
    rb"<(?:[bB][rR]|[hH][rR]|[iI][mM][gG]|[mM][eE][tT][aA]|[eE][mM][bB][eE][dD]|[pP]|[lL][iI])[\s/>]"
)
"""Void, or closed by the next of its kind unless something else is open in between; in SVG and MathML they end it."""
_SCRIPT = re.compile(rb"<(?=[sS])(?:[sS][cC][rR][iI][pP][tT]|[sS][tT][yY][lL][eE])[\s/>]")
_END_OF_SCRIPT = re.compile(rb"</(?=[sS])(?:[sS][cC][rR][iI][pP][tT]|[sS][tT][yY][lL][eE])[\s/>]")
_REST_OF_TAG = re.compile(ATTRIBUTES)
_SEPARATORS = b" \t\n\r\f/<>="
_AS_BLANKS = bytes.maketrans(b"/<>=", b"    ")


def admitted(body: bytes, limits: PageReadingSection) -> bytes | str:
    """What of a page is parsed: its bytes, or such as say the same in bounded time; else why it is not, in words.

    Args:
        body: The page as bytes in an encoding that keeps ASCII.
        limits: Depth, attributes, names and repeated formatting that are allowed.
    """
    if has_long_tags(body):
        # Nearly always it is data in a script, of which nothing is wanted.
        body = _without_scripts(body)
        if has_long_tags(body):
            return balanced(body, limits)
    # Taking them out counts them faster than counting does, which looks at each byte by itself.
    tags = len(body) - len(body.replace(b"<", b""))
    if (
        tags > _MANY_TAGS
        or (tags > limits.max_depth and _could_be_deep(body, tags, limits.max_depth))
        or (tags > _FEW_ROOTS and _has_much_to_repeat(body, _FEW_REPEATED // tags))
        or (tags * limits.max_attributes > _FEW_REPEATED and _has_long_link(body, _FEW_REPEATED // tags))
        or (tags * len(body) > _LITTLE_MOVED and _could_move_much(body))
        or (len(body) > _SMALL and _has_many_names(body, limits.max_names))
    ):
        return balanced(body, limits)
    return body


def _without_scripts(body: bytes) -> bytes:
    """A page without the contents of its scripts and styles, but for structured data."""
    kept = []
    done = 0
    for match in _SCRIPT.finditer(body):
        if match.start() < done:
            continue
        begin = body.find(b">", match.end() - 1) + 1
        end = _END_OF_SCRIPT.search(body, begin) if begin else None
        if end is None:
            break
        if b"ld+json" not in body[match.start() : begin].lower():
            kept.append(body[done:begin])
            done = end.start()
    kept.append(body[done:])
    return b"".join(kept)


def _could_be_deep(body: bytes, tags: int, most: int) -> bool:
    """Whether there are enough start tags of elements that can hold each other."""
    holders = tags - body.count(b"</")
    return holders > most and holders - sum(1 for _ in _NEVER_DEEP.finditer(body)) > most


def _has_much_to_repeat(body: bytes, most: int) -> bool:
    """Whether formatting could be opened again too often, were none of it closed, or roots have too many attributes.

    Of plain formatting the parser keeps three of a name.
    """
    found = roots = 0
    for match in _FORMATTING_OR_ROOT.finditer(body):
        if match[1] is not None:
            roots += 1
        else:
            rest = _REST_OF_TAG.match(body, match.end(), match.end() + _TAG_BYTES)
            found += 1 + (len(NAMES.findall(rest[0])) if rest else 0)
        if found > most or roots > _FEW_ROOTS:
            return True
    return False


def _has_long_link(body: bytes, most: int) -> bool:
    """Whether a link, of which one may stay open at a time, has more attributes."""
    for match in _LINK.finditer(body):
        rest = _REST_OF_TAG.match(body, match.end(), match.end() + _TAG_BYTES)
        if rest and len(rest[0]) > 2 * most and len(NAMES.findall(rest[0])) > most:
            return True
    return False


def _could_move_much(body: bytes) -> bool:
    """Whether a table could have enough parts with text between them that the parser moves all before the table."""
    return _TABLE.search(body) is not None and sum(1 for _ in _PART_OF_TABLE.finditer(body)) * len(body) > _LITTLE_MOVED


def _has_many_names(body: bytes, most: int) -> bool:
    """Whether there could be more different names of elements and attributes: each stands before a separator."""
    if len(body) - len(body.translate(None, _SEPARATORS)) < most:
        return False
    words = body.translate(_AS_BLANKS).split()
    return len(words) > most and len(set(words)) > most
