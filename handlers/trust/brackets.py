"""Square brackets are ours alone: in what others wrote they come out round, before a model or a person is shown it.

What makes a line look like one of our labels is less its letters, of which every script has a few that pass for others,
than its square brackets. So no text of others keeps any, whatever stands in them: no list of look-alikes has to be
complete for that. Words, quotation marks, braces and angles stay as they are. Standard library only (R-178).
"""

from __future__ import annotations

import unicodedata

_OTHERS = frozenset("(){}<>（）｛｝＜＞｢｣「」『』《》〈〉〈〉⟨⟩﹁﹂﹃﹄︵︶﹙﹚‚„⹂〝〞〟")
"""What is a bracket to Unicode and passes for no square one: round, curly, angle, and quotation marks."""
_PIECES = {**dict.fromkeys("⎡⎢⎣⸂⸄⸠", "Ps"), **dict.fromkeys("⎤⎥⎦⸃⸅⸡", "Pe")}
"""What looks like a bracket and is a sign of mathematics or of quotation to Unicode."""
_ROUND_ONES = {("Ps", False): "(", ("Pe", False): ")", ("Ps", True): "（", ("Pe", True): "）"}


def with_round_brackets(text: str) -> str:
    """A text whose square brackets, and whatever passes for such, are round ones.

    >>> with_round_brackets("[1] 【快訊】 ⟦a⟧ {b} 「引」")
    '(1) （快訊） (a) {b} 「引」'
    """
    return text.replace("[", "(").replace("]", ")") if text.isascii() else text.translate(_ROUND)


def is_bracket(character: str) -> bool:
    """Whether a character is a bracket of any script or shape, quotation marks among them."""
    category = unicodedata.category(character)
    return character in "<>" or character in _PIECES or category in ("Ps", "Pe", "Pi", "Pf")


class _Round(dict[int, str | int]):
    """Each character, a round bracket for those that pass for square ones; found out when it is first met."""

    def __missing__(self, code: int) -> str | int:
        character = chr(code)
        side = "" if character in _OTHERS else _PIECES.get(character, unicodedata.category(character))
        wide = unicodedata.east_asian_width(character) in ("F", "W")
        self[code] = result = _ROUND_ONES.get((side, wide), code)
        return result


_ROUND = _Round()
