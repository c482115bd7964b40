"""Title and summary of a source, by which it is judged, and the snippet of a source that is relevant.

They are two calls, since most sources are judged and no snippet of theirs is needed (R-111). A ``SourcePage`` is parsed
once for both.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from itertools import groupby
from typing import Annotated, Literal

from pydantic import Field
from selectolax.lexbor import LexborHTMLParser

from handlers.html.encoding import page_bytes
from handlers.html.hidden_text import KEPT, judge
from handlers.html.hints import Hints
from handlers.html.limits import parse_within
from handlers.html.main_content import find_content
from handlers.html.outline import HEADING_NAMES, Block, Outline
from handlers.html.reading import PageReadingSection
from handlers.html.walk import walk_page
from handlers.text.scripts import has_cjk
from handlers.text.sentences import count_words, leading_sentences
from schemas.pages import MAX_PAGE_BYTES, without_passages
from schemas.relevance import MAX_SNIPPET_CHARACTERS, Paragraph
from schemas.rules import Section

_KINDS: Mapping[str, Literal["text", "item", "row"]] = {"li": "item", "dt": "item", "dd": "item", "tr": "row"}
_CELLS = frozenset(("td", "th"))
_LONGEST_CELL = 100
_MOST_CELLS = 12
_ENDS = ".!?。！？"
_UNFINISHED = ("..", "…")
_NOSCRIPT = re.compile("(</?)noscript", re.IGNORECASE)


class SnippetLimits(Section):
    """Sizes of summaries and snippets. A CJK character counts as a word."""

    summary_words: int = Field(ge=1, description="Words of text in place of a missing description.")
    paragraph_words: int = Field(ge=1, description="Words of a paragraph; a shorter one is no content.")
    sentence_words: int = Field(ge=1, description="Words of a sentence that may be all that a short page says.")
    least_words: int = Field(ge=1, description="Words of all paragraphs; with fewer, sentences and rows alone count.")
    max_characters: int = Field(
        ge=50, le=MAX_SNIPPET_CHARACTERS, description="What a snippet is cut to, at a sentence's end."
    )
    boilerplate: tuple[Annotated[str, Field(min_length=2, pattern=r"^[^A-Z]*$")], ...] = Field(
        default=(), description="Phrases, lower case, of paragraphs about the site and not about its subject."
    )
    boilerplate_characters: int = Field(default=400, ge=0, description="A longer paragraph is content whatever it has.")


@dataclass(frozen=True, slots=True)
class Beginning:
    """The texts that the judge of a source reads; "" for a missing one."""

    title: str
    summary: str


class SourcePage:
    """A source, whose page is parsed once, on first use. Its text and title replace those that the page lacks."""

    def __init__(self, html: str | None, text: str | None, title: str, reading: PageReadingSection) -> None:
        self.html = html
        self.text = text or ""
        self.title = title
        self.reading = reading

    @property
    def unreadable(self) -> str | None:
        """Why its page can't be read, such as its size or depth; None if it can."""
        return self._tree if isinstance(self._tree, str) else None

    @cached_property
    def outline(self) -> Outline | None:
        """The page's outline; None if there is no page, or it can't be read."""
        if self._tree is None or isinstance(self._tree, str):
            return None
        return walk_page(self._tree, Hints(self.reading), self.reading.max_nodes)

    @cached_property
    def _tree(self) -> LexborHTMLParser | str | None:
        if not self.html:
            return None
        utf8 = page_bytes(self.html).utf8
        return "the page is too large" if len(utf8) > MAX_PAGE_BYTES else parse_within(utf8, self.reading)


