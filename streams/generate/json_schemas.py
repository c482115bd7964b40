"""The JSON Schema of each topic's event, the record of released schemas and golden examples, and what breaks readers.

A schema describes the wire: names, required fields, bounds, and the models' docstrings as descriptions.
``schemas/released/<topic>/<version>.schema.json`` holds a topic's schema as of a release in which it changed.
``schemas/goldens.sha256`` lists every released schema and golden example with its digest, as ``sha256sum`` writes it. A
listed file that is removed or edited fails the check. Generated examples are not listed: they are checked against what
the handlers write. A change of a released schema of unknown effect counts as a break; the golden examples cover what
models check beyond their schema.
"""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from hashlib import sha256
from pathlib import Path
from types import NoneType
from typing import Any

from streams.generate.asyncapi import schema_of
from streams.generate.examples import FOLDER, is_generated
from streams.topology import TOPICS, Topic
from streams.topology.text import to_json


def json_schemas() -> dict[Path, str]:
    return {Path("schemas/json") / f"{topic.name}.schema.json": to_json(schema_of(topic)) for topic in TOPICS}


LIST = Path("schemas/goldens.sha256")
RELEASED = Path("schemas/released")


def goldens(root: Path) -> dict[Path, str]:
    """The list with new files added; empty if there are no files."""
    listed = _listed(root)
    listed |= {path: _digest(root / path) for path in _files(root) if path not in listed}
    lines = [f"{digest}  {path.as_posix()}\n" for path, digest in sorted(listed.items())]
    return {LIST: "".join(lines)} if lines else {}


def lost(root: Path) -> list[str]:
    found = []
    for path, digest in sorted(_listed(root).items()):
        if not (root / path).is_file():
            found.append(f"{path.as_posix()} is gone; released schemas and goldens are never removed")
        elif _digest(root / path) != digest:
            found.append(
                f"{path.as_posix()} has been edited; add another file, or drop its line if it was never released"
            )
    return found


def incompatible(root: Path, topics: Sequence[Topic] = TOPICS) -> list[str]:
    today = {topic.name: topic for topic in topics}
    found: list[str] = []
    for name, versions in _released(root).items():
        if name not in today:
            found.append(f"{name}: the topic is gone; its records of {', '.join(versions)} can't be read")
            continue
        current = schema_of(today[name])
        for version, schema in versions.items():
            found += [f"{name} since {version}: {change}" for change in breaks(schema, current)]
    return found


def release(root: Path, version: str, topics: Sequence[Topic] = TOPICS) -> list[Path]:
    """Writes the schemas that have changed as those of a version. Returns the files written.

    Raises ValueError if the version was released with another schema, or readers of released ones would break.
    """
    if found := incompatible(root, topics):
        raise ValueError("; ".join(found))
    released, written = _released(root), []
    for topic in topics:
        versions, current = released.get(topic.name, {}), schema_of(topic)
        if versions and current == list(versions.values())[-1]:
            continue
        if version in versions:
            raise ValueError(f"{topic.name} was released as of {version} with another schema; raise the version first")
        path = RELEASED / topic.name / f"{version}.schema.json"
        (root / path).parent.mkdir(parents=True, exist_ok=True)
        (root / path).write_text(to_json(current), "utf-8")
        written.append(path)
    return written


def _released(root: Path) -> dict[str, dict[str, Any]]:
    found: dict[str, dict[str, Any]] = {}
    for path in sorted((root / RELEASED).glob("*/*.schema.json"), key=_age):
        found.setdefault(path.parent.name, {})[_version(path)] = json.loads(path.read_text("utf-8"))
    return found


def _version(path: Path) -> str:
    return path.name.removesuffix(".schema.json")


def _age(path: Path) -> tuple[str, list[int]]:
    return path.parent.name, [int(part) for part in _version(path).split(".") if part.isdigit()]


def _files(root: Path) -> list[Path]:
    written = [topic.name for topic in TOPICS if not is_generated(topic)]
    patterns = [f"{FOLDER}/{name}/*.json" for name in written]
    patterns += [f"{RELEASED}/*/*.json"]
    return sorted(path.relative_to(root) for pattern in patterns for path in root.glob(pattern))


def _listed(root: Path) -> dict[Path, str]:
    if not (root / LIST).is_file():
        return {}
    lines = (root / LIST).read_text("utf-8").splitlines()
    return {Path(path): digest for digest, _, path in (line.partition("  ") for line in lines)}


