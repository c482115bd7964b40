"""The sample web: a few sites as plain files, one folder a host, served on loopback under their own names.

``/events/today`` is ``events/today.html``, a query is part of the file's name, ``/`` is ``index.html``.
"""

from __future__ import annotations

from collections.abc import Awaitable, Callable
from pathlib import Path
from typing import Any

FOLDER = Path(__file__).parent / "web"

Send = Callable[[dict[str, Any]], Awaitable[None]]


def hosts() -> tuple[str, ...]:
    """The names of the sites."""
    return tuple(sorted(folder.name for folder in FOLDER.iterdir() if folder.is_dir()))


def page(url: str) -> bytes:
    """The bytes of a page of the sample web, as its site would send them.

    Raises:
        KeyError: There is no such page.
    """
    host, _, path = url.partition("://")[2].partition("/")
    file = find(host, f"/{path}", "")
    if file is None:
        raise KeyError(url)
    return file.read_bytes()


def find(host: str, path: str, query: str) -> Path | None:
    """The file behind an address, None where there is none."""
    if host not in hosts():
        return None
    name = path.strip("/") or "index"
    if not name.endswith(".txt"):
        name = f"{name}__{query}.html" if query else f"{name}.html"
    file = (FOLDER / host / name).resolve()
    return file if file.is_relative_to(FOLDER / host) and file.is_file() else None


async def serve(scope: dict[str, Any], receive: Any, send: Send) -> None:  # noqa: ARG001 - the signature is ASGI's
    """The sites as one ASGI application, told apart by the Host header."""
    if scope["type"] != "http":
        return
    headers = dict(scope["headers"])
    host = headers.get(b"host", b"").decode("latin-1").partition(":")[0]
    file = find(host, scope["path"], scope["query_string"].decode("latin-1"))
    body = b"<h1>Page not found</h1>" if file is None else file.read_bytes()
    kind = b"text/plain" if file is not None and file.suffix == ".txt" else b"text/html; charset=utf-8"
    status = 404 if file is None else 200
    await send({"type": "http.response.start", "status": status, "headers": [(b"content-type", kind)]})
    await send({"type": "http.response.body", "body": body})
