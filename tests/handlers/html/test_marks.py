import pytest

from handlers.html.marks import look_near, stated_marks, times
from tests.handlers.html.rules import outline_of


@pytest.mark.parametrize(
    ("html", "marks"),
    [
        ("<span itemprop=author>Ada</span>", [("itemprop:author", "", "Ada", False)]),
        ("<meta itemprop=datePublished content=2024-05-03>", [("itemprop:datepublished", "2024-05-03", "", False)]),
        ("<p>By <a rel='author external' href=/a>Ada</a></p>", [("rel:author", "", "Ada", False)]),
        ("<footer><a rel=author href=/a>Ada</a></footer>", [("rel:author", "", "Ada", False)]),
        ("<span itemprop=name>Ada</span>", []),
    ],
)
def test_stated(html: str, marks: list[tuple[str, str, str, bool]]) -> None:
    found = stated_marks(outline_of(html))
    assert [(mark.name, mark.value, mark.text, mark.boilerplate) for mark in found] == marks


def test_times_near_the_text_come_first() -> None:
    page = outline_of(
        "<p>a<time datetime=1></time><p>b<p>c<time datetime=2></time><time>3</time><time class=modified>4</time><p>d"
    )
    found = times(page, look_near(page, 3))
    assert [mark.value for mark in found if mark.name == "time"] == ["2", "3", "1"]
    assert [mark.value for mark in found if mark.name == "time:changed"] == ["4"]


def test_class_names_are_read_around_the_text_only() -> None:
    line = "<p class=byline>By Ada</p>"
    far = line + "<p>word</p>" * 100
    assert [mark.name for mark in look_near(outline_of(far), 0).named] == ["hint:byline"]
    assert look_near(outline_of(far), 90).named == ()
    dated = outline_of("<div>x <span class=pub-date>May 3</span></div>")
    assert [mark.text for mark in look_near(dated, 0).named] == ["May 3"]
