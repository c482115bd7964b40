"""The schema.org data of a page: JSON-LD in all its shapes, types of microdata and RDFa, and the title.

Commas and quotation marks that break JSON are repaired; of other broken JSON a few properties are read. Never
raises (R-199).
"""

from __future__ import annotations

import json
import re
from dataclasses import dataclass
from functools import partial
from html import unescape
from typing import Any

from handlers.html.encoding import whole
from handlers.html.hidden import visible
from handlers.html.nodes import DEEPEST, ancestors, short_text
from handlers.html.outline import Outline
from handlers.html.reading import PageReadingSection

_MAX_NODES = 20_000
_MAX_AUTHORS = 30
_MAX_TEXT = 2000
_PARTS_OF_NAME = ("givenName", "additionalName", "familyName")
_DECODER = json.JSONDecoder(strict=False)
_BEGIN = re.compile(r'(?<!CDATA)[{\[](?=\s*[{\["\]}])')
_TRAILING_COMMA = re.compile(r",(?=\s{0,200}[}\]])")
_QUOTE = re.compile(r'(\\.|[\[{,:]\s{0,20}")|"(?!\s{0,20}[\]},:])', re.DOTALL)
"""A quotation mark inside of a text, after none that is written right."""
_LOOSE = re.compile(
    r'"(@type|datePublished|dateCreated|dateModified|headline)"\s{0,20}:\s{0,20}"([^"\\]{1,300})"\s{0,20}[,}]'
)
_LOOSE_AUTHOR = re.compile(
    r'"author"\s{0,20}:\s{0,20}\[?\s{0,20}\{[^{}]{0,300}?"name"\s{0,20}:\s{0,20}"([^"\\]{1,200})"\s{0,20}[,}]'
)
_ORGANIZATIONS = ("Organization", "Corporation", "Brand")
_UNRELATED = frozenset(
    ("comment", "comments", "review", "reviews", "potentialAction", "hasPart", "mentions", "citation", "isBasedOn",
     "video", "itemListElement")
)  # fmt: skip
_MAIN = frozenset(("@graph", "mainEntity", "mainEntityOfPage"))
_THING, _PART, _CONTAINER = 10_000, 20_000, 50_000
_TITLE_SEPARATOR = re.compile(r"(\s[|–—·•»«-]\s)")
_MAX_TITLE_CHARACTERS = 500
_DIVIDES = re.compile(r"\s[|–—·•»«<-]\s|[|_-](?=[\u3040-\u9fff])")
"""What is behind the page's own part of a title."""
_MAX_HEADINGS = 30
_MAX_SITE_WORDS, _MAX_SECTION, _MAX_GENERIC = 4, 2, 3
_TAG = re.compile(r"</?[a-z][a-z0-9]{0,10}(?:\s[^<>]{0,200})?/?>", re.IGNORECASE)
_WORD = re.compile(r"[぀-ヿ㐀-鿿가-힣]|[^\W_぀-ヿ㐀-鿿가-힣]+")
_MIN_SHARE = 0.3


@dataclass(frozen=True, slots=True)
class StructuredData:
    """The properties of a page's main entity; "" for a missing text.

    Attributes:
        type: The best schema.org type.
        is_article: Whether the type is of the article family.
        is_thing: Whether the type is of a thing with a day of publication of its own, such as a book.
        authors: Names of authors that are not stated to be organisations.
        organizations: Names of organisations that are authors.
        headline: Its headline or name.
        publisher: Name of its publisher, else of the website.
    """

    type: str | None = None
    is_article: bool = False
    is_thing: bool = False
    published: str = ""
    created: str = ""
    modified: str = ""
    authors: tuple[str, ...] = ()
    organizations: tuple[str, ...] = ()
    headline: str = ""
    publisher: str = ""
    description: str = ""
    language: str = ""


