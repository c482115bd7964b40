"""Markdown of a page from the content and the blocks of its event."""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from itertools import groupby

from schemas.pages import ContentBlock, ContentEntry

_TICKS = re.compile("`{3,}")
_MARK = re.compile(r"#{1,6}(?=\s)|[-+*](?=\s)|\d{1,9}[.)](?=\s)|>|`{3}|~{3}")
"""What a Markdown reader takes for a mark at the beginning of a line."""
_SIGNS = re.compile(r"[\[\]()<>*_`#!|\\~]")
"""Signs that could be marks in a name."""
_TAG = re.compile(r"<(?=[a-zA-Z/!])")


def render_markdown(
    content: str, blocks: Sequence[ContentBlock], title: str = "", entries: Sequence[ContentEntry] = ()
) -> str:
    r"""The content with the marks of its blocks, below the title unless the content has a heading of the first level.

    Posts have a line between them and begin with their author.

    >>> render_markdown("Rain\nIt fell.", [ContentBlock(kind="heading", start=0, end=4, level=1)])
    '# Rain\n\nIt fell.'
    """
    lines: list[str] = []
    indents: list[int] = []
    before: ContentBlock | None = None
    every = every_block(content, blocks)
    posts = {entry["start"]: entry.get("author", "") for entry in entries if entry["kind"] == "post"}
    for _, group in groupby(
        every, key=lambda block: (block.get("table"), block["start"] if "table" not in block else 0)
    ):
        together = list(group)
        block = together[0]
        if (author := posts.get(block["start"])) is not None:
            lines += ["", "---"] if lines else []
            lines += ["", f"**{_SIGNS.sub('', author)}**"] if author else []
            lines += [""] if lines else []
            before = None
        depth = block.get("depth", 0)
        del indents[depth:]
        if "table" in block:
            written = _table(content, together)
        else:
            written = _written(content[block["start"] : block["end"]], block)
        inner = sum(indents)
        if block["kind"] == "item":
            del indents[depth - 1 :]
            indents += [2] * (depth - 1 - len(indents))
            inner = sum(indents)
            marker = f"{block['number']}. " if "number" in block else "- "
            indents.append(len(marker))
            written = [marker + written[0], *(" " * len(marker) + line for line in written[1:])]
        quoted = "> " * block.get("quotes", 0)
        if before is not None and not _is_tight(before, block):
            lines.append((quoted if before.get("quotes") and block.get("quotes") else "").rstrip())
        lines += [(quoted + " " * inner + line if line else quoted.rstrip()) for line in written]
        before = together[-1]
    is_titled = not title or any(block.get("level") == 1 for block in blocks)
    return "\n".join(lines if is_titled else [f"# {title}", "", *lines])


def every_block(content: str, blocks: Sequence[ContentBlock]) -> Iterator[ContentBlock]:
    """The blocks, and the lines between them as paragraphs."""
    at = 0
    for block in (*blocks, None):
        for line in content[at : block["start"] if block else None].split("\n"):
            if line:
                yield ContentBlock(kind="paragraph", start=at, end=at + len(line))
            at += len(line) + 1
        if block:
            yield block
            at = block["end"] + 1


def _is_tight(before: ContentBlock, block: ContentBlock) -> bool:
    """Whether no blank line is between two blocks."""
    if block["kind"] == "item":
        return "depth" in before and before["kind"] in ("item", "code", "paragraph", "quote", "row")
    if block["kind"] == "definition":
        return before["kind"] in ("term", "definition")
    return block["kind"] == "term" and before["kind"] == "term"


def _written(text: str, block: ContentBlock) -> list[str]:
    match block["kind"]:
        case "heading":
            return [f"{'#' * block.get('level', 1)} {text}"]
        case "code":
            fence = "`" * max(3, 1 + max(map(len, _TICKS.findall(text)), default=0))
            return [f"{fence}{block.get('language', '')}", *text.split("\n"), fence]
        case "definition":
            return [f": {text}"]
        case _:
            return [_escaped(line) for line in text.split("\n")]


def _escaped(line: str) -> str:
    """A line of text, so that none of it is a mark or HTML."""
    line = _TAG.sub(r"\\<", line)
    mark = _MARK.match(line)
    return line if mark is None else f"{line[: mark.end() - 1]}\\{line[mark.end() - 1 :]}"


def _table(content: str, rows: Sequence[ContentBlock]) -> list[str]:
    """A table; the header is empty if the first row has other cells."""
    cells = [
        [content[begin:end].replace("\\", "\\\\").replace("|", "\\|") for begin, end in row["cells"]] for row in rows
    ]
    width = max(map(len, cells))
    header = cells[0] if rows[0].get("header") else [""] * width
    body = cells[1:] if rows[0].get("header") else cells
    written = [header, ["---"] * width, *body]
    return [f"| {' | '.join([*row, *[''] * (width - len(row))])} |" for row in written]
