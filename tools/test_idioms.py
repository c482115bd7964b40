"""``tools/idioms.py`` finds idioms in prose, and nowhere else."""

import pytest

from tests.tables import tables
from tools.idioms import idioms_in


@pytest.mark.parametrize(("name", "text", "idioms"), tables(__file__)["idioms"])
def test_idioms_in(name: str, text: str, idioms: tuple[tuple[int, str], ...]) -> None:
    assert tuple((line, idiom) for line, idiom, _ in idioms_in(name, text)) == idioms
