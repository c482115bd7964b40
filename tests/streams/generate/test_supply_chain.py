"""The packages of the image have versions and hashes, and base images have digests."""

import ast
import os
import re
import shutil
import subprocess
import tomllib
from collections.abc import Iterable
from importlib.metadata import packages_distributions
from pathlib import Path

import pytest
import yaml

from streams.runtime.extras import EXTRA_OF
from tests.samples import ROOT

LOCKS = ("requirements.lock", "requirements-build.lock")
EXTRAS = re.compile(r"^EXTRAS \?= (.+)$", re.MULTILINE)
RUNTIME_EXTRAS = EXTRAS.findall((ROOT / "Makefile").read_text("utf-8"))[0].split()
"""What the image has, so that a setting can switch it on."""
REQUIREMENT = re.compile(r"(?P<name>[A-Za-z0-9._-]+)==(?P<version>\S+)( \\\n    --hash=sha256:[0-9a-f]{64})+\n")
NAMED = re.compile(r"[A-Za-z0-9._-]+")


def normal(name: str) -> str:
    return re.sub(r"[-_.]+", "-", name).lower()


def locked(name: str) -> dict[str, str]:
    """Versions by package."""
    text = (ROOT / name).read_text("utf-8")
    found = list(REQUIREMENT.finditer(text))
    assert "".join(match[0] for match in found) == text, "a line without a hash, a URL or an option"
    return {normal(match["name"]): match["version"] for match in found}


def named(requirements: list[str]) -> set[str]:
    return {normal(match[0]) for requirement in requirements if (match := NAMED.match(requirement))}


@pytest.mark.parametrize("lock", LOCKS)
def test_locked_packages_have_hashes_and_tested_versions(lock: str) -> None:
    pins = [line.partition("==") for line in (ROOT / "constraints.txt").read_text("utf-8").splitlines()]
    tested = {normal(name): version for name, _, version in pins}
    versions = locked(lock)
    assert versions == {name: tested.get(name) for name in versions}, "run `make lock`"


def test_the_locks_cover_what_is_required() -> None:
    project = tomllib.loads((ROOT / "pyproject.toml").read_text("utf-8"))
    extras = project["project"]["optional-dependencies"]
    # What a setting of the shipped configuration switches on must be there when it is set.
    required = [*project["project"]["dependencies"], *(one for name in RUNTIME_EXTRAS for one in extras[name])]
    assert named(required) - {"assay"} <= set(locked("requirements.lock")), "run `make lock`"
    assert named(project["build-system"]["requires"]) <= set(locked("requirements-build.lock")), "run `make lock`"


def imported_modules() -> set[str]:
    """The top-level modules that our packages import, wherever in a file."""
    paths = (path for package in ("assay", "schemas", "handlers", "streams") for path in (ROOT / package).rglob("*.py"))
    nodes = [node for path in paths for node in ast.walk(ast.parse(path.read_text("utf-8")))]
    plain = {alias.name for node in nodes if isinstance(node, ast.Import) for alias in node.names}
    sources = {node.module or "" for node in nodes if isinstance(node, ast.ImportFrom)}
    return {name.partition(".")[0] for name in plain | sources}


def never_imported(requirements: list[str], modules: Iterable[str]) -> set[str]:
    """The required distributions that provide none of the modules."""
    providers = packages_distributions()
    return named(requirements) - {normal(name) for module in modules for name in providers.get(module, ())}


@pytest.mark.slow
def test_each_declared_distribution_is_imported() -> None:
    project = tomllib.loads((ROOT / "pyproject.toml").read_text("utf-8"))["project"]
    required = [
        *project["dependencies"],
        *(one for name in RUNTIME_EXTRAS for one in project["optional-dependencies"][name]),
    ]
    modules = imported_modules()
    # Starlette imports the one, and the other is this package with an extra.
    assert never_imported(required, modules) == {"python-multipart", "assay"}, "import it, or do not declare it"
    assert never_imported(["pytest>=8.3", "httpx>=0.28"], modules) == {"pytest"}


def test_the_extras_of_missing_modules_install_them() -> None:
    extras = tomllib.loads((ROOT / "pyproject.toml").read_text("utf-8"))["project"]["optional-dependencies"]
    providers = packages_distributions()
    for module, extra in EXTRA_OF.items():
        assert {normal(name) for name in providers[module]} & named(extras[extra]), module


def test_all_names_every_extra_of_the_product() -> None:
    extras = tomllib.loads((ROOT / "pyproject.toml").read_text("utf-8"))["project"]["optional-dependencies"]
    [all_of_them] = extras["all"]
    named_by_all = set(all_of_them.removeprefix("assay[").removesuffix("]").split(","))
    assert named_by_all == set(RUNTIME_EXTRAS) == extras.keys() - {"all", "local", "demo", "bench", "dev"}


