"""The limits that docs/security.md names are the defaults."""

import re
from importlib import import_module
from operator import attrgetter

import pytest

from streams.settings.model import load_settings
from tests.samples import ROOT

LIMITS = re.findall(
    r"^\| [^|]+ \| `([\w.]+)` \| ([^|]+) \|$",
    (ROOT / "docs" / "security.md").read_text("utf-8").partition("## Limits")[2].partition("\n## ")[0],
    re.MULTILINE,
)


def test_every_limit_is_the_one_in_force(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv("ASSAY_KAFKA__BOOTSTRAP_SERVERS", raising=False)
    settings = load_settings()
    in_force, written = {}, {name: None if of == "none" else float(of.replace(",", "")) for name, of in LIMITS}
    for name in written:
        module, _, constant = name.rpartition(".")
        in_force[name] = getattr(import_module(module), constant) if constant.isupper() else attrgetter(name)(settings)
    assert {"http.connections", "schemas.pages.MAX_PAGE_BYTES", "llm.budget_usd_per_day"} <= set(written)
    assert len(written) == len(LIMITS), "no name twice"
    assert in_force == written
