"""``assay sources``: shows how the kind and tier of addresses are decided, and imports sources."""

from __future__ import annotations

import csv
import json
import math
import os
import re
from collections.abc import Mapping
from pathlib import Path
from typing import Annotated, Any, NamedTuple

import yaml
from typer import Argument, BadParameter, Option

from handlers.html.links import host_of, is_public_suffix
from handlers.indexing.config import KindSection, listed_name, source_at
from handlers.score_page import ScorePageRules
from handlers.trust.public_lists import CONTESTED, DISPUTED
from handlers.trust.sources import Source, SourceRules
from schemas.addresses import without_user
from streams.cli.command import AsJson, Config, command_group, load_settings
from streams.cli.output import print_rows, say_json, show, tell
from streams.runtime.settings_files import OWN_SOURCES, config_dir, read_yaml, user_file
from streams.runtime.terminal import unshown
from streams.settings.model import Settings, SettingsError

_KEYS = ("domain", "kind", "tier", "reason")
_DOMAIN_COLUMNS = ("domain", "host", "url")
_TIER = re.compile(r"(?:tier[ _]?)?([123])")
_DOMAIN = re.compile(r"(?:[a-z0-9](?:[a-z0-9-]{0,61}[a-z0-9])?\.)++(?:[a-z]{2,63}|xn--[a-z0-9-]{1,59})")
_HEAD = "# Written by `assay sources import`; docs/sources.md describes the entries.\n"
_SHOWN = 20  # the changed tiers that are listed

Entries = dict[str, dict[str, Any]]

sources = command_group()


@sources.command("check")
def sources_check(
    urls: Annotated[list[str], Argument(metavar="URL...", help="Addresses or hosts.")],
    as_json: AsJson = False,
    config: Config = None,
) -> int:
    """Show the tier and kind of addresses, the entry that decides, and the reason.

    assay sources check https://www.reuters.com/world/
    """
    rules = load_settings(config).rules(ScorePageRules)
    found = [_described(_address(text), rules) for text in urls]
    if as_json:
        for described in found:
            say_json(described)
        return 0
    rows = [(a["url"], str(a["tier"]), a["kind"] or "-", a["entry"] or "-", _reason(a)) for a in found]
    print_rows(("address", "tier", "kind", "entry", "reason"), rows)
    return 0


def _address(text: str) -> str:
    url = without_user(text.strip() if "://" in text else f"https://{text.strip()}")
    if not host_of(url):
        raise BadParameter(f"{url!r} has no host", param_hint="'URL...'")
    return url


def _described(url: str, rules: ScorePageRules) -> dict[str, Any]:
    lists = rules.compiled_sources
    source = source_at(url, None, "", lists)
    shipped = lists.listed.get(source.entry or "")
    entry = lists.own.get(source.entry or "") or shipped
    return {
        "url": url,
        **{name: getattr(source, name) for name in ("tier", "kind", "tags", "base_score", "entry")},
        "source": source.standing,
        "from": _origins(source, lists),
        "own": entry is not None and entry.own,
        "name": source.name or (shipped.name if shipped else ""),
        "country": shipped.country if shipped else "",
        "reason": source.reason,
        "because": source.because,
    }


def _origins(source: Source, lists: SourceRules) -> list[str]:
    """The lists that decided: public ones, a shipped file, the user's own entries, or the suffixes."""
    if source.lists or not source.entry:
        return [*source.lists]
    if source.entry in lists.own:
        return ["own"]
    listed = lists.listed.get(source.entry)
    return [f"config/sources/{listed.kind}.yaml" if listed else "source_rules"]


def _reason(answer: dict[str, Any]) -> str:
    known = ": ".join(filter(None, (answer["name"], answer["reason"])))
    return known if known and answer["because"].endswith(")") else ": ".join(filter(None, (answer["because"], known)))


