"""The environments of other tools have what ``score_page`` imports."""

import re
import subprocess
import sys
from importlib.metadata import packages_distributions
from pathlib import Path

import pytest

ROOT = Path(__file__).parent.parent.parent
_LOADED = "import sys, handlers.score_page; print(*{name.partition('.')[0] for name in sys.modules})"


def names_in(text: str, pattern: str) -> set[str]:
    return {name.lower().replace("_", "-") for name in re.findall(pattern, text, re.MULTILINE)}


@pytest.mark.parametrize("tool", ["quix", "resiliparse"])
def test_what_score_page_imports_is_required(tool: str) -> None:
    loaded = subprocess.run(
        [sys.executable, "-c", _LOADED], cwd=ROOT, check=True, capture_output=True, text=True
    ).stdout
    distributions = packages_distributions()
    used = {name.lower().replace("_", "-") for module in loaded.split() for name in distributions.get(module, ())}
    ours = names_in((ROOT / "pyproject.toml").read_text("utf-8"), r'^  "([\w-]+)[>=~]')
    required = names_in((ROOT / "tools/bench" / f"{tool}-requirements.txt").read_text("utf-8"), r"^([\w-]+)==")
    assert "selectolax" in used & ours
    # pydantic brings typing-extensions.
    assert (used & ours) - required - {"typing-extensions"} == set()
