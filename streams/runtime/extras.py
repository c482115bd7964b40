"""The extras of the distribution, by the packages that each one installs and that are imported only where needed."""

from __future__ import annotations

EXTRA_OF = {
    "aiokafka": "kafka",
    "cramjam": "kafka",
    "faststream": "kafka",
    "fastwarc": "warc",
    "httpx2": "index",
    "jinja2": "kafka",
    "markupsafe": "console",
    "mcp": "mcp",
    "starlette": "console",
    "uvicorn": "kafka",
    "portalocker": "index",
    "qdrant_client": "index",
    "openai": "llm",
    "numpy": "rank",
    "xgboost": "rank",
}
"""The extra that installs a module. Modules of other extras have errors of their own, where they are used."""


def missing_extra(error: ModuleNotFoundError) -> str | None:
    """What to install for a module that is not there; None for a module of no extra.

    >>> missing_extra(ModuleNotFoundError(name="aiokafka.errors"))
    "aiokafka is not installed: pip install 'assay[kafka]'"
    """
    module = (error.name or "").partition(".")[0]
    return f"{module} is not installed: pip install 'assay[{EXTRA_OF[module]}]'" if module in EXTRA_OF else None
