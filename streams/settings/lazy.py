"""The configuration of single handlers, without the sections of the others: a score needs a fifth of the document."""

from __future__ import annotations

import os
from functools import cached_property
from pathlib import Path
from typing import Any, TypeVar

from pydantic import BaseModel, ValidationError

from streams.runtime.process import gc_paused
from streams.runtime.settings_files import SettingsError, config_dir, read_document

M = TypeVar("M", bound=BaseModel)


class LazySettings:
    """The configuration that workers have: the shipped files, ``ASSAY_…`` variables, a file, and given sections.

    What is given here is checked at once, with the whole document. Variables are checked when a section is first
    needed; without any, only the needed sections are read.

    >>> from handlers.score_page import ScorePageRules
    >>> LazySettings(tiered_indexing={"tier_a": {"min_cts": 60}}).of(ScorePageRules).tiered_indexing.tier_a.min_cts
    60
    """

    def __init__(self, file: str | Path | None = None, /, **sections: Any) -> None:
        """Raises SettingsError, which names every wrong key.

        Args:
            file: A YAML file whose keys override the shipped ones.
            sections: Sections, or parts of them, as in the file: ``tiered_indexing={"tier_a": {"min_cts": 60}}``.
        """
        self._file = None if file is None else Path(file)
        self._sections = sections
        self._known: dict[type[BaseModel], BaseModel] = {}
        if file is not None or sections:
            self.whole  # noqa: B018 - reads and checks it

    def of(self, kind: type[M]) -> M:
        """The sections that are the fields of a model, such as the rules of a handler; the same object each time.

        Raises SettingsError: the message names every wrong key.
        """
        known = self._known.get(kind)
        if not isinstance(known, kind):
            with gc_paused():
                known = self._known[kind] = self._read(kind)
        return known

    @cached_property
    def whole(self) -> Any:
        """The whole configuration, as ``streams.settings.model.Settings``. Raises SettingsError."""
        # Imported here because it imports every handler.
        from streams.settings.model import load_settings

        return load_settings(self._file, **self._sections)

    @cached_property
    def _document(self) -> dict[str, Any]:
        return read_document(config_dir())

    @property
    def overrides(self) -> bool:
        """Whether anything is not as shipped."""
        return bool(self._file or self._sections) or any(_is_section(name, value) for name, value in os.environ.items())

    def _read(self, kind: type[M]) -> M:
        try:
            if self.overrides:
                return kind.model_validate({name: getattr(self.whole, name) for name in kind.model_fields})
            return kind.model_validate(
                {name: self._document[name] for name in kind.model_fields if name in self._document}
            )
        except ValidationError as error:
            from streams.settings.model import explain

            raise SettingsError(explain(error)) from None


def _is_section(name: str, value: str) -> bool:
    """Whether a variable is a key of a section, or a whole section as JSON."""
    return name.upper().startswith("ASSAY_") and ("__" in name or value.lstrip().startswith("{"))
