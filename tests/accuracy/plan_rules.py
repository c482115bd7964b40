"""The plan's literal rules (R-190 to R-195): what a reader finds that knows these marks and nothing else."""

from __future__ import annotations

import json
from typing import Any

from selectolax.lexbor import LexborHTMLParser


def read(html: str) -> dict[str, Any]:
    """Date, authors, byline, type and headings, as the plan's table names their marks."""
    tree = LexborHTMLParser(html)
    bylines = [node.text(strip=True) for node in tree.css("span.byline, [rel~=author]")]
    author = _meta(tree, 'meta[name="author"]')
    return {
        "date": _meta(tree, 'meta[property="article:published_time"]'),
        "authors": tuple(text for text in ([author] if author else bylines) if text),
        "has_byline": bool(bylines),
        "schema_type": _type(tree),
        "has_headings": bool(tree.css("h2, h3")),
    }


def _meta(tree: LexborHTMLParser, selector: str) -> str | None:
    node = tree.css_first(selector)
    return ((node.attributes.get("content") or "").strip() or None) if node else None


def _type(tree: LexborHTMLParser) -> str | None:
    for script in tree.css('script[type="application/ld+json"]'):
        try:
            data = json.loads(script.text())
        except ValueError:
            continue
        name = data.get("@type") if isinstance(data, dict) else None
        if isinstance(name, str):
            return name
    return None
