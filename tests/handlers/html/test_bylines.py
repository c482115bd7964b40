from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from handlers.html.bylines import BylineWords, Credit, find_credit
from handlers.html.structured_data import StructuredData
from tests.handlers.html.rules import PATTERNS, READING, outline_of, story_of
from tests.tables import tables

TABLES = tables(__file__)

STORY = "The rain came in the night and filled the river, and all the bridges of the town were closed."
WORDS = BylineWords(READING, PATTERNS)
NAMES = WORDS.names
NO_DATA = StructuredData()


def credit(html: str, data: StructuredData = NO_DATA) -> Credit:
    return find_credit(story_of(outline_of(html)), data, WORDS, "The Example Post")


@pytest.mark.parametrize(
    ("html", "names", "has_author", "has_byline"),
    [
        ('<meta name="author" content="Ada Lovelace">', ("Ada Lovelace",), True, False),
        (
            '<meta name="author" content="By Ada Lovelace and Mary Shelley">',
            ("Ada Lovelace", "Mary Shelley"),
            True,
            False,
        ),
        ("<meta name=citation_author content='Lovelace, Ada'>", ("Ada Lovelace",), True, False),
        ('<meta name="author" content="Lovelace, Ada">', ("Ada Lovelace",), True, False),
        ('<meta name="author" content="王小明 記者">', ("王小明",), True, False),
        ("<p>By  王小明</p>", ("王小明",), False, True),
        ("<p>文・山田太郎</p>", ("山田太郎",), False, True),
        # Credited news agencies are not authors, and neither are the authors of quoted texts.
        ('<meta name="author" content="dpa">', (), True, False),
        ('<meta name="author" content="dpa/Ada Lovelace">', ("Ada Lovelace",), True, False),
        ("<p>By Associated Press</p>", (), False, True),
        ("<p>By Reuters and Ada Lovelace</p>", ("Ada Lovelace",), False, True),
        ("<h1>Rain</h1><p>It rains.</p><div class=review><p>By Mary Shelley</p></div>", (), False, False),
        ("<h1>Rain</h1><p>It rains.</p><h2>Reviews</h2><span class=author>Mary Shelley</span>", (), False, False),
        ("<h1>Rain</h1><p>It rains.</p><h2>3 Comments</h2><a rel=author href=/m>Mary Shelley</a>", (), False, False),
        ("<meta name=citation_author content='Ada Lovelace, PhD'>", ("Ada Lovelace",), True, False),
        ('<meta name="author" content="https://example.com/ada">', (), False, False),
        ('<meta name="author" content="The Example Post">', ("The Example Post",), True, False),
        ('<meta name="author" content="example.com"><p>By Ada Lovelace</p>', ("Ada Lovelace",), True, True),
        (
            '<meta name=author content="Rain Weekly"><meta name=copyright content="© Rain Weekly 2024">'
            "<p>By Ada Lovelace</p>",
            ("Ada Lovelace",),
            True,
            True,
        ),
        ('<meta name="author" content="admin"><p>By Ada Lovelace</p>', ("Ada Lovelace",), False, True),
        ('<meta name="author" content="ada99"><p class=byline>By Ada Lovelace</p>', ("Ada Lovelace",), True, True),
        ('<span class="byline">By Ada Lovelace</span>', ("Ada Lovelace",), False, True),
        ('<a rel="author" href="/ada">Ada Lovelace</a>', ("Ada Lovelace",), False, True),
        ('<div class="article-author">Ada Lovelace, 3 May 2024</div>', ("Ada Lovelace",), False, True),
        ("<p>By Ada Lovelace</p><p>Words.</p>", ("Ada Lovelace",), False, True),
        ("<h1>Interview: Mary Shelley</h1><p>By Ada Lovelace</p>", ("Ada Lovelace",), False, True),
        ("<p>By the time the rain came, all was lost.</p>", (), False, False),
        ("<h1>Rain</h1><p>By Monday Evening</p><p>It rains.</p>", (), False, False),
        (f"<h1>Rain</h1><p>{STORY}</p><h2>More from the web</h2><p>By Mary Shelley</p>", (), False, False),
        (f"<h1>Regen</h1><p>{STORY}</p><h3>Mehr zum Thema</h3><p>Von Mary Shelley</p>", (), False, False),
        (f"<h1>雨</h1><p>{STORY}</p><h2>更多新聞</h2><p>記者王小明／台北報導</p>", (), False, False),
        (f"<h1>Rain</h1><h2>It rains</h2><p>By Ada Lovelace</p><p>{STORY}</p>", ("Ada Lovelace",), False, True),
        (f"<h1>Rain</h1><p>{STORY}</p><p>By Ada Lovelace</p>", ("Ada Lovelace",), False, True),
        (
            f"<h1>Rain</h1><p>{STORY}</p><h2>Now</h2><p>{STORY}</p><p>By Ada Lovelace</p>",
            ("Ada Lovelace",),
            False,
            True,
        ),
        ("<p>記者王小明／台北報導</p>", ("王小明",), False, True),
        ("<p>〔記者王小明、陳大文／台北報導〕豪雨</p>", ("王小明", "陳大文"), False, True),
        ("<p>（中央社記者王小明台北3日電）豪雨</p>", ("王小明",), False, True),
        ('<footer><span class="byline">By Ada Lovelace</span></footer>', (), False, False),
    ],
)
def test_find_credit(html: str, names: tuple[str, ...], has_author: bool, has_byline: bool) -> None:
    found = credit(html)

    assert (found.names, found.has_author, found.has_byline) == (names, has_author, has_byline)