def begin(source: SourcePage, limits: SnippetLimits) -> Beginning:
    """Title and summary of a source (R-114). Never raises: a page that can't be read has an empty summary (R-115)."""
    reading, page = source.reading, source.outline
    if page is None:
        return Beginning(_line(source.title), _first_words(_for_machines(source.text, reading), limits.summary_words))
    stated = _first(page, reading.title_names) or page.title or next((text for _, text in page.headings), "")
    described = _first(page, reading.description_names)
    words = find_content(page, reading.content_forest, reading.max_content_characters).text if not described else ""
    return Beginning(
        _line(stated or source.title),
        leading_sentences(described, reading.max_content_characters)
        or _first_words(_for_machines(words or source.text, reading), limits.summary_words),
    )


def extract_snippet(source: SourcePage, limits: SnippetLimits) -> str:
    """The paragraphs of a source with content, one a line, each once, cut at a sentence (R-123, R-125).

    "" if there is no content (R-124).
    """
    return snippet_of(paragraphs_of(source, limits), limits)


def paragraphs_of(source: SourcePage, limits: SnippetLimits) -> Sequence[Paragraph]:
    """The paragraphs of a source's main text, also those without content, each on one line.

    If a page has no snippet, its ``noscript`` elements are read, then the source's text.
    """
    html, reading = source.html, source.reading
    found = _paragraphs(source.outline, reading)
    if not snippet_of(found, limits) and html and (opened := _NOSCRIPT.sub(r"\1div", html)) != html:
        # Visitors with scripts do not see this text.
        shown = _paragraphs(SourcePage(opened, None, "", reading).outline, reading)
        judged = judge([(one.text, KEPT) for one in shown], reading.addressed.compiled)
        found = [one for one, said in zip(shown, judged, strict=True) if said is None]
    if not snippet_of(found, limits):
        found = [_paragraph("", line) for line in source.text[: reading.max_content_characters].splitlines()]
    kept = _for_machines("\n".join(one.text for one in found), reading).split("\n")
    return [Paragraph(kind=one.kind, text=_line(line)) for one, line in zip(found, kept, strict=False)]


def snippet_of(
    paragraphs: Sequence[Paragraph], limits: SnippetLimits, worth: Callable[[str], float] | None = None
) -> str:
    """The snippet of a source, from the paragraphs of its main text; as ``extract_snippet``.

    Where not all of them fit, those that are worth most come before the others, and all stay in the page's order.
    """
    kept = tuple(dict.fromkeys(_meaningful(paragraphs, limits)))
    if sum(map(count_words, kept)) < limits.least_words:
        # The content of a short page is its sentences and the rows of its tables. Menus have neither.
        lines = [one.text for one in paragraphs if one.kind == "row" or _is_sentence(one.text, limits)]
        kept = tuple(dict.fromkeys(lines))
    return _cut(_worthiest(kept, limits, worth) if worth else kept, limits)


def _for_machines(text: str, reading: PageReadingSection) -> str:
    """A text as a model may read it: without passages that are written to one."""
    return without_passages(text, reading.addressed.compiled.find(text))


def _worthiest(lines: Sequence[str], limits: SnippetLimits, worth: Callable[[str], float]) -> list[str]:
    room = limits.max_characters
    if sum(len(line) + 1 for line in lines) <= room:
        return list(lines)
    chosen: set[int] = set()
    for place in sorted(range(len(lines)), key=lambda place: (-worth(lines[place]), place)):
        if len(lines[place]) < room or not chosen:
            chosen.add(place)
            room -= len(lines[place]) + 1
    return [line for place, line in enumerate(lines) if place in chosen]


def _paragraph(tag: str, text: str) -> Paragraph:
    return Paragraph(kind=_KINDS.get(tag, "text"), text=" ".join(text.split()))


