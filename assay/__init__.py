"""Checks web pages, search results and claims before a language model reads them.

>>> import assay
>>> page = "<h1>Storm</h1><p>The storm reached the coast on Monday and closed two harbours.</p>"
>>> result = assay.score(page, url="https://news.example.org/storm")
>>> result.tier, result.trust_label
('C', 'LOW')

Each function returns a result with ``reasons``, or a ``Refusal``, which is false in a condition. ``assay.aio`` has the
same functions as coroutines. The functions are imported when they are first used, so ``import assay`` is cheap.
"""

from __future__ import annotations

from importlib import import_module
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from assay import aio
    from assay.calls import claim, classify, evaluate, rank, read, score, score_many, snippet
    from assay.results import Claim, Classification, Evaluation, Page, Ranking, Refusal, Score, Snippet
    from streams.runtime.settings_files import SettingsError
    from streams.settings.lazy import LazySettings as Settings

    __version__: str

_FROM = {
    "assay.calls": ("claim", "classify", "evaluate", "rank", "read", "score", "score_many", "snippet"),
    "assay.results": ("Claim", "Classification", "Evaluation", "Page", "Ranking", "Refusal", "Score", "Snippet"),
    "streams.runtime.settings_files": ("SettingsError",),
}

__all__ = [
    "Claim",
    "Classification",
    "Evaluation",
    "Page",
    "Ranking",
    "Refusal",
    "Score",
    "Settings",
    "SettingsError",
    "Snippet",
    "__version__",
    "aio",
    "claim",
    "classify",
    "evaluate",
    "rank",
    "read",
    "score",
    "score_many",
    "snippet",
]


def __getattr__(name: str) -> Any:
    if name not in __all__:
        raise AttributeError(f"module 'assay' has no attribute {name!r}")
    from streams.runtime.process import gc_paused

    with gc_paused():
        if name == "__version__":
            from importlib.metadata import version

            found: Any = version("assay")
        elif name == "aio":
            found = import_module("assay.aio")
        elif name == "Settings":
            found = import_module("streams.settings.lazy").LazySettings
        else:
            module = next(module for module, names in _FROM.items() if name in names)
            found = getattr(import_module(module), name)
    globals()[name] = found
    return found