@sources.command("import")
def sources_import(
    file: Annotated[Path, Argument(help="CSV, TSV, JSON lines, or one domain a line.")],
    out: Annotated[
        Path | None, Option("--output", "-o", help="The YAML file; own_sources.yaml beside assay.yaml by default.")
    ] = None,
    kind: Annotated[str, Option(help="The kind of lines that state neither kind nor tier.")] = "",
    tier: Annotated[
        int | None, Option(min=1, max=3, help="The tier of lines that state neither kind nor tier.")
    ] = None,
    score_column: Annotated[str, Option(help="A column of ratings, which the two thresholds make kinds of.")] = "",
    listed_from: Annotated[
        float | None, Option(help="A rating from which a source is listed: --kind, else rated_reliable.")
    ] = None,
    contested_below: Annotated[float | None, Option(help="A rating below which a source is contested.")] = None,
    dry_run: Annotated[bool, Option("--dry-run", help="Show changes of tier and counts; write nothing.")] = False,
    as_json: AsJson = False,
    config: Config = None,
) -> int:
    """Import your own sources: domain[,kind or tier][,reason]. They take precedence over the shipped lists.

    assay sources import press.csv --kind newspaper --dry-run
    """
    settings = load_settings(config)
    kinds = settings.sources.kinds
    if kind and kind not in kinds:
        raise BadParameter(f"{kind!r} is not a kind; there are {', '.join(kinds)}", param_hint="'--kind'")
    target = out or user_file(OWN_SOURCES)
    if target is None:
        message = "the installed configuration must not be changed: name a file, or set ASSAY_CONFIG_DIR"
        raise BadParameter(message, param_hint="'--output'")
    before = _own_entries(target)
    try:
        text = file.read_text("utf-8-sig")
    except UnicodeDecodeError as error:
        return tell("sources import", f"{file}: not UTF-8 ({error.reason})", 1)
    ratings = None
    if score_column:
        if tier is not None:
            raise BadParameter("the kind that a rating makes has its own tier", param_hint="'--tier'")
        if listed_from is None or contested_below is None or listed_from < contested_below:
            message = "needs --listed-from and --contested-below, the first not below the second"
            raise BadParameter(message, param_hint="'--score-column'")
        ratings = _Ratings(score_column.lower(), listed_from, contested_below, kind or "rated_reliable", file.name)
    found = _Import(kinds, {"kind": kind, "tier": tier}, ratings)
    found.read(text, file.suffix.lower())
    for message in (*found.notes, *found.problems):
        tell("sources import", f"{file}:{message}")
    if found.problems:
        return 1
    if not found.entries:
        return tell("sources import", f"{file}: no entries", 1)
    if not dry_run:
        own = {"sources": {"own": before | found.entries}}
        written = yaml.safe_dump(own, allow_unicode=True, width=10_000, default_flow_style=None)
        part = target.with_name(f"{target.name}.part")
        part.write_text(_HEAD + written, "utf-8")
        os.replace(part, target)
    return _print_import(found.entries, before, settings, target, dry_run=dry_run, as_json=as_json)


class _LineError(ValueError):
    """A line cannot be used; the message says why."""


class _Ratings(NamedTuple):
    """A column of ratings, and the kinds of sources by its value; between the thresholds they are disputed."""

    column: str
    listed_from: float
    contested_below: float
    kind: str
    file: str

    def entry(self, row: Mapping[str, Any]) -> dict[str, Any] | None:
        row = {name.lower(): value for name, value in row.items()}
        if self.column not in row:
            raise _LineError(f"there is no column {self.column}; there are {', '.join(row)}")
        if (stated := row[self.column]) in (None, ""):
            return None
        try:
            rating = float(stated)
        except (TypeError, ValueError):
            rating = math.nan
        if not math.isfinite(rating):
            raise _LineError(f"{stated!r} in the column {self.column} is no number")
        kind = self.kind if rating >= self.listed_from else DISPUTED
        kind = CONTESTED if rating < self.contested_below else kind
        return {"domain": row.get("domain"), "kind": kind, "reason": f"{self.column} {rating:g} in {self.file}"}


class _Import:
    """The entries of a file by domain, and what is reported of its lines, with their numbers."""

    def __init__(
        self, kinds: Mapping[str, KindSection], default: Mapping[str, Any], ratings: _Ratings | None = None
    ) -> None:
        self._ratings = ratings
        self._kinds = kinds
        self._default = default
        self._lines: dict[str, int] = {}
        self.entries: Entries = {}
        self.problems: list[str] = []
        self.notes: list[str] = []

    def read(self, text: str, suffix: str) -> None:
        lines = [(number, line) for number, line in enumerate(text.split("\n"), 1) if line.strip() and line[0] != "#"]
        first = lines[0][1] if lines else ""
        is_json = suffix in {".jsonl", ".ndjson"} or first.lstrip().startswith("{")
        delimiter = "\t" if suffix == ".tsv" or "\t" in first else ","
        columns: list[str] = []
        for number, line in lines:
            try:
                if is_json:
                    row = _json_object(line)
                else:
                    cells = [cell.strip() for cell in next(csv.reader([line], delimiter=delimiter))]
                    names = [cell.lower() for cell in cells]
                    if line is first and (named := [name for name in names if name in _DOMAIN_COLUMNS]):
                        columns = ["domain" if name == named[0] else name for name in names]
                        used = (*_KEYS, self._ratings.column if self._ratings else "")
                        if left := [column for column in columns if column not in used]:
                            self.notes.append(f"{number}: columns left out: {', '.join(left)}")
                        continue
                    row = dict(zip(columns, cells, strict=False)) if columns else _row_without_names(cells)
                entry = self._ratings.entry(row) if self._ratings else row
                if entry is None:
                    self.notes.append(f"{number}: no rating")
                else:
                    self._add(number, *self._entry(entry))
            except (_LineError, csv.Error) as error:
                self.problems.append(f"{number}: {error}")

    def _entry(self, row: dict[str, Any]) -> tuple[str, dict[str, Any]]:
        domain = _domain(str(row.get("domain") or ""))
        kind, tier = str(row.get("kind") or "").strip(), row.get("tier")
        if not kind and not tier:
            kind, tier = self._default["kind"], self._default["tier"]
        if not kind and not tier:
            raise _LineError(f"{domain} has neither a kind nor a tier; --kind or --tier gives one to all such lines")
        if kind and kind not in self._kinds:
            raise _LineError(f"{kind!r} is not a kind; there are {', '.join(self._kinds)}")
        if tier:
            if (stated := _TIER.fullmatch(str(tier).lower())) is None:
                raise _LineError(f"{tier!r} is not a tier; there are 1, 2 and 3")
            tier = int(stated[1])
        if is_public_suffix(domain) and (tier or self._kinds[kind].tier) < 3:
            raise _LineError(f"{domain} is a public suffix: anyone registers below it, so it can only be in tier 3")
        reason = str(row.get("reason") or "").strip()
        if hidden := unshown().search(reason):
            raise _LineError(f"the reason has U+{ord(hidden[0]):04X}, a control or invisible character")
        entry = {"kind": kind, "tier": tier, "reason": reason}
        return domain, {key: value for key, value in entry.items() if value}

    def _add(self, number: int, domain: str, entry: dict[str, Any]) -> None:
        if (line := self._lines.setdefault(domain, number)) == number:
            self.entries[domain] = entry
        elif entry == self.entries[domain]:
            self.notes.append(f"{number}: {domain} is on line {line} already")
        else:
            raise _LineError(f"{domain} is on line {line} already, with another entry")


