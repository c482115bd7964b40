"""The packages of the repository in the wheel, below ``assay``."""

import json
import os
import re
import subprocess
import sys
import zipfile
from collections.abc import Iterator
from pathlib import Path

import pytest
import yaml

from tests.samples import EXAMPLES, ROOT, environment


def built(folder: Path, level: str = "") -> zipfile.ZipFile:
    build = f"from hatchling.build import build_wheel; build_wheel({str(folder)!r})"
    variables = os.environ | {"ASSAY_COMPILE": level}
    subprocess.run([sys.executable, "-c", build], cwd=ROOT, env=variables, check=True, capture_output=True)
    [wheel] = folder.glob("*.whl")
    return zipfile.ZipFile(wheel)


def test_every_file_of_the_wheel_compiles_below_one_name(tmp_path: Path) -> None:
    with built(tmp_path) as wheel:
        sources = {name: wheel.read(name).decode() for name in wheel.namelist() if name.endswith(".py")}
        assert not [name for name in wheel.namelist() if name.endswith(".so")]
    assert len(sources) > 300
    for name, source in sources.items():
        compile(source, name, "exec")
        assert not re.search(r"(^\s*|[\"'])(from|import) (handlers|schemas|streams)\b", source, re.MULTILINE), name


def texts_of(value: object) -> Iterator[str]:
    if isinstance(value, str):
        yield value
    elif isinstance(value, dict | list):
        for part in value.values() if isinstance(value, dict) else value:
            yield from texts_of(part)


@pytest.mark.slow
@pytest.mark.timeout(1800)
def test_compiled_modules_score_as_their_sources(tmp_path: Path) -> None:
    with built(tmp_path, level="0") as wheel:
        assert sum(name.startswith("assay/handlers/html/") and name.endswith(".so") for name in wheel.namelist()) > 10
        wheel.extractall(tmp_path)
    written = [file.read_text("utf-8").split("\n") for file in (ROOT / "tests" / "cases").glob("*.jsonl")]
    cases = [json.loads(line) for lines in written for line in lines if line.startswith("{")]
    cases += [yaml.safe_load(file.read_text("utf-8")) for file in (ROOT / "tests" / "handlers").rglob("*.yaml")]
    cases += [file.read_text("utf-8") for file in (ROOT / "streams" / "demo").rglob("*.html")]
    pages = sorted({text for text in texts_of(cases) if "<" in text})
    events = [{"url": f"https://site{n}.example/2024/a", "html": page} for n, page in enumerate(pages)]
    events += [json.loads(file.read_text("utf-8")) for file in sorted((EXAMPLES / "pages.crawled.v1").glob("*.json"))]
    given = "".join(json.dumps(event) + "\n" for event in events)
    answers = []
    for path, package in ((tmp_path, "assay.streams"), (ROOT, "streams")):
        command = [sys.executable, "-c", f"from {package}.cli.main import main; main()", "try", "score_page"]
        variables = environment(PYTHONPATH=str(path))
        done = subprocess.run(
            command, cwd=tmp_path, env=variables, input=given, capture_output=True, text=True, check=False
        )
        answers.append(done.stdout.splitlines())
    assert len(answers[0]) == len(events) > 500
    assert answers[0] == answers[1]
