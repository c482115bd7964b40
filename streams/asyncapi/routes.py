"""``/asyncapi``, ``/asyncapi.yaml``, ``/asyncapi.json``: what travels on the topics of this cluster.

One can browse it and load it. The answers are made when they are first asked for, off the event loop, and kept: the
document depends on the topology and on the topic prefix alone.
"""

from __future__ import annotations

import asyncio
from collections.abc import Callable
from typing import Any

from faststream.asgi import AsgiResponse, get

from streams.asyncapi.page import asyncapi_page, content_security_policy
from streams.generate.asyncapi import asyncapi_document
from streams.generate.text import to_json, to_yaml

Render = Callable[[dict[str, Any]], str]


def asyncapi_routes(prefix: str) -> list[tuple[str, Any]]:
    """The routes of an application.

    Args:
        prefix: What stands before topics and groups.
    """
    return [
        ("/asyncapi", _route(prefix, asyncapi_page, "text/html")),
        ("/asyncapi.yaml", _route(prefix, to_yaml, "application/yaml")),
        ("/asyncapi.json", _route(prefix, to_json, "application/json")),
    ]


def _route(prefix: str, render: Render, media_type: str) -> Any:
    headers = {
        "content-type": f"{media_type}; charset=utf-8",
        "content-security-policy": content_security_policy(),
        "x-content-type-options": "nosniff",
        "referrer-policy": "no-referrer",
        "cache-control": "no-cache",
    }
    made: list[bytes] = []

    @get(include_in_schema=False)
    async def answer(scope: Any) -> AsgiResponse:  # noqa: ARG001 - the signature is FastStream's
        if not made:
            made.append(await asyncio.to_thread(_render, prefix, render))
        return AsgiResponse(made[0], 200, headers)

    return answer


def _render(prefix: str, render: Render) -> bytes:
    return render(asyncapi_document(prefix)).encode()
