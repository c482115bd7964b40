from functools import cached_property

from schemas.rules import Rules


class Doubled(Rules):
    """Rules with a value that is computed once."""

    number: int

    @cached_property
    def double(self) -> int:
        return 2 * self.number


def test_a_copy_computes_its_own_version_and_values() -> None:
    rules = Doubled(number=1)
    version = rules.config_version
    assert rules.double == 2
    copied = rules.model_copy(update={"number": 3})
    assert (copied.double, rules.double) == (6, 2)
    assert copied.config_version != version == rules.model_copy().config_version
