"""``assay sources import``: adds the domains of a file to ``sources.own`` in a YAML file.

A line is ``domain[,kind or tier][,reason]``. CSV and TSV may begin with a line of column names; JSON lines have the
keys ``domain``, ``kind``, ``tier``, ``reason``. Nothing is written where a line cannot be used.
"""

from __future__ import annotations

import csv
import json
import os
import re
from collections.abc import Iterator
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import yaml

from handlers.html.links import host_of, is_public_suffix
from handlers.indexing.config import SourcesSection, source_at
from handlers.score_page import ScorePageRules
from handlers.trust.sources import SELF_PUBLISHED
from streams.cli.output import tell
from streams.runtime.settings_files import OWN_SOURCES, config_dir, read_yaml
from streams.settings.model import Settings, SettingsError

_KEYS = ("domain", "kind", "tier", "reason")
_DOMAIN_COLUMNS = ("domain", "host", "url")
_TIER = re.compile(r"(?:tier[ _]?)?([123])")
_DOMAIN = re.compile(r"(?:[a-z0-9](?:[a-z0-9-]{0,61}[a-z0-9])?\.)++(?:[a-z]{2,63}|xn--[a-z0-9-]{1,59})")
_HEAD = "# Written by `assay sources import`; docs/sources.md describes the entries.\n"

_SHOWN = 20
"""The changed tiers that are listed."""


@dataclass(frozen=True, slots=True)
class ImportOptions:
    """The file, the YAML file, and the kind or tier of lines that state neither."""

    file: Path
    out: Path
    kind: str | None
    tier: int | None
    dry_run: bool
    as_json: bool


@dataclass(slots=True)
class _Import:
    """The entries of a file by domain, with their line numbers, and the problems of other lines."""

    entries: dict[str, dict[str, Any]] = field(default_factory=dict)
    lines: dict[str, int] = field(default_factory=dict)
    problems: list[str] = field(default_factory=list)
    notes: list[str] = field(default_factory=list)

    def add(self, number: int, domain: str, entry: dict[str, Any]) -> None:
        if domain not in self.entries:
            self.entries[domain], self.lines[domain] = entry, number
            return
        same = entry == self.entries[domain]
        told = self.notes if same else self.problems
        told.append(
            f"{number}: {domain} is on line {self.lines[domain]} already{'' if same else ', with another entry'}"
        )


class _LineError(ValueError):
    """A line cannot be used; the message says why."""


def run_import(settings: Settings, options: ImportOptions) -> int:
    """Reads the file, validates every line, and adds the entries to the YAML file.

    Returns:
        0; 1 if the file cannot be read or lines cannot be used, with one line on standard error for each.

    Raises:
        SettingsError: The YAML file exists and is not one of ``sources.own`` alone.
    """
    before = _existing(options.out)
    try:
        text = options.file.read_text("utf-8-sig")
    except UnicodeDecodeError as error:
        return tell("sources import", f"{options.file}: not UTF-8 ({error.reason})", 1)
    found = _read(text, options, settings.sources)
    for message in (*found.notes, *found.problems):
        tell("sources import", f"{options.file}:{message}")
    if not found.entries and not found.problems:
        tell("sources import", f"{options.file}: no entries")
    if found.problems or not found.entries:
        return 1
    if not options.dry_run:
        _write(options.out, before | found.entries)
    _tell(found.entries, before, settings, options)
    return 0


def _existing(out: Path) -> dict[str, dict[str, Any]]:
    """The entries that the YAML file has."""
    if not out.exists():
        return {}
    sources = (document := read_yaml(out)).get("sources", {})
    own = sources.get("own", {}) if isinstance(sources, dict) else None
    if document.keys() - {"sources"} or not isinstance(own, dict) or sources.keys() - {"own"}:
        raise SettingsError(f"{out}: has other keys than sources.own, which an import would lose; name another file")
    return own


def _read(text: str, options: ImportOptions, sources: SourcesSection) -> _Import:
    found = _Import()
    for number, row in _rows(text, options.file.suffix.lower(), found):
        try:
            domain, entry = _entry(row, options, sources)
        except _LineError as error:
            found.problems.append(f"{number}: {error}")
        else:
            found.add(number, domain, entry)
    return found


