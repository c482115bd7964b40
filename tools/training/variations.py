"""Texts as search engines show them, made of a labelled page by variation: what is beside the point varies.

An item stays one if a call to act is added to it, if its name has a word of log-in forms or is a plural, and if its
text is nothing but a date, a time and a price. A listing stays one as the archive or the programme of a month. What a
listing shows of each item is an item. The tests of variations have other phrases.
"""

from collections.abc import Iterator, Sequence
from datetime import date, time, timedelta
from pathlib import Path
from random import Random
from typing import Literal, NamedTuple

import yaml
from babel.dates import format_date, format_time
from babel.numbers import format_currency

from handlers.classify_results import ClassifyResultsRules
from handlers.fetch_page import FetchPageRules
from handlers.html.encoding import parse_bytes
from handlers.html.links import absolute_url
from handlers.listings.listing import follow_listing
from handlers.text.patterns import spelled_out
from handlers.text.sentences import sentences
from handlers.text.words import fold, split_words
from schemas.retrieval import ResultType, RetrievedContent
from tests.rules import shipped_rules

SHORT_CHARACTERS = 200
ITEM, LISTING, NAVIGATION = ResultType.SPECIFIC_CONTENT, ResultType.AGGREGATOR, ResultType.NAVIGATION
_PHRASES = yaml.safe_load(Path(__file__).with_suffix(".yaml").read_text("utf-8"))
_CALLS, _FORMS, _NAMED, _UNITS = (_PHRASES[name] for name in ("calls", "forms", "named", "units"))
_NAMESPACES, _FOLDERS, _CURRENCIES = (_PHRASES[name] for name in ("namespaces", "folders", "currencies"))
ContentKind = Literal["snippet", "full"]
_TEASERS, _ROWS, _NAME_WORDS = 4, range(4, 9), range(1, 5)


class Teaser(NamedTuple):
    """What a listing shows of an item."""

    url: str
    name: str
    text: str


def shorts(
    result: RetrievedContent, html: str, described: str, label: ResultType, draw: Random
) -> Iterator[tuple[ResultType, RetrievedContent]]:
    """Short results, each with its type: what is shown of the page, then the variations."""
    cut = [text for text in (result.content[:SHORT_CHARACTERS], described) if text.strip()]
    for text in cut:
        for url in (result.url, ""):
            yield label, _short(url, result.title, text)
        yield label, _short(result.url, result.title, f"{text} {_calls(draw)}")
    told = [one for one in sentences(result.content) if 40 <= len(one) <= 2 * SHORT_CHARACTERS]
    name, host = _name(result.title or "", draw), result.url.partition("://")[2].partition("/")[0] or "site.example"
    site = f"https://{host}"
    if label is LISTING:
        teasers = _teasers(html, result.url)
        yield from _of_listing(result, site, name, teasers, draw)
        for teaser in draw.sample(teasers, min(_TEASERS, len(teasers))):
            calls = draw.choice(("", _calls(draw)))
            yield ITEM, _short(teaser.url, teaser.name, f"{teaser.text} {calls}".strip())
    elif label is ITEM and name:
        yield from _of_item(result, site, name, told, draw)


def _short(url: str, title: str | None, text: str, kind: ContentKind = "snippet") -> RetrievedContent:
    return RetrievedContent(url=url, title=title, content=text, content_kind=kind)


def _of_item(
    result: RetrievedContent, site: str, name: str, told: Sequence[str], draw: Random
) -> Iterator[tuple[ResultType, RetrievedContent]]:
    said, folder = draw.choice(told) if told else "", draw.choice(_FOLDERS)
    more = " ".join(draw.sample(told, min(3, len(told))))
    plural = _plural(name, more, draw)
    for about in (name, _name(said, draw) or name, plural):
        last = draw.choice((_slug(about), f"{_slug(about)}-{draw.randrange(999)}", f"?id={draw.randrange(9999)}"))
        title = f"{about}{draw.choice(('', ' | Hall', ' - The Guide'))}"
        text = _joined(" ".join(_details(draw)), draw.choice(("", said)), draw.choice(("", _calls(draw))))
        yield ITEM, _short(draw.choice((f"{site}{folder}/{last}", "")), title, text)
        if not said:
            return
        form = draw.choice(_NAMED).format(form=draw.choice(_FORMS), name=about)
        text = _joined(draw.choice((said, more)), draw.choice(("", " ".join(_details(draw)), _calls(draw))))
        yield ITEM, _short(f"{site}/{_slug(draw.choice((form, about)))}", form, text)
        offer = draw.sample((_price(draw, "de"), said), 2)
        address = f"{site}{draw.choice((folder, ''))}/{_slug(about)}"
        yield ITEM, _short(address, about, _joined(*offer, draw.choice(("", _calls(draw)))))
    for measured in (_quantities(more, draw), f"{_counts(more, draw)}. {more}"):
        text = _joined(measured, said, draw.choice(("", _calls(draw))))
        yield ITEM, _short(f"{site}{folder}/{_slug(name)}", name, text)
    placed = _joined(f"{name}.", _place(name, draw), *_details(draw)[1:], draw.choice(("", said)))
    yield ITEM, _short(f"{site}/", name, placed)
    yield ITEM, _short(f"{site}{draw.choice((folder, ''))}/{_slug(name)}", name, draw.choice((said, more)))
    address = f"{site}/{draw.choice(('guides', 'docs', 'help', 'a'))}/{_slug(plural)}"
    yield ITEM, _short(address, plural, more)
    yield ITEM, _short(address, plural, result.content[SHORT_CHARACTERS : 6 * SHORT_CHARACTERS], "full")


