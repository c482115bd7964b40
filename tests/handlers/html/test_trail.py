"""Where a page stands, by its breadcrumbs."""

from __future__ import annotations

import pytest

from handlers.html.encoding import parse_page
from handlers.html.trail import trail_of

LINKS = '<a href="/">Home</a> <a href="/b">Books</a>'


@pytest.mark.parametrize(
    ("html", "trail"),
    [
        (f'<nav aria-label="breadcrumb">{LINKS} Rome</nav>', ("Home", "Books")),
        (f'<nav aria-label="Breadcrumbs">{LINKS}</nav>', ("Home", "Books")),
        (f'<ol class="site-breadcrumbs">{LINKS}</ol>', ("Home", "Books")),
        (f'<ol itemscope itemtype="https://schema.org/BreadcrumbList">{LINKS}</ol>', ("Home", "Books")),
        ('<div id="breadcrumb"><a href="/a">  小說  與\n散文 </a></div>', ("小說 與 散文",)),
        (f'<body class="has-breadcrumbs">{LINKS * 5}<div class="breadcrumb">{LINKS}</div>', ("Home", "Books")),
        (f"<nav>{LINKS}</nav>", ()),
        ('<div class="breadcrumb">Home > Books</div>', ()),
        (f'<div class="breadcrumb"><a href="/">{"x" * 301}</a></div>', ()),
        ("", ()),
    ],
)
def test_the_sections_that_a_page_stands_in(html: str, trail: tuple[str, ...]) -> None:
    assert trail_of(parse_page(html).tree) == trail
