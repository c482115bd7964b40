"""The packages of the image have versions and hashes, and base images have digests."""

import ast
import re
import tomllib
from collections.abc import Iterable
from importlib.metadata import packages_distributions

import pytest

from streams.runtime.extras import EXTRA_OF
from tests.samples import ROOT

LOCKS = ("requirements.lock", "requirements-build.lock")
RUNTIME_EXTRAS = re.findall(r"(?m)^EXTRAS \?= (.+)$", (ROOT / "Makefile").read_text("utf-8"))[0].split()
"""What the image has, so that a setting can switch it on."""
PROJECT = tomllib.loads((ROOT / "pyproject.toml").read_text("utf-8"))
EXTRAS = PROJECT["project"]["optional-dependencies"]
ALWAYS = [*PROJECT["project"]["dependencies"], *(one for name in RUNTIME_EXTRAS for one in EXTRAS[name])]
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
    # What a setting of the shipped configuration switches on must be there when it is set.
    assert named(ALWAYS) - {"assay"} <= set(locked("requirements.lock")), "run `make lock`"
    assert named(PROJECT["build-system"]["requires"]) <= set(locked("requirements-build.lock")), "run `make lock`"


def imported_modules() -> set[str]:
    """The top-level modules that our packages import, wherever in a file."""
    paths = (path for package in ("assay", "schemas", "handlers", "streams") for path in (ROOT / package).rglob("*.py"))
    nodes = [node for path in paths for node in ast.walk(ast.parse(path.read_text("utf-8")))]
    plain = {alias.name for node in nodes if isinstance(node, ast.Import) for alias in node.names}
    sources = {node.module or "" for node in nodes if isinstance(node, ast.ImportFrom)}
    return {name.partition(".")[0] for name in plain | sources}


def providers(modules: Iterable[str]) -> dict[str, set[str]]:
    """The installed distributions that provide each module; none of the standard library."""
    known = packages_distributions()
    return {module: {normal(name) for name in known[module]} for module in modules if module in known}


def test_what_is_imported_is_declared_and_the_reverse() -> None:
    imported = providers(imported_modules())
    used = set().union(*imported.values())
    # Starlette imports the one, and the other is this package with an extra.
    assert named(ALWAYS) - used == {"python-multipart", "assay"}, "import it, or do not declare it"
    # What declared ones bring, as a part of their interface: starlette, mcp, pydantic and uvicorn.
    declared = named([*ALWAYS, *EXTRAS["local"]]) | {"anyio", "mcp-types", "pydantic-core", "h11"}
    assert {module: names for module, names in imported.items() if not names & declared} == {}, "declare it"


def test_the_extras_of_missing_modules_install_them() -> None:
    found = providers(EXTRA_OF)
    assert found.keys() == EXTRA_OF.keys()
    for module, names in found.items():
        assert names & named(EXTRAS[EXTRA_OF[module]]), module


def test_all_names_every_extra_of_the_product() -> None:
    [all_of_them] = EXTRAS["all"]
    named_by_all = set(all_of_them.removeprefix("assay[").removesuffix("]").split(","))
    assert named_by_all == set(RUNTIME_EXTRAS) == EXTRAS.keys() - {"all", "local", "demo", "bench", "dev"}


def test_the_image_installs_nothing_without_a_hash() -> None:
    commands = re.findall(r"pip (?:install|wheel) .*?(?= \\\n|\n)", (ROOT / "Dockerfile").read_text("utf-8"))
    assert len(commands) == 4
    for command in commands:
        hashed = "--require-hashes --only-binary :all: --requirement requirements" in command
        # The project itself is built by a backend that is installed already, and installed from that file.
        assert hashed or ("--no-deps" in command and ("--no-build-isolation" in command or "--no-index" in command))