class SchemaTypes:
    """The configured types in order of precedence."""

    def __init__(self, reading: PageReadingSection) -> None:
        self._article = {name.lower(): rank for rank, name in enumerate(reading.article_types)}
        self._things = frozenset(name.lower() for name in reading.thing_types)
        self._container = frozenset(name.lower() for name in reading.container_types)

    def is_thing(self, name: str | None) -> bool:
        """Whether a type is of a thing that has a day of publication of its own: a book, a film."""
        return name is not None and name.lower() in self._things

    def is_article(self, name: str) -> bool:
        """Whether a type is of the article family."""
        return name.lower() in self._article

    def rank(self, name: str, *, is_part: bool = False) -> int:
        """The lowest is best: the article family in its order, then other things, their parts, and containers.

        A property of another thing is not the page's type, unless the other thing is only a container.
        """
        lower = name.lower()
        if lower in self._container:
            return _CONTAINER + is_part
        return self._article.get(lower, _THING) + is_part * _PART


def read_structured_data(
    scripts: list[str], item_types: list[str], part_types: list[str], types: SchemaTypes, max_characters: int
) -> StructuredData:
    """The main entity of a page by its JSON-LD scripts, of which ``max_characters`` are read, and its microdata types.

    ``part_types`` are types of items that are properties of other items.
    """
    found: list[tuple[dict[str, Any], bool]] = []
    for script in scripts:
        if len(script) > max_characters:
            break
        max_characters -= len(script)
        found += _objects(_load(script))
    objects = [item for item, _ in found]
    typed = [
        (types.rank(name, is_part=is_part), place, order, name)
        for place, (item, is_part) in enumerate(found)
        for order, name in enumerate(_type_names(item))
    ]
    micro = [
        (types.rank(name, is_part=is_part), len(objects), order, name)
        for is_part, values in ((False, item_types), (True, part_types))
        for order, value in enumerate(values)
        if (name := _local_name(value))
    ]
    best = min(typed + micro, default=None)
    best_name = best[3] if best else None
    objects, main = (objects, objects[min(typed)[1]]) if typed else ([], {})
    by_id = {item["@id"]: item for item in objects if isinstance(item.get("@id"), str) and len(item) > 1}
    websites = (_text(item.get("name")) for item in objects if "WebSite" in _type_names(item))
    credited = _names(main.get("author") or main.get("creator"), by_id)
    return StructuredData(
        type=best_name,
        is_article=best_name is not None and types.is_article(best_name),
        is_thing=types.is_thing(best_name),
        # Of other objects it is often the page's own WebPage that has it.
        published=next(filter(None, (_text(item.get("datePublished")) for item in (main, *objects))), ""),
        created=_text(main.get("dateCreated")) or _text(main.get("uploadDate")),
        modified=_text(main.get("dateModified")),
        authors=tuple(name for name, is_organization in credited.items() if not is_organization),
        organizations=tuple(name for name, is_organization in credited.items() if is_organization),
        headline=_text(main.get("headline")) or _text(main.get("name")),
        publisher=next(iter((*_names(main.get("publisher"), by_id), *websites)), ""),
        description=_text(main.get("description")),
        language=_text(main.get("inLanguage")),
    )


def _load(script: str) -> Any:
    """The JSON in a script, whatever is around it, such as comments."""
    begin = _BEGIN.search(script)
    text = script[begin.start() :] if begin else ""
    for repair in (str, partial(_TRAILING_COMMA.sub, ""), partial(_QUOTE.sub, lambda found: found[1] or r"\"")):
        text = repair(text)
        try:
            return _DECODER.raw_decode(text)[0]
        except (ValueError, RecursionError):
            continue
    loose: dict[str, Any] = dict(reversed(_LOOSE.findall(text)))  # the first of each
    if match := _LOOSE_AUTHOR.search(text):
        loose["author"] = match[1]
    return loose


def _objects(data: Any) -> list[tuple[dict[str, Any], bool]]:
    """Objects of a document in its order, without comments and the like, and whether each is a part of another."""
    found: list[tuple[dict[str, Any], bool]] = []
    stack = [(data, False)]
    for _ in range(_MAX_NODES):
        if not stack:
            break
        item, is_part = stack.pop()
        if isinstance(item, list):
            stack.extend((one, is_part) for one in reversed(item))
        elif isinstance(item, dict):
            found.append((item, is_part))
            stack.extend(
                (value, is_part or key not in _MAIN)
                for key, value in reversed(item.items())
                if isinstance(value, dict | list) and key not in _UNRELATED
            )
    return found


