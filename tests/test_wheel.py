"""The built wheel in its own environment and without a checkout: uv installs it as pip does."""

import json
import os
import re
import subprocess
import sys
import sysconfig
import zipfile
from collections.abc import Callable
from importlib.metadata import version
from pathlib import Path
from urllib.request import urlopen

import pytest

from streams.cli.commands import COMMANDS
from streams.local_kafka.broker import free_port
from streams.local_kafka.install import cache_folder
from tests.samples import ROOT, run_assay, the_handler, variables_of_assay

pytestmark = [pytest.mark.slow, pytest.mark.timeout(900)]

UV = [sys.executable, "-m", "uv", "--quiet"]
"""It makes an environment and installs into it in a tenth of pip's time."""


def run(command: list[str | Path], folder: Path, text: str = "", **variables: str) -> str:
    """The output of a command that ends well."""
    done = ended(command, folder, text, **variables)
    assert done.returncode == 0, done.stdout + done.stderr
    return done.stdout


def ended(
    command: list[str | Path], folder: Path, text: str = "", **variables: str
) -> subprocess.CompletedProcess[str]:
    """How a command ended in a separate folder, without the variables of the tests."""
    environment = {"PATH": os.defpath, "HOME": str(Path.home()), "ASSAY_CACHE_DIR": str(cache_folder())} | variables
    if mirror := os.environ.get("PIP_INDEX_URL"):
        environment["UV_DEFAULT_INDEX"] = mirror
    for name in ("UV_DEFAULT_INDEX", "UV_CACHE_DIR", "UV_CONFIG_FILE", "SSL_CERT_FILE", "HTTPS_PROXY", "NO_PROXY"):
        if name in os.environ:
            environment[name] = os.environ[name]
    return subprocess.run(command, cwd=folder, env=environment, input=text, capture_output=True, text=True, check=False)