def _digest(path: Path) -> str:
    return sha256(path.read_bytes()).hexdigest()


Schema = Mapping[str, Any]

_SAID_ONLY = frozenset({"$schema", "$id", "$defs", "title", "description", "examples", "deprecated", "discriminator"})
"""Keywords without an effect on validation."""
_LEAST = ("minimum", "exclusiveMinimum", "minLength", "minItems", "minProperties")
_MOST = ("maximum", "exclusiveMaximum", "maxLength", "maxItems", "maxProperties")
_SHAPE = ("pattern", "format", "multipleOf", "contentEncoding", "contentMediaType")
_STRUCTURE = frozenset(
    {"type", "enum", "const", "default", "properties", "required", "additionalProperties", "items"}
    | {"anyOf", "oneOf", "$ref", *_LEAST, *_MOST, *_SHAPE}
)
_TYPES: dict[type, str] = {
    NoneType: "null",
    bool: "boolean",
    str: "string",
    int: "integer",
    float: "number",
    list: "array",
    dict: "object",
}


@dataclass(frozen=True, slots=True)
class Break:
    """A change that breaks readers of old records, and its place, such as ``results[].kind``."""

    where: str
    what: str

    def __str__(self) -> str:
        return f"{self.where or 'the event'}: {self.what}"


def breaks(earlier: Schema, today: Schema) -> list[Break]:
    """The changes because of which a valid old record may be refused, or understood differently, today.

    Both schemas are self-contained. New optional fields, wider bounds, more values and other texts are no breaks.
    """
    # A field beside the choices of a schema is compared with each of them.
    return list(dict.fromkeys(_Comparison(earlier, today).compare(earlier, today, "")))


@dataclass
class _Comparison:
    """Two documents, and the compared pairs of definitions; a definition may refer to itself."""

    earlier: Schema
    today: Schema
    compared: set[tuple[str, str]] = field(default_factory=set)

    def compare(self, old: Schema, new: Schema, where: str) -> Iterator[Break]:
        if "default" in old and "default" in new and old["default"] != new["default"]:
            yield Break(where, f"its default was {_in_words(old['default'])} and is {_in_words(new['default'])}")
        wider = _alternatives(new, self.today)
        for alternative in _alternatives(old, self.earlier):
            yield from self._accepted(alternative, wider, where)

    def _accepted(self, old: Schema, wider: list[Schema], where: str) -> Iterator[Break]:
        """One of today's alternatives must accept the old one; otherwise the breaks are those of the nearest."""
        found: list[list[Break]] = []
        for new in wider:
            compared = set(self.compared)
            problems = list(self._differences(old, new, where))
            if not problems:
                return
            self.compared = compared
            found.append(problems)
        yield from min(found, key=lambda problems: (any(_OF_TYPE in option.what for option in problems), len(problems)))

    def _differences(self, old: Schema, new: Schema, where: str) -> Iterator[Break]:
        references = (str(old.get("$ref", "")), str(new.get("$ref", "")))
        if all(references):
            if references in self.compared:
                return
            self.compared.add(references)
        kinds, today = _types(old), _types(new)
        if today is not None and (kinds is None or not kinds <= _widened(today)):
            gone = " or ".join(sorted(kinds - _widened(today))) if kinds else "anything"
            yield Break(where, f"{_OF_TYPE}{gone}, and today only {' or '.join(sorted(today))} is read")
            return
        yield from _values(old, new, where)
        yield from _bounds(old, new, where)
        if kinds is None or "object" in kinds:
            yield from self._object(old, new, where)
        if kinds is None or "array" in kinds:
            yield from self._items(old, new, where)
        for keyword in sorted((old.keys() | new.keys()) - _STRUCTURE - _SAID_ONLY):
            if old.get(keyword) != new.get(keyword):
                yield Break(where, f"{keyword} has changed, and this check does not know what that means")

    def _object(self, old: Schema, new: Schema, where: str) -> Iterator[Break]:
        fields, today = old.get("properties", {}), new.get("properties", {})
        for name, definition in fields.items():
            if name not in today:
                yield Break(_below(where, name), "the field is gone; what stood in it would be passed over")
                continue
            yield from self.compare(definition, today[name], _below(where, name))
            if "default" in definition and "default" not in today[name] and name not in new.get("required", ()):
                yield Break(
                    _below(where, name), f"its default was {_in_words(definition['default'])} and none is declared"
                )
        for name in new.get("required", ()):
            if name not in old.get("required", ()):
                known = "was optional" if name in fields else "did not exist"
                yield Break(_below(where, name), f"the field is required today and {known}")
        more, allowed = old.get("additionalProperties", True), new.get("additionalProperties", True)
        if more is not False and allowed is False:
            yield Break(where, "fields beyond those that are named were passed over and are refused today")
        elif more is True and isinstance(allowed, Mapping):
            yield Break(where, "fields beyond those that are named could hold anything and no longer can")
        elif isinstance(more, Mapping):
            for name in today.keys() - fields.keys():
                yield from self.compare(more, today[name], _below(where, name))
            if isinstance(allowed, Mapping):
                yield from self.compare(more, allowed, _below(where, "*"))
            elif "properties" in new:
                yield Break(where, "it held fields of any name, and those that have no name today would be passed over")

    def _items(self, old: Schema, new: Schema, where: str) -> Iterator[Break]:
        items, today = old.get("items"), new.get("items")
        if isinstance(today, Mapping):
            yield from self.compare(items if isinstance(items, Mapping) else {}, today, f"{where}[]")
        elif today is False and items is not False:
            yield Break(where, "further items are refused today")