def _type_names(item: dict[str, Any]) -> list[str]:
    value = item.get("@type")
    values = value if isinstance(value, list) else [value]
    return [name for one in values[:20] if isinstance(one, str) and (name := _local_name(one))]


def _local_name(value: str) -> str:
    """The name of a schema.org type; "" for a type of another vocabulary.

    >>> _local_name("https://schema.org/NewsArticle"), _local_name("schema:Book"), _local_name("https://x.org/Book")
    ('NewsArticle', 'Book', '')
    """
    first = (value.split() or [""])[0].rstrip("/")
    vocabulary, _, name = first.rpartition("/")
    if vocabulary and "schema.org" not in vocabulary.lower():
        return ""
    name = name.rpartition(":")[2].rpartition("#")[2]
    return name if name.isalnum() and name[0].isalpha() and len(name) <= 60 else ""


def _names(value: Any, by_id: dict[str, dict[str, Any]]) -> dict[str, bool]:
    """The names that a property has, and whether each is an organisation's."""
    found: dict[str, bool] = {}
    for one in (value if isinstance(value, list) else [value])[:_MAX_AUTHORS]:
        item = one
        if isinstance(item, dict) and not _own_name(item) and isinstance(item.get("@id"), str):
            item = by_id.get(item["@id"], item)
        is_organization = isinstance(item, dict) and _is_organization(item)
        if isinstance(item, str) and item.startswith("{"):
            # Some pages write the object as a text.
            item = _load(item)
        name = _own_name(item) if isinstance(item, dict) else item
        for part in (name if isinstance(name, list) else [name])[:_MAX_AUTHORS]:
            if text := _text(part):
                found[text] = found.get(text, False) or is_organization
    return found


def _own_name(item: dict[str, Any]) -> Any:
    """The name of a person or organisation; of a person also by its parts."""
    return item.get("name") or " ".join(filter(None, (_text(item.get(part)) for part in _PARTS_OF_NAME)))


def _is_organization(item: dict[str, Any]) -> bool:
    names = _type_names(item)
    return "Person" not in names and any(name.endswith(_ORGANIZATIONS) for name in names)


def _text(value: Any) -> str:
    if isinstance(value, list):
        value = value[0] if value else None
    if isinstance(value, dict):
        value = value.get("@value")
    if isinstance(value, int) and not isinstance(value, bool) and 0 < value < 10**13:
        return str(value)
    return " ".join(unescape(whole(value[:_MAX_TEXT])).split()) if isinstance(value, str) else ""


def find_title(page: Outline, data: StructuredData, stated: str, heading: str, site_name: str, host: str) -> str:
    """The title without the site's name, or the part of it that a heading repeats.

    The title is the one that the metadata states, else an article's headline, else the window's title, else the
    story's heading. Two that agree go before a third: the window's title and the heading before the stated title. One
    that is only the site's name does not count, nor a short one ("Home") that shares no word with a heading as long.
    """
    headings = _headings(page)
    named = _SiteNames(
        {letters_of(site_name), letters_of(data.publisher)}, host, {letters_of(text) for text in headings}
    )
    heading = _plain(heading, headings)
    texts = [_plain(text, headings) for text in (stated, data.headline if data.is_article else "", page.title)]
    window = texts[-1].casefold()
    titles = [title for text in texts if (title := named.cut_from(text))]
    if not named.is_site(heading) and (words := _words(heading)):
        most = min(len(words), _MAX_GENERIC)
        titles = [title for title in titles if len(_words(title)) > most or not words.isdisjoint(_words(title))]
        stated = titles[0].casefold() if titles else ""
        if stated not in window and heading.casefold() in window and heading.casefold() not in stated:
            titles = [heading]
    title = next(iter(titles), "")
    least, lower = _MIN_SHARE * len(title), title.casefold()
    repeated = [text for text in headings if least <= len(text) < len(title) and text.casefold() in lower]
    if not repeated and title not in headings:
        # Some pages have their title in no heading, or in a small one, and behind it in the window the site's name.
        shown = (line.text for line in page.lines_with_links() if 2 * len(line.text) > len(title))
        repeated = [text for text in shown if title.startswith(text) and _DIVIDES.match(title, len(text))]
    return (max(repeated, key=len, default="") or title or heading or page.title)[:_MAX_TITLE_CHARACTERS]


