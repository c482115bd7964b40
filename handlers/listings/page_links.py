"""Where a page's links lead and how alike they stand: what tells a listing from an article with links.

In: the links outside of menus, their texts, and the page's own address. Out: a ``LinkShape``. A listing's links lead
below its own address, have long labels and stand in blocks of one make; an article's lead to its siblings or elsewhere.
"""

from __future__ import annotations

import math
import re
from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass
from urllib.parse import unquote, urlsplit

from selectolax.lexbor import LexborNode

from handlers.html.links import host_of, registrable_domain

_DIGITS = re.compile(r"\d+")
_NUMBER_CHARACTERS = 4
_LONG, _FULL = 25, 80
_MAKE_DEPTH = 3
_MAX_HREF = 2048


@dataclass(frozen=True, slots=True)
class LinkShape:
    """Where links lead and how alike they stand.

    Attributes:
        inside: Different addresses on the page's own domain.
        outside: Links to other domains.
        below: Addresses below the page's own.
        siblings: Addresses in the folder that the page itself is in.
        same_folder: Addresses in the folder that most lead into.
        same_folder_is_own: Whether this folder is the page's own.
        long_labels: Addresses with a label as long as a headline.
        long_characters: Text of those labels.
        numbers: Different labels that are a number, as those of a row of pages.
        alike: Addresses in the blocks of one make that hold the most label text.
        alike_long: Those of them with a long label.
        alike_characters: Text of those blocks' labels.
        alike_score: The same, in logarithm and without counting any label beyond a headline's length.
        most_alike_long: Most long labels in blocks of any one make.
    """

    inside: int = 0
    outside: int = 0
    below: int = 0
    siblings: int = 0
    same_folder: int = 0
    same_folder_is_own: bool = False
    long_labels: int = 0
    long_characters: int = 0
    numbers: int = 0
    alike: int = 0
    alike_long: int = 0
    alike_characters: int = 0
    alike_score: float = 0.0
    most_alike_long: int = 0


class Signs:
    """Tag and first class of elements, looked up once each; content systems append state and numbers after it."""

    def __init__(self) -> None:
        self._known: dict[int, str] = {}

    def of(self, node: LexborNode) -> str:
        """The sign of an element; blocks of one make have the same."""
        identity = node.mem_id
        sign = self._known.get(identity)
        if sign is None:
            classes = (node.attributes.get("class") or "")[:200].split(None, 1)
            sign = self._known[identity] = f"{node.tag}.{classes[0]}" if classes else (node.tag or "")
        return sign

    def chain(self, node: LexborNode) -> str:
        """The signs of an element and of those around it: of its make."""
        signs: list[str] = []
        around: LexborNode | None = node
        while around is not None and len(signs) < _MAKE_DEPTH and around.tag != "body":
            signs.append(self.of(around))
            around = around.parent
        return "<".join(signs)


def measure_links(
    links: Sequence[LexborNode], hrefs: Sequence[str], labels: Sequence[str], own: str, signs: Signs
) -> LinkShape:
    """Measures links; any text is an address, and none raises.

    Args:
        links: Links outside of menus.
        hrefs: Where they lead, as they say it.
        labels: Their texts, blanks collapsed; links beyond the last label are left out.
        own: The page's address, "" where it is not known: then the host that most links name counts as its own.
        signs: Signs of elements, shared with whoever asks for them too.
    """
    labels = labels[: len(links)]
    hrefs = [href[:_MAX_HREF].strip() for href in hrefs[: len(labels)]]
    home = _Home(own or _most_linked(hrefs))
    longest: dict[tuple[str, str], int] = {}
    makes: dict[str, dict[str, int]] = {}
    outside = 0
    for link, href, label in zip(links, hrefs, labels, strict=False):
        place = home.place(href)
        if place is None:
            outside += bool(href) and href[0] != "#"
        elif len(label) > longest.get(place, -1):
            longest[place] = len(label)
        if len(href) > 1 and href[0] != "#":
            make = makes.setdefault(signs.chain(link), {})
            make[href] = max(len(label), make.get(href, 0))
    others = {place: length for place, length in longest.items() if place[0] != home.path}
    paths = {path for path, _ in others}
    folders = Counter(_DIGITS.sub("#", path.rpartition("/")[0]) for path, _ in others)
    folder, same_folder = folders.most_common(1)[0] if folders else ("", 0)
    long_labels = [length for length in others.values() if length >= _LONG]
    alike = max(makes.values(), key=_label_text, default={})
    return LinkShape(
        inside=len(longest),
        outside=outside,
        below=sum(path.startswith(home.path + "/") for path in paths) if home.path else 0,
        siblings=sum(path.rpartition("/")[0] == home.folder for path in paths) if home.path else 0,
        same_folder=same_folder,
        same_folder_is_own=bool(folders and home.path) and folder == _DIGITS.sub("#", home.folder),
        long_labels=len(long_labels),
        long_characters=sum(long_labels),
        numbers=len({label for label in labels if len(label) <= _NUMBER_CHARACTERS and label.isdecimal()}),
        alike=len(alike),
        alike_long=sum(length >= _LONG for length in alike.values()),
        alike_characters=sum(alike.values()),
        alike_score=math.log1p(_label_text(alike)),
        most_alike_long=max((sum(length >= _LONG for length in make.values()) for make in makes.values()), default=0),
    )


class _Home:
    """The page's own address, and addresses as seen from it."""

    def __init__(self, own: str) -> None:
        try:
            path = unquote(urlsplit(own).path)
        except ValueError:
            path = ""
        self.host = host_of(own)
        self.domain = registrable_domain(self.host)
        self.path = path.rstrip("/")
        self.folder = self.path.rpartition("/")[0]
        self._base = path.rpartition("/")[0]

    def place(self, href: str) -> tuple[str, str] | None:
        """Path and query of a link inside of the domain; None for any other. Faster than joining addresses."""
        href = href.partition("#")[0]
        if not href:
            return None
        first = href[0]
        if first == "/" and href[1:2] != "/":
            rest = href
        elif first == "?":
            rest = self.path + href
        else:
            scheme, colon, after = href.partition(":")
            if first == "/":
                after, colon = href, ":"
            elif not colon or "/" in scheme or "?" in scheme:
                rest, colon = f"{self._base}/{href.removeprefix('./')}", ""
            elif scheme.lower() not in ("http", "https"):
                return None
            if colon:
                host, slash, path = after.lstrip("/").partition("/")
                host = host.lower().partition(":")[0]
                if host != self.domain and not host.endswith("." + self.domain):
                    return None
                rest = slash + path
        path, _, query = rest.partition("?")
        return (unquote(path) if "%" in path else path).rstrip("/"), query


def _most_linked(hrefs: Sequence[str]) -> str:
    hosts = Counter(host_of(href) for href in hrefs if href.startswith(("http", "//")))
    return next((f"http://{host}/" for host, _ in hosts.most_common(2) if host), "")


def _label_text(make: dict[str, int]) -> int:
    return sum(min(_FULL, length) for length in make.values())
