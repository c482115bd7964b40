"""Pages that the HTML parser reads in bounded time and memory; any other page is refused with the reason.

The parser takes quadratic time to compare the attributes of a tag, to search the open elements at each tag, to look
names up, to open unclosed formatting again in each block, and to move text out of a table. ``admitted`` counts upper
bounds of these steps on the bytes: scripts, comments and values count like markup.
"""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Callable
from itertools import islice

from handlers.html.reading import PageReadingSection

_VALUE = rb"(?:[ \t\n\r\f]*+=[ \t\n\r\f]*+(?:\"[^\"]*+(?:\"|\Z)|'[^']*+(?:'|\Z)|[^ \t\n\r\f>\"'][^ \t\n\r\f>]*+)?+)?+"
_NAMES = re.compile(rb"([^ \t\n\r\f/>][^ \t\n\r\f/>=]*+)" + _VALUE)
_ATTRIBUTES = rb"(?:[ \t\n\r\f/]++|[^ \t\n\r\f/>][^ \t\n\r\f/>=]*+" + _VALUE + rb")*+"
"""The attributes after the name of a tag, as the parser reads them."""
_REST_OF_TAG = re.compile(_ATTRIBUTES)
_START_OF_TAG = re.compile(rb"</?[a-zA-Z][^ \t\n\r\f/>]*+")
_TOKEN = re.compile(
    rb"<(?:(!--|!\[CDATA\[)|[!?][^>]*+|/[^a-zA-Z>][^>]*+|(/?[a-zA-Z][^ \t\n\r\f/>]*+)" + _ATTRIBUTES + rb")|(-->|\]\]>)"
)
_FORMATTING_NAMES = rb"b|big|code|em|font|i|nobr|s|small|strike|strong|tt|u"
_FORMATTING = re.compile(rb"(</?)(?=[bisutecfn])(?:" + _FORMATTING_NAMES + rb")(?=[\s/>])", re.IGNORECASE)
_REPEATED = re.compile(
    rb"<(?=[abhisutecfn])(?:a|html|body|" + _FORMATTING_NAMES + rb")(?=[\s/>])" + _ATTRIBUTES, re.IGNORECASE
)
_ROOTS = (b"html", b"body")
_ROOT = re.compile(rb"<(?=[bh])(?:html|body)(?=[\s/>])", re.IGNORECASE)
_TABLE = re.compile(rb"(</?)(?=[tc])(?:table|tbody|thead|tfoot|tr|td|th|caption|colgroup)(?=[\s/>])", re.IGNORECASE)
_BETWEEN_TEXTS = re.compile(
    rb"<(?=[!tcsif])(?:!|t[rdh][\s/>]|tbody|thead|tfoot|template|col|s[ct]|in|form)", re.IGNORECASE
)
"""Tags between pieces of text that the parser moves out of a table and joins."""
_SCRIPT = re.compile(rb"<(?=[sS])(?:script|style)[\s/>]", re.IGNORECASE)
_END_OF_SCRIPT = re.compile(rb"</(?=[sS])(?:script|style)[\s/>]", re.IGNORECASE)
_VOID = frozenset(
    b"area base basefont bgsound body br col embed frame head hr html img input link meta param source track "
    b"wbr".split()
)
_END_MAY_BE_LEFT_OUT = frozenset(b"dd dt li option p tbody td tfoot th thead tr".split())
_ENDS_THESE = frozenset(b"article blockquote dd div dl li main ol section select table tbody td th thead tr ul".split())
_NEVER_OPEN = re.compile(rb"</|<!|<(?:br|hr|img|meta|embed)[\s/>]", re.IGNORECASE)
"""Also within SVG and MathML, which these tags end."""
_FOREIGN = frozenset((b"svg", b"math"))
_END_OF = {b"-->": b"!--", b"]]>": b"![CDATA["}
_SEPARATORS = b" \t\n\r\f/="
_AS_WORDS = bytes.maketrans(b"/=\v", b"  v")
_STEPS_TO_REPEAT = 120
_BYTES_IN_STEP = 12
_FEW_ROOTS = 10
_TIMES_READ = 8
_MOST_ATTRIBUTES = 1_000_000
"""Of a page: each takes the parser about 200 bytes of memory."""