def _quantities(text: str, draw: Random) -> str:
    """Words of a text with amounts, as a recipe or a specification has them."""
    words = [word for word in split_words(fold(text)) if len(word) > 4][:9]
    return f"{', '.join(f'{draw.randrange(1, 900)} {draw.choice(_UNITS)} {word}' for word in words)}."


def _counts(text: str, draw: Random) -> str:
    """What a text about one thing counts in it: 24 cars and 180 passengers."""
    words = [word for word in split_words(fold(text)) if len(word) > 3] or ["parts"]
    return " ".join(f"{draw.randrange(2, 400)} {draw.choice(words)}" for _ in range(2))


def _plural(name: str, text: str, draw: Random) -> str:
    """A name with words of the text that end as plurals do, where there are two."""
    plurals = [word for word in split_words(fold(text)) if word.endswith(("s", "en", "er")) and len(word) > 5]
    if len(plurals) < 2:
        return name
    one, other = draw.sample(plurals, 2)
    return draw.choice((f"{one.title()} and {other}", f"{one.title()} & {other}", one.title(), f"{name} {one}"))


def _joined(*parts: str) -> str:
    return " ".join(filter(None, parts))


def _of_listing(
    result: RetrievedContent, site: str, name: str, teasers: Sequence[Teaser], draw: Random
) -> Iterator[tuple[ResultType, RetrievedContent]]:
    names = [teaser.name[:80] for teaser in teasers]
    for _ in range(5):
        yield LISTING, _portal(site, name, names, draw)
    if len(teasers) < min(_ROWS):
        return
    some = draw.sample(teasers, min(draw.choice(_ROWS), len(teasers)))
    locale, month = draw.choice([*_CURRENCIES]), _day(draw)
    headed = format_date(month, "MMMM y", locale)
    folder = draw.choice(("", "/calendar", "/archive", "/programm", "/blog"))
    call = draw.choice(_CALLS)
    for rows in (
        [f"{' '.join(_details(draw, locale))} {one.name}." for one in some],
        [f"{one.text} {format_date(_day(draw), 'long', locale)}. {call}" for one in some],
    ):
        archive = draw.choice((f"{site}{folder}/{month:%Y/%m}/", f"{site}{folder}/{month:%Y-%m}", result.url, ""))
        title = draw.choice((headed, f"{headed} - {name}", f"{name} – {headed}", name))
        yield LISTING, _short(archive, title, " ".join(rows)[:1500], draw.choice(("full", "snippet")))
    priced = [f"{one.name} {_price(draw, locale)} {draw.choice(('', call))}" for one in some]
    numbered = [f"{one.name} {draw.randrange(99)} {draw.randrange(9999)}" for one in some]
    rows = draw.choice((priced, numbered, [f"{one.name}. {call}" for one in some]))
    yield LISTING, _short(draw.choice((result.url, f"{site}/{_slug(name)}", "")), name, " ".join(rows)[:600])
    namespace = draw.choice(_NAMESPACES)
    several = draw.randrange(9, 900), draw.randrange(9, 900)
    counted = draw.choice(("", f"{several[0]} pages in this category. ", f"{several[1]} Seiten. "))
    text = counted + draw.choice((" ".join(names), result.content, " ".join(_many(draw)[1])))[:SHORT_CHARACTERS]
    yield LISTING, _short(f"{site}/wiki/{namespace}:{name.replace(' ', '_')}", f"{namespace}:{name}", text)


