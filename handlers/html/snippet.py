"""Title and summary of a source, by which it is judged, and the snippet of a source that is relevant.

They are two calls, since most sources are judged and no snippet of theirs is needed (R-111). A ``SourcePage`` is read
once for both.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Annotated, Literal

from pydantic import Field

from handlers.html.content import PageFacts
from handlers.html.markdown import every_block
from handlers.html.read_page import StatedReader
from handlers.html.state import PageState, Shown
from handlers.text.scripts import has_cjk
from handlers.text.sentences import count_words, leading_sentences
from schemas.outcome import Dead
from schemas.pages import ContentBlock, without_passages
from schemas.relevance import MAX_SNIPPET_CHARACTERS, Paragraph
from schemas.rules import Section

_KINDS: Mapping[str, Literal["text", "item"]] = dict.fromkeys(("item", "term", "definition"), "item")
_LONGEST_CELL = 100
_MOST_CELLS = 12
_ENDS = ".!?。！？"
_UNFINISHED = ("..", "…")


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
    """A source, whose page is read once, on first use. Its text and title replace those that the page lacks."""

    def __init__(self, html: str | None, text: str | None, title: str, reader: StatedReader, url: str = "") -> None:
        self.html = html
        self.url = url
        self._text = text or ""
        self.title = title
        self._reader = reader

    @property
    def unreadable(self) -> str | None:
        """Why its page can't be read, such as its size or depth; None if it can."""
        return self._page.detail if isinstance(self._page, Dead) else None

    @property
    def facts(self) -> PageFacts | None:
        """What its page says; None without a page that can be read."""
        return self._page if isinstance(self._page, PageFacts) else None

    @cached_property
    def text(self) -> str:
        """Its text as a model may read it."""
        return without_passages(self._text, self._reader.addressed.find(self._text))

    @property
    def state(self) -> PageState:
        """The state of its page; without one, by title and text."""
        shown = Shown((self.title,), self.text, is_whole=False)
        return self.facts.state if self.facts else self._reader.states.page_state(shown, self.url)

    @cached_property
    def _page(self) -> PageFacts | Dead | None:
        return self._reader.read(self.html, "text/html", self.url) if self.html else None


def begin(facts: PageFacts | None, title: str, text: str, limits: SnippetLimits) -> Beginning:
    """Title and summary of a source (R-114) by its page; by the given title and text where the page says nothing."""
    said, described = _for_machines(facts) if facts else "", facts.summary if facts else ""
    if " ".join(said[: 2 * len(described)].split()).startswith(described):
        described = _first_words(said or text, limits.summary_words)
    return Beginning(" ".join(((facts.title if facts else "") or title).split()), described)


def paragraphs_of(facts: PageFacts | None, text: str, limits: SnippetLimits) -> Sequence[Paragraph]:
    """The paragraphs of a page's content, also those that are not meaningful, each on one line; else of the text."""
    found = _paragraphs(_for_machines(facts), facts.blocks) if facts else []
    return found if snippet_of(found, limits) else [_paragraph("text", line) for line in text.splitlines()]


def snippet_of(
    paragraphs: Sequence[Paragraph], limits: SnippetLimits, worth: Callable[[str], float] | None = None
) -> str:
    """The snippet of a source, from the paragraphs of its main text: one a line, each once (R-123, R-125).

    Where not all of them fit, those that are worth most come before the others, and all stay in the page's order.
    """
    kept = tuple(dict.fromkeys(_meaningful(paragraphs, limits)))
    if sum(map(count_words, kept)) < limits.least_words:
        # The content of a short page is its sentences and the rows of its tables. Menus have neither.
        lines = [one.text for one in paragraphs if one.kind == "row" or _is_sentence(one.text, limits)]
        kept = tuple(dict.fromkeys(lines))
    return _cut(_worthiest(kept, limits, worth) if worth else kept, limits)


def _for_machines(facts: PageFacts) -> str:
    """The content as a model may read it: without passages that are written to one."""
    return without_passages(facts.text, facts.suspected)


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


def _paragraph(kind: Literal["text", "item", "row"], text: str) -> Paragraph:
    return Paragraph(kind=kind, text=" ".join(text.split()))


def _meaningful(paragraphs: Iterable[Paragraph], limits: SnippetLimits) -> Iterator[str]:
    """Paragraphs with content: long ones, rows of tables, and list items that they introduce.

    >>> sizes = {"paragraph_words": 3, "sentence_words": 2, "least_words": 1, "summary_words": 9, "max_characters": 99}
    >>> limits = SnippetLimits(**sizes, boilerplate=("log in",))
    >>> texts = [("text", "You need all of:"), ("item", "a lamp"), ("text", "Share"), ("text", "Please log in")]
    >>> list(_meaningful([_paragraph(kind, text) for kind, text in texts], limits))
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


def _paragraphs(content: str, blocks: Sequence[ContentBlock]) -> list[Paragraph]:
    found: list[Paragraph] = []
    for block in every_block(content, blocks):
        line = content[block["start"] : block["end"]]
        cells = list(filter(None, (content[first:end] for first, end in block.get("cells", ()))))
        if not 1 < len(cells) <= _MOST_CELLS or any(len(cell) > _LONGEST_CELL for cell in cells):
            if block["kind"] != "heading":
                found += [_paragraph(_KINDS.get(block["kind"], "text"), text) for text in cells or [line]]
        elif any(map(str.isdigit, line)):
            found.append(_paragraph("row", " | ".join(cells)))
    return found


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
