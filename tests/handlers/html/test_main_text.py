from handlers.html.main_text import count_words, leading_sentences, main_text
from tests.handlers.html.rules import outline_of

PARAGRAPH = "Three days of heavy rain have ended the longest drought in forty years, the weather office said."


def test_main_text_leaves_boilerplate_out() -> None:
    html = f"""<nav><a href=/>Home</a></nav><div class="sidebar"><p>{PARAGRAPH.replace("rain", "snow")}</p></div>
        <div id=content><h1>Rain</h1><p>{PARAGRAPH}</p><ul><li><a href=/1>One link</a></li></ul><p>Short one.</p></div>
        <footer><p>{PARAGRAPH.replace("rain", "hail")}</p></footer>"""
    text = main_text(outline_of(html), 10_000).text
    assert text == f"Rain\n{PARAGRAPH}\nShort one."


def test_an_article_is_preferred_to_what_is_around_it() -> None:
    html = (
        f"<div><p>{PARAGRAPH}</p></div><article><p>{PARAGRAPH} {PARAGRAPH}</p><p>{PARAGRAPH} {PARAGRAPH}</p></article>"
    )
    assert main_text(outline_of(html), 10_000).text.count("drought") == 4


def test_text_stays_whole_across_inline_elements() -> None:
    assert main_text(outline_of("<p>a<b>b</b> <i>c</i>\n d</p>after<p>e</p>"), 100).text == "ab c d\nafter\ne"


def test_a_page_of_short_lines_has_text_too() -> None:
    assert main_text(outline_of("<p>One.</p><p>Two.</p>"), 100).text == "One.\nTwo."


def test_nothing() -> None:
    assert main_text(outline_of(""), 100).text == ""
    assert main_text(outline_of("<nav>a</nav>"), 100).text == ""


def test_a_walk_that_ends_early_keeps_what_it_saw() -> None:
    assert main_text(outline_of("<p>One.</p>" * 1000, max_nodes=50), 10_000).text.startswith("One.\nOne.")


def test_captions_credits_and_author_notes_are_dropped() -> None:
    html = f"""<article><div class="entry-meta">By Ada Lovelace, two minutes to read</div><p>{PARAGRAPH}</p>
        <figure><figcaption>A street under water. Photo: Ada</figcaption></figure><p>{PARAGRAPH}</p><p>{PARAGRAPH}</p>
        <div class="authorBio">Ada writes about the weather, and has for years.</div></article>"""
    assert main_text(outline_of(html), 10_000).text == "\n".join([PARAGRAPH] * 3)


def test_posts_named_for_their_authors_are_text() -> None:
    posts = "".join(f"<div class=post-author-ada><p>{PARAGRAPH}</p></div>" for _ in range(4))
    assert main_text(outline_of(f"<p>{PARAGRAPH}</p>{posts}"), 10_000).text.count("drought") == 5


def test_what_leads_to_links_goes_with_them() -> None:
    links = "<ul><li><a href=/1>One story</a></li><li><a href=/2>Another</a></li></ul>"
    html = f"<p>{PARAGRAPH}</p><p>Read more:</p>{links}<p>{PARAGRAPH}</p><h2>Related</h2>{links}"
    assert main_text(outline_of(html), 10_000).text == f"{PARAGRAPH}\n{PARAGRAPH}"


def test_little_after_a_long_text_is_left_out() -> None:
    story = f"<p>{PARAGRAPH} {PARAGRAPH}</p>" * 5
    tail = "<p>All rights reserved.</p><p>Buy our paper.</p>"
    assert main_text(outline_of(story + tail), 10_000).text.endswith("office said.")
    assert main_text(outline_of(f"<p>{PARAGRAPH}</p>{tail}"), 10_000).text.endswith("Buy our paper.")
    chinese = "<p>中央氣象署今天發布豪雨特報，提醒民眾注意山區坍方落石及低窪地區淹水，各地雨量持續增加當中。</p>" * 5
    last = "氣象署說，這一波降雨可能持續到週末以後。"
    assert main_text(outline_of(f"{chinese}<p>{last}</p><p>版權所有</p>"), 10_000).text.endswith(last)


def test_count_words() -> None:
    assert count_words("") == 0
    assert count_words("two words") == 2
    assert count_words("豪雨特報，請注意。") == 7
    assert count_words("café au lait") == 3


def test_leading_sentences() -> None:
    assert leading_sentences("Short.", 50) == "Short."
    assert leading_sentences("第一句。第二句很長很長。", 6) == "第一句。"
    assert leading_sentences("no end of it at all", 10) == "no end of"
