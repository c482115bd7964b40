"""One finding of ``assay doctor``, and the look at a folder that several checks take."""

from __future__ import annotations

import os
import shutil
from dataclasses import dataclass
from pathlib import Path
from typing import Literal

FREE_BYTES = 1024**3
"""Room below which a folder is worth a warning."""

State = Literal["ok", "warn", "fail"]


@dataclass(frozen=True, slots=True)
class Finding:
    """What was looked at, how it stands, what was found, and what to do where it is not well."""

    what: str
    state: State
    detail: str
    todo: str = ""


def check_folder(name: str, folder: Path, variable: str) -> Finding:
    """Whether a folder can be written, or made, and has room. Makes nothing."""
    there = next(path for path in (folder, *folder.parents) if path.exists())
    if not there.is_dir() or not os.access(there, os.W_OK | os.X_OK):
        return Finding(name, "fail", f"{folder} can't be written", f"name another place with {variable}")
    free = shutil.disk_usage(there).free
    found = f"{folder}, {free / 1024**3:.1f} GiB free"
    if free < FREE_BYTES:
        return Finding(name, "warn", found, f"make room, or name another place with {variable}")
    return Finding(name, "ok", found)
