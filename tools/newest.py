"""Runs the fast tests and the Kafka tests on the newest releases of all dependencies and of Apache Kafka.

The ranges in ``pyproject.toml`` permit releases that ``constraints.txt`` does not name yet. This tool installs the
newest of them in an environment of its own, and tests a copy of the committed files with the newest Kafka. What differs
from the tested versions is printed first.
"""

import hashlib
import re
import shutil
import subprocess
import sys
from pathlib import Path

from jgo.env import EnvironmentBuilder
from jgo.maven import MavenContext

ROOT = Path(__file__).parent.parent
FOLDER = ROOT / ".assay" / "newest"
COPY = FOLDER / "checkout"
PYTHON = FOLDER / "venv" / "bin" / "python"


def main() -> int:
    """Exit status 1 if a test fails."""
    shutil.rmtree(FOLDER, ignore_errors=True)
    COPY.mkdir(parents=True)
    archive = subprocess.check_output(["git", "archive", "HEAD"], cwd=ROOT)
    subprocess.run(["tar", "-x"], cwd=COPY, check=True, input=archive)
    print(f"Apache Kafka {use_newest_kafka()}")
    uv = [str(Path(sys.executable).with_name("uv"))]
    subprocess.run([*uv, "venv", "--quiet", str(PYTHON.parent.parent)], check=True)
    subprocess.run([*uv, "pip", "install", "--quiet", "--python", PYTHON, "--editable", ".[dev]"], cwd=COPY, check=True)
    freeze = [*uv, "pip", "freeze", "--quiet", "--exclude-editable", "--python", str(PYTHON)]
    installed = subprocess.check_output(freeze, text=True).splitlines()
    tested = (ROOT / "constraints.txt").read_text("utf-8").lower().replace("_", "-").splitlines()
    print(*(f"not tested: {package}" for package in installed if package not in tested), sep="\n")
    pytest = [str(PYTHON), "-m", "pytest", "-q", "-n", "auto", "--dist", "loadfile", "-m", "not slow"]
    return subprocess.run(pytest, cwd=COPY, check=False).returncode


def use_newest_kafka() -> str:
    """Names the newest release of Kafka and the checksums of its jars in the copy; returns the release."""
    install = COPY / "streams" / "local_kafka" / "install.py"
    source = install.read_text("utf-8")
    endpoint = "org.apache.kafka:kafka_2.13:RELEASE+org.slf4j:slf4j-simple:1.7.36"
    builder = EnvironmentBuilder(context=MavenContext(repo_cache=FOLDER / "maven"), cache_dir=FOLDER / "jars")
    jars = sorted(builder.from_endpoint(endpoint).all_jars)
    release = next(found[1] for jar in jars if (found := re.fullmatch(r"kafka_2\.13-(.+)\.jar", jar.name)))
    install.with_name("jars.sha256").write_text(
        "".join(f"{hashlib.sha256(jar.read_bytes()).hexdigest()}  {jar.name}\n" for jar in jars), "utf-8"
    )
    install.write_text(re.sub(r'(?m)^KAFKA_VERSION = ".+"$', f'KAFKA_VERSION = "{release}"', source), "utf-8")
    return release


if __name__ == "__main__":
    sys.exit(main())
