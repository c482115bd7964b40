"""How generated files are written: the notice at their head, and YAML and JSON that a reviewer can read."""

from __future__ import annotations

import json
from typing import Any

import yaml

IN_MARKDOWN = "<!-- Written by `assay generate`. -->"
IN_YAML = "# Written by `assay generate`.\n"
_DUMPER: type[Any] = getattr(yaml, "CSafeDumper", yaml.SafeDumper)


def to_yaml(content: Any) -> str:
    """A YAML document with the notice, keys in the order given, text of several lines as a block."""
    return IN_YAML + yaml.dump(content, Dumper=_Readable, sort_keys=False, allow_unicode=True, width=120)


def to_json(content: Any) -> str:
    """A JSON document, keys in the order given. It has no place for a notice."""
    return json.dumps(content, indent=2, ensure_ascii=False) + "\n"


class _Readable(_DUMPER):  # type: ignore[misc]
    def ignore_aliases(self, data: Any) -> bool:  # noqa: ARG002 - the signature is the library's
        """No anchors: they would name objects of this program."""
        return True


def _text(dumper: Any, text: str) -> Any:
    return dumper.represent_scalar("tag:yaml.org,2002:str", text, style="|" if "\n" in text else None)


_Readable.add_representer(str, _text)
