"""The lines that a host repeats, from the contents of its pages."""

import random

import pytest

from handlers.html.boilerplate import digest_of, packed
from streams.training.boilerplate import BoilerplateLearner, Limits

HOST = "shop.example"


def learn(pages: dict[str, str], **limits: float) -> dict[str, str]:
    learner = BoilerplateLearner(Limits(**({"characters": 1} | limits)))  # type: ignore[arg-type]
    for url, content in pages.items():
        learner.add(url, content)
    return learner.learned().hosts


def shop(count: int, host: str = HOST) -> dict[str, str]:
    return {f"https://{host}/{n}": f"Pole {n}\nDelivery in three days\nIt has {n} parts" for n in range(count)}


def test_lines_on_enough_pages_are_found() -> None:
    assert learn(shop(5)) == {HOST: digest_of("delivery in  three days")}
    assert learn(shop(4)) == {}
    assert learn(shop(4), min_pages=4) == {HOST: digest_of("Delivery in three days")}


def test_a_line_counts_once_a_page_and_by_its_share_of_pages() -> None:
    pages = {f"https://{HOST}/{n}": f"{n}\n" + "Twice\nTwice\n" * (n < 4) + "Half" * (n % 2) for n in range(10)}
    assert learn(pages) == {HOST: digest_of("Half")}
    assert learn(pages, share=0.4) == {HOST: packed((digest_of("Half"), digest_of("Twice")))}
    assert learn(pages, share=0.6) == {}


def test_equal_pages_and_spellings_of_an_address_count_once() -> None:
    assert learn({f"https://{HOST}/{n}": "Not found\nGo to the front page" for n in range(20)}) == {}
    assert learn({f"https://{HOST}/?utm_id={n}": f"Delivery\n{n}" for n in range(20)}) == {}


def test_the_order_of_the_pages_does_not_matter() -> None:
    pages = shop(200) | {f"https://{HOST}/news/{n}": f"{n}\nNews of the day\n{n} more" for n in range(100)}
    shuffled = list(pages.items())
    random.Random(1).shuffle(shuffled)
    assert learn(pages, share=0.3) == learn(dict(shuffled), share=0.3)


def test_memory_and_file_are_bounded() -> None:
    learner = BoilerplateLearner(Limits(characters=1, hosts=2, sample=10, lines=3))
    for host in ("a.example", "b.example", "c.example"):
        for url, content in shop(30, host).items():
            learner.add(url, content + "".join(f"\nFooter {n}" for n in range(5)))
    assert (learner.hosts, learner.pages, learner.left_out) == (2, 60, 30)
    assert {len(sample) for sample in learner._hosts.values()} == {10}
    found = learner.learned()
    assert [found.count_of(host) for host in ("a.example", "b.example", "c.example")] == [3, 3, 0]
    learner.add("https://a.example/long", "\n".join(map(str, range(5000))))
    assert max(len(lines) for sample in learner._hosts.values() for _, lines in sample.values()) <= 300 * 12


def test_short_lines_are_headings_values_and_code() -> None:
    long, short, cjk = (
        "Delivery in three days to every address in it",
        "Battery Type: Lithium Ion",
        "本網站所有內容均受著作權法保護不得轉載請尊重",
    )
    pages = {f"https://{HOST}/{n}": f"{n}\n{long}\n{short}\n{cjk}" for n in range(6)}
    assert learn(pages, characters=40) == {HOST: packed((digest_of(long), digest_of(cjk)))}


@pytest.mark.parametrize("url", ["", "no address", "https://\ud800/"])
def test_odd_addresses_do_no_harm(url: str) -> None:
    learn({url: "a\nb"}, min_pages=2)
