"""The extras of the distribution, by the packages that each one installs and that are imported only where needed."""

from __future__ import annotations

import json
from importlib.metadata import PackageNotFoundError, distribution

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


def missing_extra(error: ModuleNotFoundError, *others: str) -> str | None:
    """What to install for a module that is not there, with others that are needed; None for a module of no extra."""
    module = (error.name or "").partition(".")[0]
    extras = dict.fromkeys([*others, *([EXTRA_OF[module]] if module in EXTRA_OF else [])])
    return f"{module} is not installed: {install_line(*extras)}" if module in EXTRA_OF else None


def install_line(*extras: str) -> str:
    """The command that adds extras to this installation, from where it came: a folder, a file, a repository, an index.

    >>> install_line("kafka").startswith("pip install "), "[kafka]" in install_line("kafka")
    (True, True)
    """
    wanted = f"[{','.join(extras)}]"
    try:
        source = json.loads(distribution("assay").read_text("direct_url.json") or "{}")
    except PackageNotFoundError:
        source = {}
    url = source.get("url", "")
    if (folder := source.get("dir_info")) is not None:
        editable = "--editable " if folder.get("editable") else ""
        return f"pip install {editable}'{url.removeprefix('file://')}{wanted}'"
    if (vcs := source.get("vcs_info")) is not None:
        url = f"{vcs['vcs']}+{url}@{vcs['commit_id']}"
    return f"pip install 'assay{wanted} @ {url}'" if url else f"pip install 'assay{wanted}'"