_OF_TYPE = "could be "


def _alternatives(schema: Schema, document: Schema) -> list[Schema]:
    """The alternatives of a schema, with references resolved; a resolved one keeps its ``$ref``."""
    if reference := schema.get("$ref"):
        found: Any = document
        for part in str(reference).removeprefix("#/").split("/"):
            found = found[part]
        beside = {key: value for key, value in schema.items() if key not in {"$ref", "default"} | _SAID_ONLY}
        return [{**option, "$ref": reference} for option in _alternatives({**found, **beside}, document)]
    choices = schema.get("anyOf") or schema.get("oneOf")
    if not choices:
        return [schema]
    beside = {key: value for key, value in schema.items() if key not in {"anyOf", "oneOf", "default"} | _SAID_ONLY}
    return [option for choice in choices for option in _alternatives(_both(beside, choice), document)]


def _both(schema: Schema, choice: Schema) -> Schema:
    """A schema with one of its choices. A choice may name values of a few fields, and the schema has the others."""
    both = {**schema, **choice}
    if "properties" in schema and "properties" in choice:
        both["properties"] = {**schema["properties"], **choice["properties"]}
    if "required" in schema and "required" in choice:
        both["required"] = [*schema["required"], *choice["required"]]
    return both


def _allowed_values(schema: Schema) -> list[Any] | None:
    """The values that a schema lists; None for any."""
    return schema["enum"] if "enum" in schema else [schema["const"]] if "const" in schema else None


def _types(schema: Schema) -> set[str] | None:
    """The types that a value may have; None for any."""
    stated = schema.get("type")
    if stated is None:
        values = _allowed_values(schema)
        return None if values is None else {_TYPES[type(value)] for value in values}
    return {stated} if isinstance(stated, str) else set(stated)


def _widened(types: set[str]) -> set[str]:
    return types | {"integer"} if "number" in types else types


def _values(old: Schema, new: Schema, where: str) -> Iterator[Break]:
    had, allowed = _allowed_values(old), _allowed_values(new)
    if allowed is None:
        return
    if had is None:
        yield Break(where, f"could have any value, and today only {', '.join(map(_in_words, allowed))}")
    elif gone := [value for value in had if value not in allowed]:
        yield Break(where, f"could be {', '.join(map(_in_words, gone))}, which is no longer read")


def _bounds(old: Schema, new: Schema, where: str) -> Iterator[Break]:
    for keywords, sign, words in ((_LEAST, 1, "at least"), (_MOST, -1, "at most")):
        for keyword in keywords:
            was, now = old.get(keyword), new.get(keyword)
            if now is not None and (was is None or sign * now > sign * was):
                before = "had no such bound" if was is None else f"was {words} {was}"
                yield Break(where, f"{keyword} {before} and is {words} {now} today")
    for keyword in _SHAPE:
        if keyword in new and old.get(keyword) != new[keyword]:
            yield Break(where, f"{keyword} was {_in_words(old.get(keyword))} and is {_in_words(new[keyword])} today")


def _below(where: str, name: str) -> str:
    return f"{where}.{name}" if where else name


def _in_words(value: object) -> str:
    return "none" if value is None else json.dumps(value, ensure_ascii=False)