def test_the_image_installs_nothing_without_a_hash() -> None:
    commands = re.findall(r"pip (?:install|wheel) .*?(?= \\\n|\n)", (ROOT / "Dockerfile").read_text("utf-8"))
    assert len(commands) == 4
    for command in commands:
        hashed = "--require-hashes --only-binary :all: --requirement requirements" in command
        # The project itself is built by a backend that is installed already, and installed from that file.
        assert hashed or ("--no-deps" in command and ("--no-build-isolation" in command or "--no-index" in command))


# --- digests of images -----------------------------------------------------------------------------------------------

ENGINE = """\
#!/bin/sh
# Stands in for the client of a container engine: a digest that is made of the image's name.
echo "$*" >> "$0.log"
case "$1" in
  version) exit "$ENGINE_STATUS" ;;
  pull)
    echo "Pulling $2"
    echo "Digest: sha256:$(printf %s "$2$ROUND" | sha256sum | cut -d' ' -f1)"
    echo "Status: done" ;;
esac
"""


class Checkout:
    """A copy of what `make pin-images` reads and writes, and a fake client of the engine."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder
        for name in ("Makefile", "Dockerfile", "docker-compose.yml"):
            shutil.copy(ROOT / name, folder)
        self.engine = folder / "bin" / "docker"
        self.engine.parent.mkdir()
        self.engine.write_text(ENGINE)
        self.engine.chmod(0o755)

    def pin(self, status: int = 0, moved: str = "") -> subprocess.CompletedProcess[str]:
        path = f"{self.engine.parent}:{os.environ['PATH']}"
        environment = {"PATH": path, "ENGINE_STATUS": str(status), "ROUND": moved}
        return subprocess.run(
            ["make", "pin-images"], cwd=self.folder, env=environment, capture_output=True, text=True, check=False
        )

    def images(self) -> dict[str, str]:
        """Digests by name and tag, of every place where an image of others is named; "" for one without."""
        text = "".join((self.folder / name).read_text("utf-8") for name in ("Dockerfile", "docker-compose.yml"))
        found = re.findall(r"_IMAGE(?::-|=)([^\s@}]+:[^\s@}]+)(?:@(sha256:[0-9a-f]{64}))?(?:\}|$)", text, re.MULTILINE)
        digests: dict[str, set[str]] = {}
        for image, digest in found:
            digests.setdefault(image, set()).add(digest)
        assert all(len(several) == 1 for several in digests.values()), "one image, one digest"
        return {image: digest for image, [digest] in digests.items()}


@pytest.fixture
def checkout(tmp_path: Path) -> Checkout:
    return Checkout(tmp_path)


def test_pin_writes_digests_beside_the_tags_of_foreign_images(checkout: Checkout) -> None:
    before = checkout.images()
    done = checkout.pin()
    assert done.returncode == 0, done.stderr
    pinned = checkout.images()
    assert set(pinned) == set(before)
    assert {image for image, digest in pinned.items() if not digest} == {"assay:local"}
    assert done.stdout.splitlines() == sorted(f"{image}@{digest}" for image, digest in pinned.items() if digest)
    assert {"python:3.11-slim-bookworm", "apache/kafka:4.1.1"} <= set(pinned)
    yaml.safe_load((checkout.folder / "docker-compose.yml").read_text("utf-8"))
    assert {path.name for path in checkout.folder.iterdir()} == {"Makefile", "Dockerfile", "docker-compose.yml", "bin"}


def test_pinning_again_replaces_digests_and_changes_nothing_else(checkout: Checkout) -> None:
    assert checkout.pin().returncode == 0
    first, text = checkout.images(), (checkout.folder / "docker-compose.yml").read_text("utf-8")
    assert checkout.pin().returncode == 0
    assert (checkout.folder / "docker-compose.yml").read_text("utf-8") == text
    assert checkout.pin(moved="later").returncode == 0
    second = checkout.images()
    assert all(second[image] != digest for image, digest in first.items() if digest)
    pulled = checkout.engine.with_name("docker.log").read_text("utf-8")
    assert "@" not in pulled, "the tag is asked for, not the old digest"


def test_pin_without_an_engine_fails_and_writes_nothing(checkout: Checkout) -> None:
    before = (checkout.folder / "Dockerfile").read_text("utf-8")
    done = checkout.pin(status=1)
    assert done.returncode != 0
    assert "container engine" in done.stderr
    assert (checkout.folder / "Dockerfile").read_text("utf-8") == before


def test_an_engine_that_names_no_digest_is_an_error(checkout: Checkout) -> None:
    checkout.engine.write_text("#!/bin/sh\ntrue\n")
    done = checkout.pin()
    assert done.returncode != 0
    assert "the engine names no digest" in done.stderr
