"""The blocks of docs/integrations.md print what the page says."""

from pathlib import Path

from tests.docs.test_python_blocks import printed, python_blocks
from tests.samples import ROOT


def test_every_block_prints_what_the_page_says(tmp_path: Path) -> None:
    blocks = python_blocks((ROOT / "docs" / "integrations.md").read_text("utf-8"))
    assert len(blocks) == 4
    for block in blocks:
        assert block.output in (None, printed(block.code, tmp_path)), block.code
