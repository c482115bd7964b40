"""The packages of the repository in the wheel, below ``assay``."""

import re
import subprocess
import sys
import zipfile
from pathlib import Path

from tests.samples import ROOT


def test_every_file_of_the_wheel_compiles_below_one_name(tmp_path: Path) -> None:
    build = f"from hatchling.build import build_wheel; build_wheel({str(tmp_path)!r})"
    subprocess.run([sys.executable, "-c", build], cwd=ROOT, check=True, capture_output=True)
    [built] = tmp_path.glob("*.whl")
    with zipfile.ZipFile(built) as wheel:
        sources = {name: wheel.read(name).decode() for name in wheel.namelist() if name.endswith(".py")}
    assert len(sources) > 300
    for name, source in sources.items():
        compile(source, name, "exec")
        assert not re.search(r"(^\s*|[\"'])(from|import) (handlers|schemas|streams)\b", source, re.MULTILINE), name
