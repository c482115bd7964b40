"""Reads the files of the configuration into one document, which ``streams.settings`` validates.

The files are those of the configuration directory, and the prompts and trained models beside the handlers.
"""

from __future__ import annotations

import os
from pathlib import Path
from typing import Any

import yaml
from pydantic_core import from_json


class SettingsError(Exception):
    """The configuration can't be used; the message names the key, the cause and the source."""


OWN_SOURCES = "own_sources.yaml"
"""The file of the configuration directory with the user's own sources; it is optional."""
_TRAINED = {
    "results/trained.json": "result_trees",
    "html/trained.json": "page_reading.content_trees",
    "html/dates/trained.json": "page_reading.date_trees",
    "html/authors/trained.json": "page_reading.author_trees",
    "html/addressed.json": "page_reading.addressed",
    "html/notices.json": "page_refusals.notices",
    "claims/trained.json": "claims.wording",
    "text/background.json": "word_frequencies",
}
"""The key of each trained file beside the handlers."""
_DEEPEST = 100
_MOST_COPIES = 100_000
_LOADER: type[Any] = getattr(yaml, "CSafeLoader", yaml.SafeLoader)


def config_dir() -> Path:
    """``ASSAY_CONFIG_DIR``, otherwise ``config/`` beside the packages: in a checkout, an image or a wheel.

    Raises SettingsError if the directory has no ``assay.yaml``.
    """
    named = os.environ.get("ASSAY_CONFIG_DIR")
    directory = Path(named) if named else Path(__file__).parents[2] / "config"
    if (directory / "assay.yaml").is_file():
        return directory
    raise SettingsError(f"no assay.yaml in {directory}; set ASSAY_CONFIG_DIR to the directory that holds it")


def read_document(directory: Path) -> dict[str, Any]:
    """The merged YAML of a configuration directory."""
    document: dict[str, Any] = {}
    for _, layer in read_layers(directory):
        document = merged(document, layer)
    return document


def read_layers(directory: Path) -> list[tuple[Path, dict[str, Any]]]:
    """Each file with its part of the document; a later file overrides an earlier one.

    A file of patterns is a key below ``patterns``, a file of sources a key below ``sources.kinds`` and one below
    ``sources.lists``, a public list a key below ``sources.public``, a prompt a key below ``prompts``; trained trees
    are a section or a part of one.
    """
    names = ("assay.yaml", "config_indexing.yaml", "models.yaml", "domains.yaml", "ranking.yaml", OWN_SOURCES)
    named = [path for name in names if (path := directory / name).is_file()]
    packs = sorted((directory / "patterns").rglob("*.yaml"))
    lists = sorted((directory / "sources").glob("*.yaml"))
    public = sorted((directory / "sources" / "public").glob("*.txt"))
    handlers = Path(__file__).parents[2] / "handlers"
    prompts = sorted((handlers / "prompts").glob("*.md"))
    trained = [(path, keys) for name, keys in _TRAINED.items() if (path := handlers / name).is_file()]
    return [
        *((path, read_yaml(path)) for path in named),
        *((path, {"patterns": {path.stem: read_yaml(path)}}) for path in packs),
        *((path, _sources(path.stem, read_yaml(path))) for path in lists),
        *((path, {"sources": {"public": {path.stem: _public_list(path)}}}) for path in public),
        *((path, {"prompts": {path.stem: path.read_text("utf-8")}}) for path in prompts),
        *((path, _below(keys, from_json(path.read_bytes()))) for path, keys in trained),
    ]


def _below(keys: str, content: Any) -> dict[str, Any]:
    for key in reversed(keys.split(".")):
        content = {key: content}
    return dict(content)


def _sources(stem: str, content: dict[str, Any]) -> dict[str, Any]:
    """A file of sources: the kind, with its tier and reason, and its sources by country."""
    kinds = {stem: content.pop("kind")} if "kind" in content else {}
    return {"sources": {"kinds": kinds, "lists": {stem: content}}}


def _public_list(path: Path) -> dict[str, Any]:
    """A public list: its head, a line ``---``, and its domains as one text, which is read at the first look-up."""
    head, _, domains = path.read_text("utf-8").partition("\n---\n")
    return {**yaml.load(head, Loader=_LOADER), "domains": domains}  # noqa: S506 - the C loader is a safe loader


def user_file(name: str) -> Path | None:
    """A file of the user in the configuration directory; None if that is part of the installed package."""
    directory = config_dir()
    is_installed = (directory.parent / "__main__.py").is_file()  # in a wheel, config is in the package assay
    return None if is_installed else directory / name


def read_yaml(path: Path) -> dict[str, Any]:
    """A YAML mapping. Raises SettingsError if the file is missing, invalid or not a mapping."""
    try:
        text = path.read_text("utf-8")
        _check_size(text)
        content = yaml.load(text, Loader=_LOADER)  # noqa: S506 - the C loader is a safe loader
    except OSError as error:
        raise SettingsError(f"{path}: {error.strerror or error}") from None
    except yaml.constructor.ConstructorError as error:  # its text has the value, which can be a secret
        problem = "a tag or a key that can't be read (a text that begins with ! needs quotes)"
        raise SettingsError(f"{path}: {problem}{error.problem_mark}") from None
    except (ValueError, yaml.YAMLError) as error:  # ValueError: a text that is not UTF-8, an impossible date or number
        raise SettingsError(f"{path}: {error}") from None
    if content is None:
        return {}
    if not isinstance(content, dict):
        raise SettingsError(f"{path}: expected keys and values, found {type(content).__name__}")
    if (odd := next((key for key in content if not isinstance(key, str)), None)) is not None:
        raise SettingsError(f"{path}: {odd!r} is not a known key")
    return content


def _check_size(text: str) -> None:
    """Raises YAMLError for a document whose recursion would end the process, or whose aliases would fill the memory."""
    size = copies = 0
    within: list[tuple[str | None, int]] = []
    sizes: dict[str | None, int] = {}
    for event in yaml.parse(text, Loader=_LOADER):
        size += 1
        match event:
            case yaml.ScalarEvent():
                sizes[event.anchor] = 1
                continue
            case yaml.CollectionStartEvent():
                within.append((event.anchor, size))
            case yaml.CollectionEndEvent():
                anchor, before = within.pop()
                sizes[anchor] = size - before
            case yaml.AliasEvent():
                copies += sizes.get(event.anchor, 0)
                size += sizes.get(event.anchor, 0)
                # Within its own value an alias has no end.
                copies += _MOST_COPIES * (event.anchor in dict(within)) + 1
        if len(within) > _DEEPEST or copies > _MOST_COPIES:
            problem = f"more than {_DEEPEST} levels, or aliases for more than {_MOST_COPIES:,} values"
            raise yaml.YAMLError(f"{problem}{event.start_mark}")


def merged(below: dict[str, Any], above: dict[str, Any]) -> dict[str, Any]:
    """Two documents as one: mappings are merged, any other value of ``above`` overrides that of ``below``."""
    result = dict(below)
    for key, value in above.items():
        inner = result.get(key)
        result[key] = merged(inner, value) if isinstance(inner, dict) and isinstance(value, dict) else value
    return result
