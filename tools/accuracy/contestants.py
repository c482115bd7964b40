"""What each contestant answers for a page: Assay now, the others once, for they are slow and do not change.

The answers of the others are kept in ``.assay/accuracy-cache.json`` under their versions and the page's hash.
"""

import base64
import hashlib
import json
import logging
import os
from collections.abc import Callable, Iterable
from concurrent.futures import ProcessPoolExecutor
from dataclasses import asdict, dataclass
from importlib.metadata import PackageNotFoundError, version
from importlib.util import find_spec
from pathlib import Path
from typing import Any

from handlers.html.encoding import page_bytes
from handlers.score_page import ScorePageRules, score_page
from schemas.outcome import Dead, Emit
from schemas.pages import CrawledPage, ScoredPage
from tests.rules import shipped_rules
from tools.accuracy.labels import LabelledPage

ASSAY, TRAFILATURA, RESILIPARSE = "assay", "trafilatura", "resiliparse"
HTMLDATE: dict[str, dict[str, Any]] = {
    "htmldate": {},
    "htmldate original": {"original_date": True},
    "htmldate fast": {"original_date": True, "extensive_search": False},
}
"""htmldate with its defaults (an extensive search), for the first publication, and without the extensive search."""
CACHE = Path(".assay/accuracy-cache.json")
_FORM = 2
"""Raised when what is kept of an answer changes."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Answer:
    """What one contestant says of one page; a field that it has no word for stays None.

    Attributes:
        failed: Why there is no answer: an exception, or Assay's refusal of the page.
    """

    date: str | None = None
    authors: tuple[str, ...] = ()
    title: str | None = None
    site_name: str | None = None
    language: str | None = None
    text: str | None = None
    failed: str | None = None
    raised: bool = False


Answers = dict[str, Answer]
"""By contestant."""


def versions() -> str | None:
    """The contestants' versions; None where they are not installed (``make accuracy`` installs them)."""
    try:
        return f"trafilatura {version('trafilatura')}, htmldate {version('htmldate')}"
    except PackageNotFoundError:
        return None


def answers(pages: Iterable[LabelledPage]) -> list[tuple[LabelledPage, Answers]]:
    pages = list(pages)
    others = _others(pages) if versions() else [{} for _ in pages]
    return [
        (page, {ASSAY: ask_assay(page.body(), page.url)} | other) for page, other in zip(pages, others, strict=True)
    ]


def ask_assay(body: bytes | str, url: str, rules: ScorePageRules | None = None) -> Answer:
    """Assay's answer; an exception is part of the answer, because one bad page must not hide the rest."""
    given = {"html": body} if isinstance(body, str) else {"html_base64": base64.b64encode(body).decode()}
    page = CrawledPage.model_validate({"url": url, **given})
    try:
        outcome = score_page(page, rules or shipped_rules(ScorePageRules))
    except Exception as error:
        return Answer(failed=f"{type(error).__name__}: {error}", raised=True)
    if isinstance(outcome, Dead):
        return Answer(failed=f"{outcome.reason}: {outcome.detail}")
    if not isinstance(outcome, Emit) or not isinstance(outcome.events[0], ScoredPage):
        return Answer(failed=str(outcome), raised=True)
    scored = outcome.events[0]
    return Answer(
        date=scored.date.isoformat() if scored.date else None,
        # The labels of some sets name the agency if a page names no other author.
        authors=scored.authors or scored.agencies,
        title=scored.title, site_name=scored.site_name, language=scored.language, text=scored.content,
    )  # fmt: skip


def decoded(body: bytes) -> str:
    """The page as text, for those who want it so: UTF-8 where it is that, else in the encoding that Assay finds.

    A mistake of Assay's about the encoding is not to be theirs.
    """
    try:
        return body.decode("utf-8").removeprefix("\ufeff")
    except UnicodeDecodeError:
        return page_bytes(body).utf8.decode("utf-8", "replace")


def ask_trafilatura(html: str, url: str) -> Answer:
    """Trafilatura's default extraction with metadata; its comments belong to its text, as in ``extract``."""
    import trafilatura

    found = trafilatura.bare_extraction(html, url=url, with_metadata=True)
    if found is None:
        return Answer()
    assert not isinstance(found, dict)
    return Answer(
        date=found.date,
        authors=tuple((found.author or "").split("; ")) if found.author else (),
        title=found.title,
        site_name=found.sitename,
        text=f"{found.text or ''}\n{found.comments or ''}",
    )


def ask_resiliparse(html: str) -> str | None:
    """Resiliparse's main content; None where it is not installed. It is fast, so its answers are not kept."""
    if find_spec("resiliparse") is None:
        return None
    from resiliparse.extract.html2text import extract_plain_text

    return str(extract_plain_text(html, main_content=True, alt_texts=False))


def _others(pages: list[LabelledPage]) -> list[Answers]:
    name = f"{versions()}, form {_FORM}"
    stored = json.loads(CACHE.read_text("utf-8")) if CACHE.exists() else {}
    kept: dict[str, dict[str, Any]] = stored["answers"] if stored.get("of") == name else {}
    keys = [hashlib.sha256(f"{page.url} {decoded(page.body())}".encode()).hexdigest()[:32] for page in pages]
    missing = {key: page for key, page in zip(keys, pages, strict=True) if key not in kept}
    if missing:
        print(f"asking {versions()} about {len(missing)} pages", flush=True)
        with ProcessPoolExecutor(max_workers=2) as pool:
            kept |= zip(missing, pool.map(_ask_others, missing.values(), chunksize=8), strict=True)
        CACHE.parent.mkdir(exist_ok=True)
        # In one step: another run may be reading.
        draft = CACHE.with_suffix(f".{os.getpid()}")
        draft.write_text(json.dumps({"of": name, "answers": kept}), "utf-8")
        draft.replace(CACHE)
    return [
        {name: Answer(**found | {"authors": tuple(found["authors"])}) for name, found in kept[key].items()}
        for key in keys
    ]


def _ask_others(page: LabelledPage) -> dict[str, dict[str, Any]]:
    import htmldate

    logging.disable(logging.CRITICAL)
    html = decoded(page.body())
    asked: dict[str, Callable[[], Answer]] = {TRAFILATURA: lambda: ask_trafilatura(html, page.url)}
    for name, options in HTMLDATE.items():
        asked[name] = lambda options=options: Answer(date=htmldate.find_date(html, url=page.url, **options))  # type: ignore[misc]
    found: dict[str, dict[str, Any]] = {}
    for name, ask in asked.items():
        try:
            found[name] = asdict(ask())
        except Exception as error:
            found[name] = asdict(Answer(failed=type(error).__name__, raised=True))
    return found
