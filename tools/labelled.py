"""Labelled pages on this machine, for measurements: folders of ``cases.jsonl`` and gzipped HTML below ``DATA``."""

import gzip
import hashlib
import json
import os
from collections.abc import Iterator, Mapping
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import yaml

ABOUT = Path(__file__).parent / "training" / "about.yaml"
DATA = Path(os.environ.get("DATA", "../shared/data"))


def has(name: str) -> bool:
    return (DATA / name).is_dir()


def cases(name: str) -> Iterator[dict[str, Any]]:
    """The cases of a set, in order."""
    plain = DATA / name / "cases.jsonl"
    yield from rows(plain if plain.exists() else plain.with_suffix(".jsonl.gz"))


def rows(path: Path) -> Iterator[dict[str, Any]]:
    """The objects of a file that has one in each line."""
    data = path.read_bytes()
    lines = gzip.decompress(data) if path.suffix == ".gz" else data
    yield from (json.loads(line) for line in lines.splitlines() if line.strip())


def body(name: str, case: Mapping[str, Any]) -> bytes:
    data = (DATA / name / case["file"]).read_bytes()
    return gzip.decompress(data) if case["file"].endswith(".gz") else data


def address(case: Mapping[str, Any]) -> str:
    """The case's URL, or a placeholder."""
    return str(case.get("url") or f"https://case.invalid/{case['id']}")


def fold(key: str, folds: int = 2) -> int:
    """The fold of a site or a written line, always the same: what is asked there is not learned from it."""
    return hashlib.sha256(key.encode("utf-8", "replace")).digest()[0] % folds


def pages() -> Iterator[tuple[str, dict[str, Any]]]:
    """All pages of all sets, each with the name of its set."""
    for folder in sorted(DATA.iterdir()) if DATA.is_dir() else ():
        if (folder / "pages").is_dir():
            yield from ((folder.name, case) for case in cases(folder.name) if case.get("file"))


def about(name: str, dated: bool = True, **values: object) -> str:
    """What a file of weights states about itself, with the day."""
    text = yaml.safe_load(ABOUT.read_text("utf-8"))[name].format(**values)
    return f"{text} {datetime.now(UTC):%Y-%m-%d}." if dated else text


def store(path: Path, section: Mapping[str, Any], indent: int | None = 0) -> None:
    """Writes what was learned from the pages."""
    path.write_text(json.dumps(section, ensure_ascii=False, indent=indent) + "\n", "utf-8")
    print(f"{path.name}: {path.stat().st_size} bytes")


def skipped() -> None:
    print(f"skipped: no labelled pages below {DATA}; set DATA to where they are")