def test_structured_data_comes_first() -> None:
    found = credit(
        '<meta name="author" content="Admin Person">', StructuredData(authors=("Ada Lovelace", "Ada Lovelace"))
    )

    assert found.names == ("Ada Lovelace",)
    assert found.seen_in == "json-ld author"


def test_organisation_is_the_author_only_without_a_named_person() -> None:
    data = StructuredData(organizations=("Ministry of Rain and Snow",))

    assert credit("<p>Words.</p>", data).names == ("Ministry of Rain and Snow",)
    assert credit("<p class=byline>By Ada Lovelace</p>", data).names == ("Ada Lovelace",)


@pytest.mark.parametrize(
    ("html", "names", "seen_in"),
    TABLES["where_names_are_shown"],
)
def test_where_names_are_shown(html: str, names: str, seen_in: str) -> None:
    found = credit(html)

    assert (", ".join(found.names), found.seen_in) == (names, seen_in)


def test_a_menu_that_repeats_the_heading_is_not_it() -> None:
    html = "<h1>Rain again</h1><p class=byline>By Ada Lovelace</p>" + "<p>Words that go on.</p>" * 90
    page = outline_of("<title>Rain again</title><p>Rain again</p><p>By Mary Shelley" + "<p>menu</p>" * 90 + html)
    first = next(index for index, text in enumerate(page.texts) if text.startswith("Words"))

    found = find_credit(story_of(page, first), StructuredData(), WORDS, "")

    assert found.names == ("Ada Lovelace",)


def test_byline_at_the_heading_is_found() -> None:
    html = "<p>menu</p>" * 90 + "<h1>Rain again</h1><p class=byline>By Ada Lovelace</p>" + "<p>word</p>" * 90
    page = outline_of("<title>Rain again</title>" + html)

    found = find_credit(story_of(page), StructuredData(), WORDS, "")

    assert found.names == ("Ada Lovelace",)


def test_agencies_are_separated_from_authors() -> None:
    found = credit('<meta name="author" content="dpa/Ada Lovelace"><p>By Reuters</p>')

    assert (found.names, found.agencies) == (("Ada Lovelace",), ("dpa", "Reuters"))


@pytest.mark.parametrize(
    ("text", "names"),
    [
        ("Ada Lovelace", ["Ada Lovelace"]),
        ("By Ada Lovelace and Mary Shelley", ["Ada Lovelace", "Mary Shelley"]),
        ("Ada Lovelace, Mary Shelley, and Emily Brontë", ["Ada Lovelace", "Mary Shelley", "Emily Brontë"]),
        ("Von Ada Lovelace und Mary Shelley", ["Ada Lovelace", "Mary Shelley"]),
        ("Par Ada Lovelace et Mary Shelley", ["Ada Lovelace", "Mary Shelley"]),
        ("Dr. Ada Lovelace, PhD", ["Dr. Ada Lovelace"]),
        ("ADA LOVELACE | 3 May 2024", ["ADA LOVELACE"]),
        ("Lovelace, Ada", ["Ada Lovelace"]),
        ("Lovelace, A. K.", ["A. K. Lovelace"]),
        ("Lovelace, Ada; Shelley, Mary", ["Ada Lovelace", "Mary Shelley"]),
        ("By O'Connor, Sinead", ["Sinead O'Connor"]),
        ("Brontë-Nicholls, Emily", ["Emily Brontë-Nicholls"]),
        ("Lovelace, Editor", ["Lovelace"]),
        ("王小明 記者", ["王小明"]),
        ("王小明記者", ["王小明"]),
        ("王小明 編輯", ["王小明"]),
        ("Posted on May 3, 2024 by Ada Lovelace", ["Ada Lovelace"]),
        ("VON ADA LOVELACE am 21. April 2020", ["ADA LOVELACE"]),
        ("Text: Ada Lovelace Fotos: Mary Shelley", ["Ada Lovelace"]),
        ("Ludwig van der Rohe", ["Ludwig van der Rohe"]),
        ("ada99", ["ada99"]),
        ("By Ada Lovelace December 2, 2025", ["Ada Lovelace"]),
        ("By\nAda Lovelace\nSenior Reporter", ["Ada Lovelace"]),
        ("Von Deutscher Tennis Bund 4. 2. 2022", ["Deutscher Tennis Bund"]),
        ("Ada Lovelace\nMary Shelley", ["Ada Lovelace", "Mary Shelley"]),
        ("Ada Lovelace Chefredakteurin", ["Ada Lovelace"]),
        ("배윤경 기자", ["배윤경"]),
        ("By Ada Lovelace, Senior Health Writer", ["Ada Lovelace"]),
        ("By Ada Lovelace in London and Mary Shelley in Bath", ["Ada Lovelace", "Mary Shelley"]),
        ("(Ada Lovelace)", ["Ada Lovelace"]),
        ("Ada Lovelace (Agency)", ["Ada Lovelace"]),
        ("Twitter Facebook", []),
        ("Dec", []),
        ("By Staff", []),
        ("Editorial Team", []),
        ("Published on", []),
        ("ada@example.com", []),
        ("https://example.com/ada", []),
        ("the rain came and went", []),
        ("記者王小明／台北報導", ["王小明"]),
        ("記者 王小明、陳大文 / 台北報導", ["王小明", "陳大文"]),
        ("（中央社記者王小明台北1日電）", ["王小明"]),
        ("作者：王小明", ["王小明"]),
        ("文／王小明", ["王小明"]),
        ("王小明", ["王小明"]),
        ("編輯部", []),
        ("", []),
    ],
)
def test_names(text: str, names: list[str]) -> None:
    assert list(NAMES.names(text)) == names