def _meaningful(paragraphs: Iterable[Paragraph], limits: SnippetLimits) -> Iterator[str]:
    """Paragraphs with content: long ones, rows of tables, and list items that they introduce.

    >>> sizes = {"paragraph_words": 3, "sentence_words": 2, "least_words": 1, "summary_words": 9, "max_characters": 99}
    >>> limits = SnippetLimits(**sizes, boilerplate=("log in",))
    >>> texts = [("p", "You need all of:"), ("li", "a lamp"), ("p", "Share"), ("p", "Please log in")]
    >>> list(_meaningful([_paragraph(tag, text) for tag, text in texts], limits))
    ['You need all of:', 'a lamp']
    """
    introduced = False
    for paragraph in paragraphs:
        line = paragraph.text
        listed = introduced and paragraph.kind == "item" and bool(line)
        if _is_boilerplate(line, limits):
            continue
        if listed or paragraph.kind == "row" or count_words(line) >= limits.paragraph_words:
            yield line
            introduced = listed or line.endswith((":", "："))
        else:
            introduced = False


def _is_sentence(line: str, limits: SnippetLimits) -> bool:
    ends = line.endswith(tuple(_ENDS)) and not line.endswith(_UNFINISHED)
    return ends and count_words(line) >= limits.sentence_words and not _is_boilerplate(line, limits)


def _is_boilerplate(line: str, limits: SnippetLimits) -> bool:
    """Whether a paragraph is about the site and not about its subject; a long one is content."""
    if len(line) > limits.boilerplate_characters:
        return False
    folded = line.casefold()
    return any(phrase in folded for phrase in limits.boilerplate)


def _paragraphs(page: Outline | None, reading: PageReadingSection) -> list[Paragraph]:
    if page is None:
        return []
    blocks = find_content(page, reading.content_forest, reading.max_content_characters).blocks
    found: list[Paragraph] = []
    for row, group in groupby(blocks, key=lambda block: _row_of(block, page)):
        cells = list(group)
        short = row is not None and 1 < len(cells) <= _MOST_CELLS
        if short and all(len(cell.text) <= _LONGEST_CELL for cell in cells):
            if any(sign.isdigit() for cell in cells for sign in cell.text):
                found.append(_paragraph("tr", " | ".join(cell.text for cell in cells)))
            continue
        found += [_paragraph(block.tag, block.text) for block in cells if block.tag not in HEADING_NAMES]
    return found


def _row_of(block: Block, page: Outline) -> int | None:
    """The element of the row that a cell is in; None for another block."""
    if block.tag not in _CELLS:
        return None
    return next((element for element in page.around(block.element) if page.tags[element] == "tr"), None)


def _first(page: Outline, names: tuple[str, ...]) -> str:
    return next((line for name in names if name in page.meta and (line := _line(page.meta[name][0]))), "")


def _first_words(text: str, most: int) -> str:
    """So many words from the beginning of a text.

    >>> _first_words("one two three", 2), _first_words("字數很多", 2)
    ('one two', '字數')
    """
    # The text is cut first, since a text without blanks must not be split as a whole.
    words = text[: 40 * most].split()[:most]
    line = " ".join(words)
    if not has_cjk(line):
        return line
    low, high = 0, len(line)
    while low < high:
        middle = (low + high + 1) // 2
        low, high = (middle, high) if count_words(line[:middle]) <= most else (low, middle - 1)
    return line[:low].rstrip()


def _cut(lines: Iterable[str], limits: SnippetLimits) -> str:
    r"""As many whole lines as fit, then as many sentences of the next line.

    >>> limits = SnippetLimits(summary_words=9, paragraph_words=1, sentence_words=1, least_words=1, max_characters=50)
    >>> _cut(["Rain falls.", "It is wet. It is cold. It goes on like this all day."], limits)
    'Rain falls.\nIt is wet. It is cold.'
    """
    kept: list[str] = []
    room = limits.max_characters
    for line in lines:
        if len(line) > room:
            part = leading_sentences(line, room) if room > 0 else ""
            # A part of a sentence is kept only if there is nothing else.
            if part and (not kept or line[len(part) - 1] in _ENDS):
                kept.append(part)
            break
        kept.append(line)
        room -= len(line) + 1
    return "\n".join(kept)


def _line(text: str) -> str:
    return " ".join(text.split())