def admitted(body: bytes, limits: PageReadingSection) -> bytes | str:
    """The page as it is parsed, or why it is not parsed.

    Formatting, tables and roots are replaced by elements without a meaning if their repair could take too long. The
    bytes are in an encoding that keeps ASCII.
    """
    # Removing the brackets is faster than counting them.
    tags = len(body) - len(body.replace(b"<", b""))
    if tags > limits.max_tags:
        return f"it has more than {limits.max_tags} tags"
    if _may_have_many_attributes(body, limits):
        # Nearly always it is data in a script.
        body = _without_scripts(body)
        if _may_have_many_attributes(body, limits) and (reason := _too_many_attributes(body, limits)):
            return reason
    parsed = _without_repair(body, tags, limits.max_steps)
    if parsed is None:
        return f"a link has too many attributes, which the parser may repeat after each of {tags} tags"
    deepest = min(limits.max_depth, limits.max_steps // max(tags, 1))
    if tags > deepest and tags - len(_NEVER_OPEN.findall(body)) > deepest and _is_deep(parsed, deepest):
        return f"more than {deepest} elements are nested, or not closed, among {tags} tags"
    return parsed


def _may_have_many_attributes(body: bytes, limits: PageReadingSection) -> bool:
    # Separators are counted faster than words, and most pages have few enough of them.
    if all(_comparisons(body, limits.max_steps, count) > limits.max_steps for count in (_separators, _words)):
        return True
    # A name and a separator take two bytes.
    if len(body) <= 2 * limits.max_names or _separators(body) <= limits.max_names:
        return False
    words = body.translate(_AS_WORDS).split()
    return len(words) > limits.max_names and (len(words) > _MOST_ATTRIBUTES or len(set(words)) > limits.max_names)


def _without_scripts(body: bytes) -> bytes:
    """The page without the contents of scripts and styles; structured data is kept."""
    kept = []
    done = 0
    for script in _SCRIPT.finditer(body):
        if script.start() < done:
            continue
        begin = body.find(b">", script.end() - 1) + 1
        end = _END_OF_SCRIPT.search(body, begin) if begin else None
        if end is None:
            break
        if b"ld+json" not in body[script.start() : begin].lower():
            kept.append(body[done:begin])
            done = end.start()
    return b"".join((*kept, body[done:]))


def _comparisons(body: bytes, steps: int, count: Callable[[bytes], int]) -> int:
    """An upper bound on the comparisons of attributes, but for tags of up to two stretches: these take few steps.

    Args:
        body: The page.
        steps: How many comparisons are allowed.
        count: An upper bound on the attributes that begin in a part of the page.
    """
    length = max(16 * steps // max(len(body), 1), 64)
    comparisons = inside = 0
    before = b""
    for start in range(0, len(body), length):
        stretch = body[start : start + length]
        most = _most_inside(stretch, count)
        if most is not None:
            inside += most + (0 if inside else count(before))
        elif inside:
            comparisons += (inside + count(stretch)) ** 2 // 2
            inside = 0
        before = stretch
    return comparisons + inside**2 // 2


def _most_inside(stretch: bytes, count: Callable[[bytes], int]) -> int | None:
    """The attributes that a stretch may hold if it is the inside of a tag; None where any tag ends in it.

    A ``>`` ends a tag unless it is in a value with quotes of one of two kinds.
    """
    end = stretch.find(b">")
    if end < 0:
        return count(stretch)
    found = []
    for quote in (b"'", b'"'):
        begin = stretch.find(quote, end) + 1
        rest = stretch[begin:] if begin else b""
        if _REST_OF_TAG.fullmatch(rest):
            found.append(count(rest))
    return max(found) + count(stretch[:end]) if found else None


def _separators(text: bytes) -> int:
    """An upper bound on what ``_words`` counts."""
    return len(text) - len(text.translate(None, _SEPARATORS)) + 1


def _words(text: bytes) -> int:
    """An upper bound on the attributes in a text: each begins a word, or follows a value that begins one."""
    return len(text.translate(_AS_WORDS).split()) + 1


def _too_many_attributes(body: bytes, limits: PageReadingSection) -> str | None:
    """Why the tags that begin anywhere in the page have too many attributes."""
    names: set[bytes] = set()
    longest: Counter[int] = Counter()  # by the end, for of the tags that seem to end there at most one is a tag
    read = 0
    for start in _START_OF_TAG.finditer(body):
        tag = _REST_OF_TAG.match(body, start.end())
        if tag is None or (read := read + len(tag[0])) > _TIMES_READ * len(body):
            return "its tags are too long to be read"
        found = _NAMES.findall(tag[0])
        names.add(start[0])
        names.update(found)
        longest[tag.end()] = max(longest[tag.end()], len(found))
    if sum(number**2 for number in longest.values()) > 2 * limits.max_steps:
        return f"the attributes of its tags take more than {limits.max_steps} comparisons"
    if sum(longest.values()) > _MOST_ATTRIBUTES:
        return f"it has more than {_MOST_ATTRIBUTES} attributes"
    if len(names) > limits.max_names:
        return f"its elements and attributes have more than {limits.max_names} different names"
    return None


def _without_repair(body: bytes, tags: int, steps: int) -> bytes | None:
    """The page with other names for the tags whose repair could take too long; None if links are the cause.

    The parser repeats unclosed formatting and the last link in each block, adds the attributes of each further root to
    the first one, and moves text that is between the parts of a table.
    """
    repeated = steps // _STEPS_TO_REPEAT // max(tags, 1)
    found = _REPEATED.findall(body)
    # An attribute takes two bytes or more.
    long = [tag for tag in found if len(tag) > 2 * repeated]
    if any(_attributes(tag) > repeated for tag in long if tag[1] in b"aA"):
        return None
    others = [tag for tag in found if tag[1] not in b"aA"]
    if sum(tag[1:5].lower() in _ROOTS for tag in others) > _FEW_ROOTS:
        further = next(islice(_ROOT.finditer(body), _FEW_ROOTS, None)).start()
        body = body[:further] + _ROOT.sub(b"<br", body[further:])
    if (
        sum(map(len, others)) > 2 * repeated
        and sum(max(len(tag.split()), tag.count(b"=") + 1) for tag in others) > repeated
    ):
        body = _FORMATTING.sub(rb"\1span", body)
    moved = steps * _BYTES_IN_STEP
    if tags * len(body) > moved and _TABLE.search(body) and len(_BETWEEN_TEXTS.findall(body)) * len(body) > moved:
        body = _TABLE.sub(rb"\1div", body)
    return body


def _attributes(tag: bytes) -> int:
    return len(_NAMES.findall(tag)) - 1


def _is_deep(body: bytes, most: int) -> bool:
    """Whether more elements may be open at once.

    An end tag closes an element for certain if it has the name of the last one that is open. Whatever else it seems to
    close, and what may be a tag or not, counts as open to the end.
    """
    stack: list[bytes] = []
    count: Counter[bytes] = Counter()
    unsure = foreign = 0
    for token in _TOKEN.finditer(body):
        special, name, end = token.groups()
        if end:
            if stack and stack[-1] == _END_OF[end]:
                stack.pop()
            continue
        unsure += token[0].count(b"<") - 1
        name = special or (name or b"").lower()
        if name.startswith(b"/"):
            if count[name := name[1:]]:
                closed = [stack.pop()]
                while closed[-1] != name:
                    closed.append(stack.pop())
                count.subtract(closed)
                if len(closed) == 1:
                    foreign -= name in _FOREIGN
                elif foreign or name not in _ENDS_THESE or not _END_MAY_BE_LEFT_OUT.issuperset(closed[:-1]):
                    unsure += len(closed)
        elif name and (foreign or not (name in _VOID or (name in _END_MAY_BE_LEFT_OUT and stack[-1:] == [name]))):
            stack.append(name)
            count[name] += 1
            foreign += name in _FOREIGN
        if len(stack) + unsure > most:
            return True
    return False
