"""``tools/idioms.py`` finds idioms in prose, and nowhere else."""

import pytest

from tools.idioms import idioms_in


@pytest.mark.parametrize(
    ("name", "text", "idioms"),
    [
        ("a.py", '"""Nothing to do: nobody reads it."""\n', [(1, "nobody")]),
        ("a.py", 'def f() -> None:\n    """Returns\n\n    what stands there.\n    """\n', [(4, "stands")]),
        ("a.py", 'help = f"{name} rests"\n', [(1, "rests")]),
        ("a.py", "stands = rests = nobody = 1\n", []),
        ("a.py", '"""The rest of the understanding, at a standstill; a stand-in."""\n', []),
        (
            "tests/test_a.py",
            'def f():\n    """Nobody."""\n    g("nobody")  # somebody\n',
            [(2, "Nobody"), (3, "somebody")],
        ),
        ("tests/test_a.py", "def test_who_is_late_pays(): ...\ndef test_a_user_who(): ...\n", [(1, "who"), (2, "who")]),
        ("tests/test_a.py", "def test_the_whole(): ...\ndef who(): ...  # users who pay\n", []),
        ("tests/test_a.py", f"def test_{'a' * 56}(): ...\n", [(1, f"test_{'a' * 56}")]),
        ("tests/test_a.py", f"def test_{'a' * 55}(): ...\n", []),
        ("a.md", "The users who run it. Who reads it?\n", []),
        ("a.yaml", "words: [nobody]  # somebody\n", [(1, "somebody")]),
        ("a.py", "for x in y:\n    if last == (last := x):\n        n += 1\n", [(2, "last … (last :=")]),
        ("a.py", "f(x, g((x := 1)))\nz = x + (x := 2), [x, (x := 3)]\n", [(1, "x … (x :="), *[(2, "x … (x :=")] * 2]),
        ("a.py", "if x and (x := f(x)) != y: z = (x := 1) + x\nx = f(x)\n", []),
        ("streams/a.py", "its = [x.said for x in y]\ndef _told(one): ...\n", [(1, "its"), (2, "_told"), (2, "one")]),
    ],
)
def test_idioms_in(name: str, text: str, idioms: list[tuple[int, str]]) -> None:
    assert [(line, idiom) for line, idiom, _ in idioms_in(name, text)] == idioms
