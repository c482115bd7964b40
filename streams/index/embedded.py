"""Whether an embedded index is there, found out without opening it: opening would make it."""

from __future__ import annotations

import json

from streams.index.settings import IndexSettings


def has_collection(index: IndexSettings) -> bool:
    """Whether the folder of an embedded index holds the collection of pages; an index in memory holds nothing yet."""
    if index.path is None:
        return False
    try:
        known = json.loads((index.path / "meta.json").read_text("utf-8"))
        return index.collection in known["collections"]
    except (OSError, ValueError, KeyError, TypeError):
        return False
