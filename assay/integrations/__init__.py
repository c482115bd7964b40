"""Assay in other frameworks: a module for each, which imports that framework. docs/integrations.md has examples."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

BELOW = {"HIGH": ("MEDIUM", "LOW"), "MEDIUM": ("LOW",), "LOW": ()}
"""The labels below a label."""


def crawled(fields: Mapping[str, Any]) -> dict[str, Any]:
    """The fields of ``pages.crawled.v1`` of a mapping with ``url``, and ``html`` as text or bytes or else ``text``."""
    page = {name: value for name, value in fields.items() if name not in ("html", "text") and value is not None}
    html = fields.get("html")
    if html is None:
        return page | {"content": fields.get("text")}
    return page | ({"html_base64": html} if isinstance(html, bytes) else {"html": html})
