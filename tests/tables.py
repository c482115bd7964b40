"""Tables of test data that are kept beside their test: ``test_x.yaml`` for ``test_x.py``."""

from pathlib import Path
from typing import Any

import yaml

_LOADER: type[Any] = getattr(yaml, "CSafeLoader", yaml.SafeLoader)


def tables(module: str) -> dict[str, Any]:
    """The tables of a test module, which names itself with ``__file__``. Rows are tuples."""
    content: dict[str, Any] = yaml.load(Path(module).with_suffix(".yaml").read_text("utf-8"), Loader=_LOADER)  # noqa: S506
    return {name: rows(table) for name, table in content.items()}


def rows(value: Any) -> Any:
    """Lists as tuples, at every depth."""
    if isinstance(value, list):
        return tuple(rows(each) for each in value)
    return {name: rows(each) for name, each in value.items()} if isinstance(value, dict) else value