def _portal(site: str, name: str, names: Sequence[str], draw: Random) -> RetrievedContent:
    """A listing as a portal describes it: what it has, how much of it, where, and calls to choose."""
    noun, phrases, near = _many(draw)
    counted, place = f"{draw.choice((25, 86, 312, 1204, 45678)):,} {noun}", name.split()[-1] if name else "Rome"
    placed, kind, town = f"{noun.title()} {near} {place}", _slug(noun), _slug(place)
    title = draw.choice((placed, f"{noun.title()}: {name}", f"{counted} {near} {place}", name))
    paged = f"{draw.choice(('Page', 'Seite', 'Pagina'))} 1 / {draw.randrange(2, 90)}"
    least = draw.choice(("from", "ab", "dès", "da", "desde", "od", "från"))
    priced = f"{counted} {least} {_price(draw, draw.choice([*_CURRENCIES]))}"
    text = draw.sample((counted, priced, paged, *phrases, ", ".join(names[:4]), placed), draw.choice((2, 3)))
    last = draw.choice((f"{kind}/{town}", f"{kind}-{town}", f"s?k={kind}", _slug(name)))
    marked = [f"{part[:1].upper()}{part[1:]}{draw.choice('. .!')}" for part in text if part]
    return _short(draw.choice((f"{site}/{last}", "")), title, " ".join(marked)[:SHORT_CHARACTERS])


def _many(draw: Random) -> tuple[str, tuple[str, ...], str]:
    """A plural of things, two phrases and a preposition of a listing in a language."""
    pack = draw.choice([pack for pack in shipped_rules(ClassifyResultsRules).patterns.values() if pack.offer_nouns])
    calls = draw.sample(spelled_out(pack.offer_calls or pack.offer_phrases), 1)
    noun = draw.choice(spelled_out(pack.offer_nouns))
    phrases = f"{calls[0]} {noun}", *draw.sample(spelled_out(pack.offer_phrases), 1)
    return noun, phrases, draw.choice(pack.place_words or ("-",))


def _slug(name: str) -> str:
    return "-".join(split_words(fold(name))) or "x"


def _place(name: str, draw: Random) -> str:
    word, number = name.split()[-1].title(), draw.randrange(1, 99)
    return str(draw.choice(_PHRASES["streets"])).format(word=word, number=number)


def _calls(draw: Random) -> str:
    return " ".join(draw.sample(_CALLS, draw.choice((1, 1, 2))))


def _day(draw: Random) -> date:
    return date(2022, 1, 1) + timedelta(days=draw.randrange(1800))


def _details(draw: Random, locale: str = "") -> list[str]:
    """Some of a date, a time, a price and a place, in the form of a language."""
    locale = locale or draw.choice([*_CURRENCIES])
    starts = time(draw.randrange(8, 23), draw.choice((0, 0, 15, 30)))
    found = [
        format_date(_day(draw), draw.choice(("full", "long", "medium")), locale),
        draw.choice((format_time(starts, "short", locale=locale), f"{starts:%H:%M}")),
        f"{draw.choice(('', '', 'Tickets '))}{_price(draw, locale)}.",
    ]
    return [one for one in found if draw.random() < 0.85] or found[:2]


def _price(draw: Random, locale: str) -> str:
    return str(format_currency(draw.choice((5, 9.5, 12, 18, 49, 250, 1200)), _CURRENCIES[locale], locale=locale))


def _name(title: str, draw: Random) -> str:
    """The first words of a title, as many as the names of things have."""
    words = title.replace("|", " | ").replace(":", " ").split(" | ")[0].split()
    return " ".join(words[: draw.choice(_NAME_WORDS)])[:60]


def _teasers(html: str, url: str) -> list[Teaser]:
    """The items of a listing with the text of the element around the link that holds no other item."""
    rules, reading = shipped_rules(FetchPageRules), shipped_rules(ClassifyResultsRules).page_reading
    items = {link.url: link.text for link in follow_listing(html, url, "", 40, rules.listing, reading).links}
    tree, found = parse_bytes(html.encode("utf-8", "replace")), {}
    for node in tree.css("a[href]"):
        address = absolute_url(url, node.attributes.get("href") or "") or ""
        if address not in items or address in found:
            continue
        block = node
        while block.parent is not None and block.parent.tag not in ("body", "html"):
            around = {absolute_url(url, link.attributes.get("href") or "") for link in block.parent.css("a[href]")}
            if len(around & items.keys()) > 1:
                break
            block = block.parent
        text = " ".join(block.text(separator=" ").split())[: 2 * SHORT_CHARACTERS]
        found[address] = Teaser(address, items[address] or " ".join(node.text().split())[:80], text)
    return [teaser for teaser in found.values() if len(teaser.name) > 2]
