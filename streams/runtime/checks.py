"""The result of one check of ``assay doctor``, and the check of a folder, which several packages need."""

from __future__ import annotations

import shutil
import tempfile
from collections.abc import Iterable
from dataclasses import dataclass
from itertools import islice
from pathlib import Path
from typing import Literal

FREE_BYTES = 1024**3  # free space below which a folder gets a warning
_MOST_FILES = 1000

CheckState = Literal["ok", "note", "warn", "fail"]


@dataclass(frozen=True, slots=True)
class Check:
    """The result of one check of the configuration or of a service.

    The state ``note`` marks a setting that may be intended. ``todo`` is what the operator should do; "" for nothing.
    """

    what: str
    state: CheckState
    detail: str
    todo: str = ""

    @property
    def sentence(self) -> str:
        return f"{self.what}: {self.detail}{f'; {self.todo}' if self.todo else ''}"


def check_folder(name: str, folder: Path, variable: str, files: Iterable[Path] = ()) -> Check:
    """Whether a folder exists or could be made, it and those of ``files`` that exist can be written, and has space."""
    there = next(path for path in (folder, *folder.parents) if path.exists())
    try:
        with tempfile.TemporaryFile(dir=there):
            pass
        for file in islice(files, _MOST_FILES):
            if file.is_file():
                file.open("r+b").close()
    except OSError as error:
        found = f"{folder} can't be written: {error.strerror} ({error.filename or there})"
        return Check(name, "fail", found, f"name another place with {variable}")
    free = shutil.disk_usage(there).free
    found = f"{folder}, {free / 1024**3:.1f} GiB free"
    if free < FREE_BYTES:
        return Check(name, "warn", found, f"make room, or name another place with {variable}")
    return Check(name, "ok", found)
