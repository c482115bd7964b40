"""Files that only their owner can read: they hold questions, answers and fetched pages."""

from __future__ import annotations

import os
from pathlib import Path

PRIVATE_FOLDER = 0o700
_PRIVATE_FILE = 0o600


def make_private_file(file: Path) -> None:
    """Makes an empty file, and its folder, for their owner only. What is there already keeps its content and mode.

    SQLite gives its ``-wal`` and ``-shm`` files the mode of the database.
    """
    file.parent.mkdir(PRIVATE_FOLDER, parents=True, exist_ok=True)
    os.close(os.open(file, os.O_CREAT | os.O_RDONLY, _PRIVATE_FILE))