def _rows(text: str, suffix: str, found: _Import) -> Iterator[tuple[int, dict[str, Any]]]:
    """Line numbers and rows by key, without blank lines and comments."""
    lines = [(number, line) for number, line in enumerate(text.splitlines(), 1) if line.strip() and line[0] != "#"]
    if lines and (suffix in {".jsonl", ".ndjson"} or lines[0][1].lstrip().startswith("{")):
        for number, line in lines:
            try:
                row = json.loads(line)
            except (ValueError, RecursionError) as error:
                found.problems.append(f"{number}: not JSON: {error}")
                continue
            if isinstance(row, dict):
                yield number, row
            else:
                found.problems.append(f"{number}: not a JSON object")
        return
    delimiter = "\t" if suffix == ".tsv" or (lines and "\t" in lines[0][1]) else ","
    columns: tuple[str, ...] = ()
    for number, line in lines:
        try:
            cells = [cell.strip() for cell in next(csv.reader([line], delimiter=delimiter))]
        except csv.Error as error:
            found.problems.append(f"{number}: {error}")
            continue
        if number == lines[0][0] and cells[0].lower() in _DOMAIN_COLUMNS:
            columns = ("domain", *(cell.lower() for cell in cells[1:]))
            if left := [column for column in columns if column not in _KEYS]:
                found.notes.append(f"{number}: columns left out: {', '.join(left)}")
        elif columns:
            yield number, dict(zip(columns, cells, strict=False))
        elif len(cells) > 3:
            found.problems.append(f"{number}: {len(cells)} columns; there are domain, kind or tier, reason")
        else:
            domain, decides, reason = (*cells, "", "")[:3]
            is_tier = _TIER.fullmatch(decides.lower()) is not None
            yield number, {"domain": domain, "tier" if is_tier else "kind": decides, "reason": reason}


def _entry(row: dict[str, Any], options: ImportOptions, sources: SourcesSection) -> tuple[str, dict[str, Any]]:
    domain = _domain(str(row.get("domain") or ""))
    kind, tier = str(row.get("kind") or "").strip() or None, row.get("tier") or None
    if kind is None and tier is None:
        kind, tier = options.kind, options.tier
    if kind is None and tier is None:
        raise _LineError(f"{domain} has neither a kind nor a tier; --kind or --tier gives one to all such lines")
    if kind is not None and kind not in sources.kinds:
        raise _LineError(f"{kind!r} is not a kind; there are {', '.join(sources.kinds)}")
    if tier is not None:
        if (stated := _TIER.fullmatch(str(tier).lower())) is None:
            raise _LineError(f"{tier!r} is not a tier; there are 1, 2 and 3")
        tier = int(stated[1])
    if is_public_suffix(domain) and (tier or sources.kinds[kind or SELF_PUBLISHED].tier) < 3:
        raise _LineError(f"{domain} is a public suffix: anyone registers below it, so it can only be in tier 3")
    entry = {"kind": kind, "tier": tier, "reason": str(row.get("reason") or "").strip()}
    return domain, {key: value for key, value in entry.items() if value}


def _domain(text: str) -> str:
    """The domain of a cell: an address means its host, and ``www.`` the domain without it."""
    host = host_of(text) if "://" in text else text.strip().strip(".").lower()
    try:
        domain = host.encode("idna").decode()
    except UnicodeError:
        domain = ""
    if len(domain) > 253 or _DOMAIN.fullmatch(domain) is None:
        raise _LineError(f"{text!r} is not a domain")
    bare = domain.removeprefix("www.")
    return domain if "." not in bare or is_public_suffix(bare) else bare


def _write(out: Path, entries: dict[str, dict[str, Any]]) -> None:
    text = yaml.safe_dump({"sources": {"own": entries}}, allow_unicode=True, width=10_000, default_flow_style=None)
    part = out.with_name(f"{out.name}.part")
    part.write_text(_HEAD + text, "utf-8")
    os.replace(part, out)


def _tell(
    entries: dict[str, dict[str, Any]], before: dict[str, dict[str, Any]], settings: Settings, options: ImportOptions
) -> None:
    """Prints the counts, the tiers that change, and how to use the file."""
    rules = settings.rules(ScorePageRules).compiled.sources
    changed = []
    for domain, entry in entries.items():
        tier = entry.get("tier") or settings.sources.kinds[entry["kind"]].tier
        if (now := source_at(f"https://{domain}/", None, "", rules).tier) != tier:
            changed.append({"domain": domain, "from": now, "to": tier})
    counts = {
        "new": len(entries.keys() - before.keys()),
        "replaced": sum(before[domain] != entry for domain, entry in entries.items() if domain in before),
        "unchanged": sum(before.get(domain) == entry for domain, entry in entries.items()),
    }
    if options.out.resolve() == (config_dir() / OWN_SOURCES).resolve():
        use = f"Assay reads {options.out} when it starts: restart running workers"
    else:
        use = f"use it with --config {options.out}, or as {OWN_SOURCES} in the directory ASSAY_CONFIG_DIR"
    if options.as_json:
        told = {"out": str(options.out), "written": not options.dry_run, **counts, "tiers_changed": changed, "use": use}
        print(json.dumps(told, ensure_ascii=False))
        return
    for change in changed[:_SHOWN]:
        print(f"{change['domain']}: tier {change['from']} becomes {change['to']}")
    if len(changed) > _SHOWN:
        print(f"and {len(changed) - _SHOWN} more with another tier (--json lists all)")
    does = "would be written to" if options.dry_run else "written to"
    numbers = ", ".join(f"{number} {name}" for name, number in counts.items())
    print(f"{len(entries)} sources {does} {options.out}: {numbers}")
    print(use)
