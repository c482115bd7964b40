from tools.calendar_words import PACK, calendar_pack


def test_the_pack_has_the_names_of_the_installed_cldr() -> None:
    assert PACK.read_text("utf-8") == calendar_pack()