@pytest.mark.parametrize(
    ("line", "names"),
    [
        ("By Ada Lovelace", ["Ada Lovelace"]),
        ("by Ada Lovelace, Correspondent", ["Ada Lovelace"]),
        ("May 3, 2024 · 3 min read · By Ada Lovelace", ["Ada Lovelace"]),
        ("A column by Ada Lovelace", ["Ada Lovelace"]),
        ("Photo by Ada Lovelace", []),
        ("By the time the rain came, all was lost.", []),
        ("Ada Lovelace", []),
        ("By 2030 all will be well", []),
        ("By Monday Evening", []),
        ("By Tuesday Night", []),
        ("Von Montag Abend", []),
        ("By Sunday Oliseh", ["Sunday Oliseh"]),
        ("By April Evening-Smith", ["April Evening-Smith"]),
        ("文／王小明", ["王小明"]),
        ("記者會今天舉行", []),
    ],
)
def test_byline_must_contain_a_credit_phrase(line: str, names: list[str]) -> None:
    assert list(NAMES.line_names(line)) == names


@given(st.text(max_size=300))
def test_any_credit_is_read(text: str) -> None:
    assert all(name.strip() for name in (*NAMES.names(text), *NAMES.line_names(text)))


@pytest.mark.parametrize(
    ("text", "names"),
    [
        ("記者王小明／台北報導", ["王小明"]),
        ("記者 王小明／台北報導", ["王小明"]),
        ("記者王小明台北報導", ["王小明"]),
        ("〔記者王小明、陳大文／台北報導〕豪雨造成多處淹水", ["王小明", "陳大文"]),
        ("[記者王小明/綜合報導] 今天", ["王小明"]),
        ("（中央社記者王小明台北1日電）豪雨", ["王小明"]),
        ("（中央社記者王小明、陳大文台北1日電）豪雨", ["王小明", "陳大文"]),
        ("聯合報 記者王小明／台北即時報導", ["王小明"]),
        ("中國時報 王小明／台北報導", ["王小明"]),
        ("王小明／台北報導", ["王小明"]),
        ("記者歐陽小明／台北報導", ["歐陽小明"]),
        ("編譯陳大文／綜合外電", ["陳大文"]),
        ("新华社记者张三", ["张三"]),
        ("本报记者 张三 李四", ["张三", "李四"]),
        ("来源：新华网 作者：张三", ["张三"]),
        ("(责编：牛镛、岳弘彬)", ["牛镛", "岳弘彬"]),
        ("文／王小明 攝影／陳大文", ["王小明"]),
        ("文/王小明 圖/陳大文", ["王小明"]),
        ("採訪・撰文／王小明", ["王小明"]),
        ("撰文｜王小明", ["王小明"]),
        ("著者：後藤大地", ["後藤大地"]),
        ("（記者王小明攝）", []),
        ("記者王小明翻攝", []),
        ("記者會今天舉行", []),
        ("記者會上表示，今年", []),
        ("記者中心／台北報導", []),
        ("編譯中心／綜合報導", []),
        ("記者/綜合報導", []),
        ("即時中心／綜合報導", []),
        ("（中央社華盛頓3日綜合外電報導）豪雨", []),
        ("文化部今天宣布", []),
        ("文章來源", []),
        ("作者簡介", []),
        ("豪雨持續到明天，" * 4 + "記者王小明／台北報導", []),
        ("", []),
    ],
)
def test_reporters(text: str, names: list[str]) -> None:
    assert list(NAMES.reporters(text)) == names


@given(st.text(alphabet="記者王小明、／ 報導文作者：（）〔〕台北1日電", max_size=300))
def test_any_chinese_credit_is_read(text: str) -> None:
    assert all(2 <= len(name) <= 8 for name in NAMES.reporters(text))


@pytest.mark.parametrize(
    ("line", "names"),
    TABLES["a_line_that_credits"],
)
def test_a_line_that_credits(line: str, names: tuple[str, ...]) -> None:
    assert NAMES.line_names(line) == names
