"""The file of refused entries: one JSON object a line, with the place, the reason and the line itself."""

from __future__ import annotations

import base64
import json
import os
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import BinaryIO

from streams.publish.entries import Refused, SourceError
from streams.publish.lines import STANDARD_INPUT_PATH

_BEGINNING = b'{"place": "'
"""The beginning of every line."""


class RefusedFile:
    """Keeps refused entries; without a path it keeps nothing.

    Attributes:
        kept: Bytes of the file that belong to the run; a resumed run sets it before the file is opened.
    """

    def __init__(self, path: Path | None) -> None:
        self.kept = 0
        self._path = path
        self._file: BinaryIO | None = None

    def problem(self, sources: Sequence[Path]) -> str | None:
        """Why the file cannot be used: it would overwrite a source, or a file of the user.

        Raises:
            SourceError: The file cannot be read.
        """
        file = self._path
        if file is None:
            return None
        with self._named():
            if any(_is_or_holds(path, file) for path in sources if path != STANDARD_INPUT_PATH):
                return f"--refused {file} is one of the sources, or in one; name a file elsewhere"
            if file.is_dir():
                return f"--refused {file} is a folder; name a file in it"
            # Its name is no proof: the file may be a hard link to a source.
            if file.is_file() and file.stat().st_size and not _has_refusals(file):
                return f"--refused {file} contains something other than refused entries; name a new file"
        return None

    @contextmanager
    def opened(self) -> Iterator[None]:
        """Opens the file, and cuts off what the run wrote to it after its position. Raises SourceError."""
        if self._path is None:
            yield
            return
        with self._named():
            descriptor = os.open(self._path, os.O_WRONLY | os.O_CREAT, 0o644)
            self.kept = min(self.kept, os.fstat(descriptor).st_size)
            os.ftruncate(descriptor, self.kept)
        with os.fdopen(descriptor, "wb", buffering=0) as self._file:
            self._file.seek(self.kept)
            yield

    def add(self, refused: Refused) -> None:
        """Writes an entry. Raises SourceError."""
        if self._file is not None:
            with self._named():
                self.kept += self._file.write(_line(refused))

    @contextmanager
    def _named(self) -> Iterator[None]:
        """Trouble with this file is not trouble with Kafka."""
        try:
            yield
        except OSError as error:
            raise SourceError(f"--refused {self._path}: {error.strerror}") from None


def _is_or_holds(path: Path, file: Path) -> bool:
    if path.is_dir():
        return file.resolve().is_relative_to(path.resolve())
    return file.exists() and path.exists() and path.samefile(file)


def _has_refusals(file: Path) -> bool:
    with file.open("rb") as lines:
        # A run that was killed may have written a part of a line.
        return _BEGINNING.startswith(lines.read(len(_BEGINNING)))


def _line(refused: Refused) -> bytes:
    fields: dict[str, str] = {"place": refused.place, "reason": refused.reason}
    if refused.line is not None:
        line = refused.line.removesuffix(b"\n")
        try:
            fields["line"] = line.decode()
        except UnicodeDecodeError:
            fields["line_base64"] = base64.b64encode(line).decode()
    return json.dumps(fields, ensure_ascii=False).encode("utf-8", "replace") + b"\n"
