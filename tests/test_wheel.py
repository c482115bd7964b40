"""The built wheel in its own environment and without a checkout: the result of ``pip install assay``."""

import json
import os
import re
import subprocess
import sys
import zipfile
from importlib.metadata import version
from pathlib import Path

import pytest

from streams.local_kafka.install import cache_folder
from tests.samples import ROOT, the_handler

pytestmark = [pytest.mark.slow, pytest.mark.timeout(900)]

CHECKOUT = [sys.executable, "-c", "from streams.cli.main import main; main()"]


def run(command: list[str | Path], folder: Path, text: str = "") -> str:
    """The output of a command in a separate folder, without the variables of the tests."""
    environment = {"PATH": os.defpath, "HOME": str(Path.home()), "ASSAY_CACHE_DIR": str(cache_folder())}
    for name in ("PIP_INDEX_URL", "PIP_CACHE_DIR", "PIP_CONFIG_FILE", "SSL_CERT_FILE", "HTTPS_PROXY", "NO_PROXY"):
        if name in os.environ:
            environment[name] = os.environ[name]
    done = subprocess.run(command, cwd=folder, env=environment, input=text, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stdout + done.stderr
    return done.stdout


@pytest.fixture(scope="module")
def wheel(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("wheel")
    run([sys.executable, "-m", "pip", "wheel", "--quiet", "--no-deps", "--wheel-dir", folder, ROOT], folder)
    [wheel] = folder.glob("*.whl")
    return wheel


@pytest.fixture(scope="module")
def assay(wheel: Path, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The command ``assay`` of a fresh environment."""
    folder = tmp_path_factory.mktemp("environment")
    run([sys.executable, "-m", "venv", folder], folder)
    pip: list[str | Path] = [
        folder / "bin" / "python",
        "-m",
        "pip",
        "install",
        "--quiet",
        "--disable-pip-version-check",
        "--no-compile",
    ]
    run([*pip, "--constraint", ROOT / "constraints.txt", f"{wheel}[local]"], folder)
    return folder / "bin" / "assay"


def test_wheel_holds_the_packages_and_the_configuration_only(wheel: Path) -> None:
    names = zipfile.ZipFile(wheel).namelist()
    assert {name.split("/")[0] for name in names} == {
        "schemas", "handlers", "streams", f"assay-{version('assay')}.dist-info",
    }  # fmt: skip
    assert {name.partition("/")[0] for name in names if name.endswith("/py.typed")} == {
        "schemas",
        "handlers",
        "streams",
    }
    shipped = {path.relative_to(ROOT / "config").as_posix() for path in (ROOT / "config").rglob("*") if path.is_file()}
    assert {name.partition("/_config/")[2] for name in names if "/_config/" in name} == shipped
    assert not [name for name in names if re.search(r"(^|/)(tests?|__pycache__|\.assay)(/|$)", name)]


def test_the_version_is_printed(assay: Path, tmp_path: Path) -> None:
    assert run([assay, "--version"], tmp_path) == f"{version('assay')}\n"


def test_the_configuration_is_that_of_the_checkout(assay: Path, tmp_path: Path) -> None:
    shown = [json.loads(run([*command, "config", "show", "--json"], tmp_path)) for command in ([assay], CHECKOUT)]
    ours, checkout = ({key: entry["value"] for key, entry in document.items()} for document in shown)
    assert ours == checkout
    assert len(ours) > 1000


@pytest.mark.parametrize("name", ["score_page", "classify_results", "judge_relevance", "rank_results"])
def test_a_handler_decides_as_that_of_the_checkout(assay: Path, tmp_path: Path, name: str) -> None:
    """They read patterns, prompts and trained trees, which are files beside the code."""
    handler = the_handler(name)
    examples = sorted((ROOT / "schemas" / "examples" / handler.consumes.name).glob("*.json"))
    lines = "".join(json.dumps(json.loads(file.read_text("utf-8"))) + "\n" for file in examples)
    answers = run([assay, "try", name], tmp_path, lines)
    assert answers == run([*CHECKOUT, "try", name], tmp_path, lines)
    outcomes = {json.loads(answer)["outcome"] for answer in answers.splitlines()}
    assert "emit" in outcomes
    assert "dead" not in outcomes


def test_demo_does_the_whole_job_and_leaves_no_files(assay: Path, tmp_path: Path) -> None:
    figures = json.loads(run([assay, "demo", "--once", "--json"], tmp_path).splitlines()[-1])
    assert figures["pages_scored"] == sum(figures["tiers"].values()) > 0
    assert figures["extractions_needed"] == figures["extractions_completed"] > 0
    assert figures["batches_evaluated"] == figures["batches_classified"] > 0
    assert figures["queries_answered"] > 0
    assert figures["dead_letters"] == 1
    assert list(tmp_path.iterdir()) == []
