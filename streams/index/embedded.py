"""Whether an embedded index is there, found out without opening it: opening would make it."""

from __future__ import annotations

import json

from streams.index.settings import IndexSettings


def has_collection(index: IndexSettings) -> bool:
    """Whether the folder of an embedded index holds the collection of pages; an index in memory holds nothing yet.

    Where nobody can tell, since the file that knows is damaged, it is there: who opens it is told of the damage.
    """
    if index.path is None:
        return False
    try:
        text = (index.path / "meta.json").read_bytes()
    except (FileNotFoundError, NotADirectoryError):
        return False
    except OSError:
        return True
    try:
        return index.collection in json.loads(text)["collections"]
    except (ValueError, KeyError, TypeError):
        return True
