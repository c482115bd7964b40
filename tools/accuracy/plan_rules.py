"""The plan's literal rules (R-190 to R-195): what a reader finds that knows these marks and nothing else."""

from __future__ import annotations

import json
from typing import Any

from selectolax.lexbor import LexborHTMLParser


def read(html: str, *, schema_author: bool = False) -> dict[str, Any]:
    """Date, authors, byline, type and headings, as the plan's table names their marks.

    Args:
        html: The page.
        schema_author: Whether a page without a named mark is asked for its schema.org author too: the plan mentions it
            (R-191), but no mark to read it from, so it is tried apart.
    """
    tree = LexborHTMLParser(html)
    data = _json_ld(tree)
    bylines = [node.text(strip=True) for node in tree.css("span.byline, [rel~=author]")]
    author = _meta(tree, 'meta[name="author"]')
    return {
        "date": _meta(tree, 'meta[property="article:published_time"]'),
        "authors": tuple(text for text in ([author] if author else bylines) if text)
        or (_authors(data) if schema_author else ()),
        "has_byline": bool(bylines),
        "schema_type": data.get("@type"),
        "has_headings": bool(tree.css("h2, h3")),
    }


def _meta(tree: LexborHTMLParser, selector: str) -> str | None:
    node = tree.css_first(selector)
    return ((node.attributes.get("content") or "").strip() or None) if node else None


def _json_ld(tree: LexborHTMLParser) -> dict[str, Any]:
    """The first object that names a type."""
    for script in tree.css('script[type="application/ld+json"]'):
        try:
            data = json.loads(script.text())
        except ValueError:
            continue
        if isinstance(data, dict) and isinstance(data.get("@type"), str):
            return data
    return {}


def _authors(data: dict[str, Any]) -> tuple[str, ...]:
    author = data.get("author")
    named = [item.get("name") if isinstance(item, dict) else item for item in _listed(author)]
    return tuple(name for name in named if isinstance(name, str))


def _listed(value: Any) -> list[Any]:
    return value if isinstance(value, list) else [value]
