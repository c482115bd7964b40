from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from handlers.page.limits import refusal
from tests.handlers.page.rules import READING

SMALL = READING.model_copy(update={"max_depth": 50, "max_attributes": 20, "max_reopened": 1000, "max_steps": 20_000})


@pytest.mark.parametrize(
    ("body", "says"),
    [
        (b"<div>" * 51, "nested"),
        (b"<div>" * 51 + b"</div>" * 51, "nested"),
        (b"<DIV>" * 51, "nested"),
        (b"<div></q>" * 51, "nested"),
        (b"<div><object></div></object>" * 51, "nested"),
        (b"<!-- </div> --><div>" * 51, "nested"),
        (b"<script>'</div>'</script><div>" * 60, "nested"),
        (b"x" * 70_000 + b"<p " + b"a=1 b " * 2000 + b">", "attributes"),
        (b"x" * 70_000 + b"<p " + b"a=1 b " * 2000, "attributes"),
        (b"x" * 70_000 + b"<p " + b'a=">" b ' * 2000 + b">", "attributes"),
        (b"x" * 70_000 + b"<p " + b"a='<i>' b " * 2000 + b">", "attributes"),
        (b"x" * 70_000 + b"<p " + b'a="><q c=" ' * 2000 + b">", "attributes"),
        (b"<p>" + b"<b/a=1>" * 40 + b"<p>x" * 3000, "formatting"),
        (b"<b a=1><table><tr><td></b></table>" * 40 + b"<p>x" * 3000, "formatting"),
        (b"<p>" + b"<b a=1>" * 40 + b"</i>" * 40 + b"</p>" + b"<p>x" * 3000, "formatting"),
        (b"<div>" * 40 + b"<p>x" * 3000 + b"<div>" * 20, "steps"),
    ],
)
def test_refused(body: bytes, says: str) -> None:
    reason = refusal(body, SMALL)

    assert reason is not None
    assert says in reason


@pytest.mark.parametrize(
    "body",
    [
        b"",
        b"<div>" * 50,
        b"<div><p>x</div>" * 200,
        b"<ul>" + b"<li>x<br>" * 200,
        b"<table>" + b"<tr><td><b class=x>y</td></tr>" * 2000 + b"</table>",
        b"<table><tr><td>x</table>" * 200,
        b"<!--" + b"<div>" * 200 + b"-->",
        b"<script>" + b"'<div>'" * 200 + b"</script>",
        b"<span><em>x</span></em>" * 20,
        b"x" * 70_000 + b'<p title="' + b"word " * 2000 + b'">',
        b"x" * 70_000 + b"<script>a<b" + b" word" * 2000 + b"</script>",
        b"<p><b class=x>y</b>" * 3000,
        b"<p class=x>y</p>" * 6000,
    ],
)
def test_let_through(body: bytes) -> None:
    assert refusal(body, SMALL) is None


@given(
    st.lists(
        st.sampled_from([b"<div", b">", b"<!--", b"-->", b'"', b"'", b"=", b"</", b"<script>", b" a", b"x"]),
        max_size=300,
    )
)
def test_never_raises(parts: list[bytes]) -> None:
    limits = SMALL.model_copy(update={"max_depth": 10})

    assert refusal(b"".join(parts), limits) in {None, refusal(b"".join(parts), limits)}