def _headings(page: Outline) -> list[str]:
    """The texts of h1 and h2, each as one line."""
    found: dict[int, str] = {}
    for line in page.lines_with_links():
        above = ancestors(page.nodes[line.start], DEEPEST) if line.tag in ("h1", "h2") else ()
        node = next((one for one in above if one.tag == line.tag), None)
        if node is not None and node.mem_id not in found and len(found) < _MAX_HEADINGS:
            found[node.mem_id] = visible(short_text(node))
    return [*found.values()]


def _plain(text: str, headings: list[str]) -> str:
    """A title without entities and tags, unless a heading shows the tags too."""
    text = unescape(" ".join(text[: 2 * _MAX_TITLE_CHARACTERS].split()))
    is_about_tags = "<" not in text or any(tag in heading for tag in _TAG.findall(text) for heading in headings)
    return text if is_about_tags else _TAG.sub("", text)


def _words(text: str) -> set[str]:
    return set(_WORD.findall(text.casefold()))


def site_in_title(title: str, host: str) -> str:
    """The last part of the window's title if the host name contains it, else "".

    >>> site_in_title("Rain again | The Example", "www.theexample.com")
    'The Example'
    >>> site_in_title("Rain again | Weather", "www.theexample.com")
    ''
    """
    parts = _TITLE_SEPARATOR.split(title[: 2 * _MAX_TITLE_CHARACTERS])
    squashed = letters_of(parts[-1]) if len(parts) > 2 else ""
    return parts[-1].strip() if len(squashed) > 2 and squashed in letters_of(host) else ""


class _SiteNames:
    """What names a site in titles: its stated names and its host, but for what a heading repeats."""

    def __init__(self, stated: set[str], host: str, headings: set[str]) -> None:
        self._labels = [label for label in host.split(".")[:-1] if len(label) > 2 and label != "www"]
        self._stated = stated - {""}
        self._host = letters_of(host.removeprefix("www."))
        self._headings = headings

    def is_site(self, title: str) -> bool:
        """Whether a whole title is the site's name."""
        name = letters_of(title).removeprefix("www")
        return name in self._stated or name == self._host or (name in self._labels and name not in self._headings)

    def cut_from(self, title: str) -> str:
        """A title without first and last parts that are the site's name; "" if it is only the site's name."""
        parts = _TITLE_SEPARATOR.split(title)
        if len(parts) == 1:
            return "" if self.is_site(title) else title
        while len(parts) > 2 and self._is_part(parts[-1], _MAX_SECTION):
            parts = parts[:-2]
        while len(parts) > 2 and self._is_part(parts[0], 0):
            parts = parts[2:]
        return "".join(parts)

    def _is_part(self, text: str, most_words: int) -> bool:
        """Whether a part of a title is the site's name, or in so many words a section's, such as "BBC News"."""
        squashed, words = letters_of(text), text.casefold().split()
        if not squashed or squashed in self._stated:
            return True
        if squashed in self._headings or len(words) > _MAX_SITE_WORDS:
            return False
        return squashed == self._host or any(
            (len(squashed) > 2 and squashed in label)
            or (len(words) <= most_words and squashed.startswith(label))
            or _abbreviates(label, words)
            for label in self._labels
        )


def _abbreviates(label: str, words: list[str]) -> bool:
    """Whether a label has the beginnings of all words, or of all but the first, one after the other.

    >>> _abbreviates("ghgprotocol", ["greenhouse", "gas", "protocol"]), _abbreviates("who", ["who", "declares"])
    (True, False)
    """
    ends = {0}
    for number, word in enumerate(words):
        reached = {0} if number == 0 and len(words) > 2 else set[int]()
        for start in ends:
            rest = iter(word)
            for end in range(start, len(label)):
                if label[end] not in (word[0] if end == start else rest):
                    break
                if end == start:
                    next(rest)
                reached.add(end + 1)
        ends = reached
    return len(label) in ends


def letters_of(text: str) -> str:
    """Letters and digits only, without case: names are compared by them."""
    return "".join(filter(str.isalnum, text.casefold()))
