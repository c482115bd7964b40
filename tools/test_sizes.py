"""One line above the maximum of a package is found, and so is a package without one."""

from __future__ import annotations

from pathlib import Path

from tools.sizes import larger, sizes


def test_an_added_line_and_an_added_package_are_found(tmp_path: Path) -> None:
    (tmp_path / "streams/kafka").mkdir(parents=True)
    code, generated = tmp_path / "streams/kafka/lag.py", tmp_path / "page.md"
    code.write_text("a = 1\n")
    generated.write_text("a page\n")

    def now() -> dict[str, list[int]]:
        return sizes(tmp_path, ["streams/kafka/lag.py", "page.md"], ["page.md"])

    maxima = now()
    assert maxima == {"streams/kafka": [1, 0], "docs words": [0, 0]}
    assert larger(now(), maxima) == []
    code.write_text("a = 1\nb = 2\n")
    assert [problem.partition(":")[0] for problem in larger(now(), maxima)] == ["streams/kafka"]
    assert "no maximum" in larger(now(), {"docs words": [0, 0]})[0]
