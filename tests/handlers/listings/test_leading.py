"""Which link of a block leads to its item."""

from __future__ import annotations

from dataclasses import dataclass

import pytest

from handlers.listings.leading import leading, one_a_block, tells_apart

PAGE = 0


@dataclass(frozen=True)
class Link:
    canonical: str
    shape: str
    label: str
    chain: tuple[int, ...]
    place: int
    titled: bool = False


def group(shape: str, label: str, place: int, titled: bool = False, count: int = 4) -> list[Link]:
    """One link in each block; the blocks are the elements 1, 2, 3 and so on, within the page."""
    return [
        Link(f"{shape}/{n}", shape, label.format(n), (100 * n + place, n, PAGE), 10 * n + place, titled)
        for n in range(1, count + 1)
    ]


def test_what_comes_first_leads_unless_another_stands_in_a_heading() -> None:
    show, hall = group("/show", "Show {}", 1), group("/hall", "The great hall {}", 2)
    assert leading(hall, [show, hall]) is show
    assert leading(show, [show, hall]) is show
    headed = group("/show", "Show {}", 3, titled=True)
    assert leading(hall, [hall, headed]) is headed


@pytest.mark.parametrize("label", ["Buy tickets", "0{}.12.2026", ""])
def test_what_is_no_name_does_not_lead(label: str) -> None:
    show, other = group("/show", "Show {}", 2), group("/other", label, 1)
    assert leading(show, [other, show]) is show
    assert leading(other, [other, show]) is show
    assert leading(other, [other]) is other


def test_what_several_blocks_share_does_not_lead() -> None:
    show = group("/show", "Show {}", 2)
    genre = [Link(f"/g/{n % 2}", "/g", f"Genre {n % 2}", (900 + n, n, PAGE), 10 * n) for n in range(1, 5)]
    assert leading(show, [genre, show]) is show
    assert leading(genre, [genre, show]) is show


def test_links_of_other_blocks_do_not_lead() -> None:
    show = group("/show", "Show {}", 2)
    menu = [Link(f"/m/{n}", "/m", f"Part {n}", (900 + n, 50, PAGE), n - 9) for n in range(4)]
    assert leading(show, [menu, show]) is show


def test_a_list_within_each_block_keeps_its_items() -> None:
    days = group("/day", "Friday {}", 0, titled=True)
    shows = [
        Link(f"/show/{n}{k}", "/show", f"Show {n}{k}", (100 * n + 20 + k, n, PAGE), 10 * n + k)
        for n in range(1, 5)
        for k in range(1, 4)
    ]
    assert leading(shows, [days, shows]) is shows


def test_blocks_may_lack_what_stands_beside_the_item() -> None:
    show, hall = group("/show", "Show {}", 1), group("/hall", "The great hall {}", 2)[::2]
    assert leading(hall, [show, hall]) is show


def test_links_that_take_turns_make_blocks_where_no_element_does() -> None:
    show = [Link(f"/show/{n}", "/show", f"Show {n}", (100 + n,), 2 * n) for n in range(4)]
    hall = [Link(f"/hall/{n}", "/hall", f"The great hall {n}", (200 + n,), 2 * n + 1) for n in range(4)]
    assert leading(hall, [show, hall]) is show


def test_blocks_that_look_a_little_different_are_not_each_others() -> None:
    even = [Link(f"/{n}-even", "shop.example/*?", f"Even {n}", (100 + n,), 2 * n) for n in range(4)]
    odd = [Link(f"/{n}-odd", "shop.example/*?", f"Odd {n}", (200 + n,), 2 * n + 1) for n in range(4)]
    assert leading(odd, [even, odd]) is odd
    pictures = group("shop.example/a/*", "Show {}", 1, count=3)
    titles = [
        Link(f"shop.example/a/*/{n}", "shop.example/a/*", f"Show {n}", (500 + n, n), 10 * n + 5) for n in range(5)
    ]
    assert leading(titles, [pictures, titles]) is titles
    others = [Link(f"/b/{n}", "shop.example/a/*", f"Show {n}", (600 + n, n), 10 * n) for n in range(5)]
    assert leading(titles, [others, titles]) is titles


def test_links_that_all_say_the_same_are_kept_where_all_do() -> None:
    hits = [Link(f"https://{n}.example/a", f"{n}.example", "Visit", (100 + n, n), n) for n in range(4)]
    kept = group("/kept", "Visit", 2)
    assert one_a_block([*hits, *kept], 2)[:4] == hits


def test_one_link_a_block_is_kept() -> None:
    show, hall, same = group("/show", "Show {}", 1), group("/hall", "Hall {}", 2), group("/login", "Log in {}", 3)
    same = [Link("/login/1", "/login", "Log in", link.chain, link.place) for link in same]
    assert one_a_block(sorted([*show, *hall, *same], key=lambda link: link.place), 2) == show


def test_echoes_are_left_out_beside_others_only() -> None:
    hits = [Link(f"https://{n}.example/a", f"{n}.example", f"Hit {n}", (100 + n, n), n) for n in range(4)]
    kept = group("/kept", "Kept", 2)
    assert one_a_block([*hits, *kept], 2) == hits
    assert one_a_block(kept, 2) == kept
    assert one_a_block(hits[:1], 2) == hits[:1]


def test_kinds_that_have_blocks_of_their_own_are_all_kept() -> None:
    mixed = [Link(f"/{n % 2}/{n}", f"/{n % 2}", f"Thing {n}", (100 + n, n + 1, PAGE), n) for n in range(6)]
    assert one_a_block(mixed, 2) == mixed


def test_texts_tell_apart_where_no_text_is_most_of_them() -> None:
    assert tells_apart(group("/show", "Show {}", 1))
    assert tells_apart(group("/show", "Show", 1, count=1))
    assert not tells_apart(group("/show", "Show", 1))