def _json_object(line: str) -> dict[str, Any]:
    try:
        row = json.loads(line)
    except (ValueError, RecursionError) as error:
        raise _LineError(f"not JSON: {error}") from None
    if not isinstance(row, dict):
        raise _LineError("not a JSON object")
    return row


def _row_without_names(cells: list[str]) -> dict[str, Any]:
    if len(cells) > 3:
        raise _LineError(f"{len(cells)} columns; there are domain, kind or tier, reason")
    domain, decides, reason = (*cells, "", "")[:3]
    return {"domain": domain, "tier" if _TIER.fullmatch(decides.lower()) else "kind": decides, "reason": reason}


def _domain(text: str) -> str:
    """The domain of a cell: an address means its host, and ``www.`` the domain without it."""
    domain = host_of(text) if "://" in text else listed_name(text)
    if len(domain) > 253 or _DOMAIN.fullmatch(domain) is None:
        raise _LineError(f"{text.rpartition('@')[2]!r} is not a domain")
    bare = domain.removeprefix("www.")
    return domain if "." not in bare or is_public_suffix(bare) else bare


def _change_in_words(change: Mapping[str, Any]) -> str:
    before = ": ".join(filter(None, (change["before"], ", ".join(change["lists"]))))
    return f"{change['domain']}: tier {change['from']} becomes {change['to']}, now {change['now']} (before {before})"


def _own_entries(out: Path) -> Entries:
    """The entries that the YAML file has. Raises SettingsError if it has other keys than ``sources.own``."""
    if not out.exists():
        return {}
    sources = (document := read_yaml(out)).get("sources", {})
    own = sources.get("own", {}) if isinstance(sources, dict) else None
    if document.keys() - {"sources"} or not isinstance(own, dict) or sources.keys() - {"own"}:
        raise SettingsError(f"{out}: has other keys than sources.own, which an import would lose; name another file")
    return own


def _print_import(
    entries: Entries, before: Entries, settings: Settings, out: Path, *, dry_run: bool, as_json: bool
) -> int:
    rules = settings.rules(ScorePageRules).compiled_sources
    changed = []
    for domain, entry in entries.items():
        now = source_at(f"https://{domain}/", None, "", rules)
        tier = entry.get("tier") or settings.sources.kinds[entry["kind"]].tier
        listing = {CONTESTED: "contested", DISPUTED: "unlisted"}.get(entry.get("kind", ""), "listed")
        if (now.tier, now.standing) != (tier, listing):
            was = {"before": now.standing, "now": listing, "lists": _origins(now, rules)}
            changed.append({"domain": domain, "from": now.tier, "to": tier} | was)
    tiers = [{key: row[key] for key in ("domain", "from", "to")} for row in changed if row["from"] != row["to"]]
    counts = {
        "new": len(entries.keys() - before.keys()),
        "replaced": sum(before[domain] != entry for domain, entry in entries.items() if domain in before),
        "unchanged": sum(before.get(domain) == entry for domain, entry in entries.items()),
    }
    if dry_run:
        use = "nothing was written"
    elif out.resolve() == (config_dir() / OWN_SOURCES).resolve():
        use = f"Assay reads {out} when it starts: restart running workers"
    else:
        use = f"use it with --config {out}, or as {OWN_SOURCES} in the directory ASSAY_CONFIG_DIR"
    document = {
        "out": str(out),
        "written": not dry_run,
        **counts,
        "tiers_changed": tiers,
        "sources_changed": changed,
        "use": use,
    }
    lines = [_change_in_words(change) for change in changed[:_SHOWN]]
    if len(changed) > _SHOWN:
        lines.append(f"and {len(changed) - _SHOWN} more with another tier (--json lists all)")
    numbers = ", ".join(f"{number} {name}" for name, number in counts.items())
    done = f"{len(entries)} sources {'would be written' if dry_run else 'written'} to {out}: {numbers}"
    return show(as_json, document, *lines, done, use)