@pytest.fixture(scope="module")
def wheel(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return built(ROOT, tmp_path_factory.mktemp("wheel"))


def built(source: Path, folder: Path) -> Path:
    run([*UV, "build", "--wheel", "--out-dir", folder, source], folder)
    [wheel] = folder.glob("*.whl")
    return wheel


@pytest.fixture(scope="module")
def assay(wheel: Path, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The command ``assay`` of the wheel, in an environment of its own that sees the packages of this one."""
    folder = installed([wheel, "--no-deps"], tmp_path_factory.mktemp("everything"))
    [packages] = folder.glob("lib/*/site-packages")
    # Its editable installation of the checkout is not seen: that takes a file that only this environment reads.
    (packages / "others.pth").write_text(sysconfig.get_path("purelib"), "utf-8")
    return folder / "bin" / "assay"


@pytest.fixture(scope="module")
def base(wheel: Path, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A fresh environment with nothing but the wheel and what it requires."""
    return installed([wheel, "--constraint", ROOT / "constraints.txt"], tmp_path_factory.mktemp("base"))


def installed(arguments: list[str | Path], folder: Path) -> Path:
    run([*UV, "venv", folder, "--python", sys.executable], folder)
    run([*UV, "pip", "install", "--python", folder, *arguments], folder)
    return folder


def test_wheel_holds_the_packages_and_the_configuration_only(wheel: Path) -> None:
    names = zipfile.ZipFile(wheel).namelist()
    assert {name.split("/")[0] for name in names} == {"assay", f"assay-{version('assay')}.dist-info"}
    assert {name for name in names if name.endswith("/py.typed")} == {
        "assay/py.typed", "assay/schemas/py.typed", "assay/handlers/py.typed", "assay/streams/py.typed",
    }  # fmt: skip
    shipped = {path.relative_to(ROOT / "config").as_posix() for path in (ROOT / "config").rglob("*") if path.is_file()}
    prefix = "assay/config/"
    assert {name.removeprefix(prefix) for name in names if name.startswith(prefix)} == shipped
    sources = {"assay/" + path.as_posix() for path in sources_of("handlers", "schemas", "streams")}
    assert sources | {path.as_posix() for path in sources_of("assay")} <= set(names)
    assert not [name for name in names if re.search(r"(^|/)(tests?|__pycache__|\.assay)(/|$)", name)]


def sources_of(*packages: str) -> list[Path]:
    return [path.relative_to(ROOT) for package in packages for path in (ROOT / package).rglob("*.py")]


def test_sdist_builds_the_same_wheel(wheel: Path, tmp_path: Path) -> None:
    build = "from hatchling.build import build_sdist; print(build_sdist(OUT))".replace("OUT", repr(str(tmp_path)))
    subprocess.run([sys.executable, "-c", build], cwd=ROOT, check=True, capture_output=True)
    [sdist] = tmp_path.glob("*.tar.gz")
    wheels = (wheel, built(sdist, tmp_path))
    contents = [{(file.filename, file.CRC) for file in zipfile.ZipFile(one).infolist()} for one in wheels]
    assert {name for name, _ in contents[0] ^ contents[1]} == set()


def test_base_install_works_beside_packages_of_the_same_names(base: Path, tmp_path: Path) -> None:
    for name in ("handlers", "schemas", "streams", "config"):
        (tmp_path / name).mkdir()
        (tmp_path / name / "__init__.py").write_text("mine = True\n", "utf-8")
    program = tmp_path / "program.py"
    program.write_text(
        "import handlers, schemas, streams, config, sys, json\n"
        "import assay\n"
        "page = assay.score('<p>A text of one small page', url='https://a.example/')\n"
        "results = [{'url': 'https://a.example/', 'title': 'a', 'content': 'b'}]\n"
        "assert not assay.evaluate(results, query='a').passed\n"
        "assert assay.claim('He won.').score < 0.5\n"
        "try:\n    assay.rank('a', results)\nexcept ModuleNotFoundError as error:\n    missing = str(error)\n"
        "mine = all(module.mine for module in (handlers, schemas, streams, config))\n"
        "small = {'url': 'https://a.example/', 'html': '<p>A text of one small page'}\n"
        "many = [one.cts_score for one in assay.score_many([small] * 3)]\n"
        "print(json.dumps([page.cts_score, missing, mine, many]))\n",
        "utf-8",
    )
    printed = run([base / "bin" / "python", program], tmp_path)
    score, missing, mine, many = json.loads(printed)
    assert (score, mine, many) == (10, True, [10, 10, 10])
    assert re.fullmatch(r"numpy is not installed: pip install 'assay\[rank\] @ file:///.+\.whl'", missing)


def test_the_base_install_is_small(base: Path) -> None:
    [packages] = base.glob("lib/*/site-packages")
    assert sum(path.stat().st_size for path in packages.rglob("*") if path.is_file()) < 60_000_000
    assert not {path.name for path in packages.iterdir()} & {"numpy", "aiokafka", "openai"}


def test_a_missing_extra_is_named(base: Path, tmp_path: Path) -> None:
    """With the command that adds it to this very installation."""
    done = ended([base / "bin" / "assay", "run"], tmp_path)
    assert (done.returncode, done.stdout) == (1, "")
    assert re.fullmatch(
        r"assay: aiokafka is not installed: pip install 'assay\[kafka,index,rank\] @ file:.+\.whl'\n", done.stderr
    )


def test_every_command_has_its_help_without_extras(base: Path, tmp_path: Path) -> None:
    names = [
        f"{command} {name}"
        for command, text in helps(base, [*COMMANDS], tmp_path).items()
        for name in re.findall(r"^  (\w+) ", text.partition("\nCommands:\n")[2].partition("\n\n")[0], re.MULTILINE)
    ]
    assert "sources check" in names
    helps(base, names, tmp_path)


def helps(base: Path, commands: list[str], folder: Path) -> dict[str, str]:
    """The help of each command, all of one process."""
    end = "=== end of help"
    program = (
        "import sys\nfrom assay.streams.cli.commands import run_command_line\n"
        f"for words in sys.argv[1:]:\n    assert not run_command_line([*words.split(), '--help'])\n    print('{end}')\n"
    )
    shown = run([base / "bin" / "python", "-c", program, *commands], folder).split(f"{end}\n")[:-1]
    found = dict(zip(commands, shown, strict=True))
    assert [words for words, text in found.items() if f"Usage: assay {words}" not in text] == []
    return found


PAGE = "https://news.example.org/harbour"
USES: tuple[tuple[str, str], ...] = (
    ("init --country dk", "assay.local.yaml is written"),
    ("sources check www.bbc.com", "broadcaster"),
    ("config show", "kafka.bootstrap_servers"),
    ("generate --graph", "score_page"),
    ("generate --prometheus made", "written: made/alerts.yml"),
    ("estimate", "by tier"),
    ("try score_page pages.jsonl", '"outcome":"emit"'),
    ("score pages.jsonl --table", "label LOW"),
    ("broker --detach --port PORT", "Kafka answers at"),
    ("doctor", "Kafka"),
    ("topics create", "pages.crawled.v1"),
    ("publish pages.crawled.v1 pages.jsonl", "published 1 to"),
    ("run --drain score_page index_page", ""),
    ("tail pages.scored.v1 --from earliest --no-follow", f"{PAGE} score 10, tier C, label LOW"),
    (f"why {PAGE}", "score_page: score 10, tier C, label LOW"),
    ("stats", "pages.scored.v1: 1 events"),
    ("export tsv", f"{PAGE}\t"),
    ("query harbour", "Harbour"),
    ("answer harbour", "[1]"),
    ("lag score_page", "score_page"),
    ("top --once", "score_page"),
    ("dlq list", "no dead letters are waiting"),
    ("replay score_page --dry-run", "1 record"),
    ("why 0123 --reply", "assay why: "),
    ("train --output model", "assay train: "),
    ("mcp", '"is_claim_self_contained"'),
    ("broker --stop --port PORT", "was stopped"),
)
FAIL = {"why 0123 --reply": 1, "train --output model": 2}
"""There is nothing to show or to learn from."""


def test_one_use_of_every_command(assay: Path, tmp_path: Path) -> None:
    assert {words.split()[0] for words, _ in USES} | {"console", "demo"} == {*COMMANDS}
    port, http = str(free_port()), str(free_port())
    html = "<title>Harbour</title><p>The dredging of the harbour begins on Monday, the harbour office said."
    (tmp_path / "pages.jsonl").write_text(json.dumps({"url": PAGE, "html": html}) + "\n", "utf-8")
    variables = {"ASSAY_KAFKA__BOOTSTRAP_SERVERS": f"127.0.0.1:{port}", "ASSAY_HTTP__PORT": http}
    asked: list[dict[str, object]] = [
        {"id": 1, "method": "initialize", "params": {
            "protocolVersion": "2025-06-18", "capabilities": {}, "clientInfo": {"name": "test", "version": "1"}}},
        {"method": "notifications/initialized"},
        {"id": 2, "method": "tools/list"},
    ]  # fmt: skip
    requests = "".join(json.dumps({"jsonrpc": "2.0"} | request) + "\n" for request in asked)
    try:
        for words, expected in USES:
            command: list[str | Path] = [assay, *words.replace("PORT", port).split()]
            done = ended(command, tmp_path, requests if words == "mcp" else "", **variables)
            shown = done.stdout + done.stderr
            assert (done.returncode, expected in shown) == (FAIL.get(words, 0), True), f"{words}: {shown}"
            if words.startswith("top "):
                shows_the_console(assay, tmp_path, variables)
    finally:
        ended([assay, "broker", "--stop", "--port", port], tmp_path)


def shows_the_console(assay: Path, folder: Path, variables: dict[str, str]) -> None:
    environment = {"PATH": os.defpath, "HOME": str(folder)} | variables
    command = [str(assay), "console", "--port", "0"]
    with subprocess.Popen(command, cwd=folder, env=environment, stderr=subprocess.PIPE, text=True) as console:
        assert console.stderr is not None
        line = next(line for line in console.stderr if line.startswith("assay console: http"))
        with urlopen(line.split()[2].rstrip(";")) as answer:  # noqa: S310 - our own address
            assert b"Assay" in answer.read()
        console.terminate()
    assert console.returncode == 0


def test_files_are_generated_for_the_settings_in_force(assay: Path, tmp_path: Path) -> None:
    """From templates beside the code; the files of a checkout are refused without a checkout."""
    run([assay, "generate", "--kubernetes", tmp_path / "made"], tmp_path)
    assert (tmp_path / "made/base/kustomization.yaml").is_file()
    done = ended([assay, "generate", "--check"], tmp_path)
    assert (done.returncode, "works on a checkout of Assay" in done.stderr) == (2, True)


@pytest.fixture
def checkout(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]) -> Callable[..., str]:
    """The output of a command of the checkout, which is called in this process, in the folder of the test."""
    monkeypatch.chdir(tmp_path)
    for name in variables_of_assay():
        monkeypatch.delenv(name)

    def call(*words: str) -> str:
        assert run_assay(*words) == 0
        return capsys.readouterr().out

    return call


def test_the_configuration_is_that_of_the_checkout(assay: Path, tmp_path: Path, checkout: Callable[..., str]) -> None:
    words = ("config", "show", "--json")
    shown = (run([assay, *words], tmp_path), checkout(*words))
    ours, theirs = ({key: entry["value"] for key, entry in json.loads(document).items()} for document in shown)
    assert ours == theirs
    assert len(ours) > 1000


@pytest.mark.parametrize("name", ["score_page", "classify_results", "judge_relevance", "rank_results"])
def test_a_handler_decides_as_that_of_the_checkout(
    assay: Path, tmp_path: Path, name: str, checkout: Callable[..., str]
) -> None:
    """They read patterns, prompts and trained trees, which are files beside the code."""
    handler = the_handler(name)
    examples = sorted((ROOT / "schemas" / "examples" / handler.consumes.name).glob("*.json"))
    lines = "".join(json.dumps(json.loads(file.read_text("utf-8"))) + "\n" for file in examples)
    (tmp_path / "lines.jsonl").write_text(lines, "utf-8")
    words = ("try", name, "lines.jsonl")
    answers = run([assay, *words], tmp_path)
    # Where an event does not say when it was asked, this is now.
    asked = re.compile(r'"requested_?[aA]t": ?"[^"]*"')
    assert asked.sub("", answers) == asked.sub("", checkout(*words))
    outcomes = {json.loads(answer)["outcome"] for answer in answers.splitlines()}
    assert "emit" in outcomes
    assert "dead" not in outcomes


def test_demo_does_the_whole_job_and_leaves_no_files(assay: Path, tmp_path: Path) -> None:
    figures = json.loads(run([assay, "demo", "--once", "--json"], tmp_path).splitlines()[-1])
    assert figures["events"]["ranking.completed.v1"] > 0
    assert figures["dead_letters"] == 1
    assert list(tmp_path.iterdir()) == []
