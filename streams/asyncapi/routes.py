"""Serves the AsyncAPI document of this cluster: ``/asyncapi`` as a page, ``/asyncapi.yaml`` and ``/asyncapi.json``.

The answers are made at the first request, off the event loop, and kept: the document depends only on the topology and
the topic prefix. The page is one self-contained HTML document. It loads nothing from another host, and its
Content-Security-Policy forbids it.
"""

from __future__ import annotations

import asyncio
import base64
import json
from collections.abc import Awaitable, Callable, Iterable, Iterator, Mapping
from functools import cache
from hashlib import sha256
from html import escape
from pathlib import Path
from typing import Any

from streams.generate.asyncapi import asyncapi_document
from streams.topology.text import to_json, to_yaml

_HERE = Path(__file__).parent
_BOUNDS = (
    ("minimum", "≥ {}"), ("exclusiveMinimum", "> {}"), ("maximum", "≤ {}"), ("exclusiveMaximum", "< {}"),
    ("minLength", "length ≥ {}"), ("maxLength", "length ≤ {}"), ("minItems", "items ≥ {}"), ("maxItems", "items ≤ {}"),
    ("pattern", "matches {}"), ("format", "{}"), ("contentEncoding", "{}"),
)  # fmt: skip

Json = Mapping[str, Any]


def asyncapi_page(document: Json) -> str:
    """The page of a document such as ``streams.generate.asyncapi`` makes."""
    return "".join(_page(document))


def content_security_policy() -> str:
    """What the page may do: its own style and script; no host is asked, no form sent, no frame made of it."""
    allowed = f"style-src {_source('page.css')}; script-src {_source('page.js')}; img-src data:"
    return f"default-src 'none'; {allowed}; base-uri 'none'; form-action 'none'; frame-ancestors 'none'"


@cache
def _part(name: str) -> str:
    return (_HERE / name).read_text("utf-8")


def _source(name: str) -> str:
    return f"'sha256-{base64.b64encode(sha256(_part(name).encode()).digest()).decode()}'"


def _page(document: Json) -> Iterator[str]:
    info, channels, handlers = document["info"], document["channels"], _handlers(document)
    schemas = document["components"]["schemas"]
    yield '<!doctype html><html lang="en"><head><meta charset="utf-8">'
    yield '<meta name="viewport" content="width=device-width, initial-scale=1"><link rel="icon" href="data:,">'
    yield f"<title>{escape(info['title'])}: topics, messages, schemas</title>"
    yield f"<style>{_part('page.css')}</style></head><body>"
    yield '<nav aria-label="Contents"><input type="search" placeholder="Search ( / )" aria-label="Search">'
    yield from _contents("Topics", "topic", ((name, channel["address"]) for name, channel in channels.items()))
    yield from _contents("Handlers", "handler", ((name, name) for name in handlers))
    yield from _contents("Schemas", "schema", ((name, name) for name in schemas))
    yield f"</nav><main><h1>{escape(info['title'])} <small>{escape(info['version'])} · "
    yield f"AsyncAPI {escape(document['asyncapi'])}</small></h1><p>{escape(info['description'])}</p>"
    yield '<p class="quiet">The document: <a href="/asyncapi.yaml">YAML</a> · <a href="/asyncapi.json">JSON</a></p>'
    yield '<p id="nothing" class="quiet none">Nothing holds all these words. Escape shows everything again.</p>'
    yield "<h2>Topics</h2>"
    for name, channel in channels.items():
        yield from _channel(name, channel, document, handlers)
    yield "<h2>Handlers</h2>"
    for name, operations in handlers.items():
        yield from _handler(name, operations, channels)
    yield "<h2>Schemas</h2>"
    for name, schema in schemas.items():
        yield f'<section id="schema-{escape(name)}"><h3 class="name">{escape(name)}</h3>'
        yield f"{_text(schema.get('description', ''))}{''.join(_fields(schema))}</section>"
    yield f"</main><script>{_part('page.js')}</script></body></html>"


def _contents(title: str, kind: str, entries: Iterable[tuple[str, str]]) -> Iterator[str]:
    yield f"<h2>{title}</h2><ul>"
    for name, shown in entries:
        yield f"<li>{_link(kind, name, shown)}</li>"
    yield "</ul>"


def _link(kind: str, name: str, shown: str | None = None) -> str:
    return f'<a href="#{kind}-{escape(name)}">{escape(shown or name)}</a>'


def _handlers(document: Json) -> dict[str, dict[str, Any]]:
    """Operations by handler: what it receives, and the channels it sends to."""
    found: dict[str, dict[str, Any]] = {}
    for name, operation in document["operations"].items():
        handler = found.setdefault(name.split(".")[0], {"sends": []})
        if operation["action"] == "receive":
            handler["receive"] = operation
        else:
            handler["sends"].append(_named(operation["channel"]))
    return found


def _channel(name: str, channel: Json, document: Json, handlers: Mapping[str, Json]) -> Iterator[str]:
    kafka = channel["bindings"]["kafka"]
    writers = [handler for handler, its in handlers.items() if name in its["sends"]]
    readers = [handler for handler, its in handlers.items() if _named(its["receive"]["channel"]) == name]
    messages = [document["components"]["messages"][key] for key in channel["messages"]]
    yield f'<section id="topic-{escape(name)}"><h3 class="name">{escape(channel["address"])}</h3>'
    yield f"<p>{escape(channel['description'])}</p><dl>"
    yield f"<dt>Key</dt><dd>{escape(messages[0]['bindings']['kafka']['key']['description'])}</dd>"
    yield f"<dt>Partitions</dt><dd>{kafka['partitions']}</dd>"
    if policy := kafka.get("topicConfiguration", {}).get("cleanup.policy"):
        yield f"<dt>Cleanup</dt><dd>{escape(', '.join(policy))}</dd>"
    for term, names, others in (("Written by", writers, "x-written-by"), ("Read by", readers, "x-read-by")):
        if told := [*(_link("handler", one) for one in names), *map(escape, channel.get(others, ()))]:
            yield f"<dt>{term}</dt><dd>{', '.join(told)}</dd>"
    yield "</dl>"
    for message in messages:
        yield from _message(message, document)
    yield "</section>"


def _message(message: Json, document: Json) -> Iterator[str]:
    yield f'<h4><span class="name">{escape(message["name"])}</span> <span class="tag">'
    yield f"{escape(message['contentType'])}</span></h4>{_text(message.get('summary', ''))}"
    if reference := message["payload"].get("$ref"):
        name = reference.rsplit("/", 1)[1]
        yield "".join(_fields(document["components"]["schemas"][name]))
    else:
        yield f'<p class="quiet">The value: {_kind(message["payload"])}</p>'
    traits = [document["components"]["messageTraits"][_named(trait)] for trait in message.get("traits", ())]
    headers = message.get("headers") or next((trait["headers"] for trait in traits), None)
    if headers:
        yield f"<details><summary>Headers</summary>{''.join(_fields(headers))}</details>"
    for example in message.get("examples", ()):
        yield f"<details><summary>Example: {escape(example['name'].replace('_', ' '))}</summary>"
        for part in ("headers", "payload"):
            if part in example:
                value = example[part]
                told = value if isinstance(value, str) else json.dumps(value, ensure_ascii=False, indent=2)
                yield f'<pre tabindex="0">{escape(told)}</pre>'
        yield "</details>"


def _handler(name: str, operations: Json, channels: Mapping[str, Json]) -> Iterator[str]:
    receive = operations["receive"]
    yield f'<section id="handler-{escape(name)}"><h3 class="name">{escape(name)} '
    yield "".join(f'<span class="tag">{escape(tag["name"])}</span>' for tag in receive.get("tags", ()))
    yield f"</h3>{_text(receive.get('summary', ''))}<dl>"
    yield f"<dt>Group</dt><dd><code>{escape(receive['bindings']['kafka']['groupId']['const'])}</code></dd>"
    for term, names in (("Reads", [_named(receive["channel"])]), ("Writes", operations["sends"])):
        links = (_link("topic", one, channels[one]["address"]) for one in names)
        yield f"<dt>{term}</dt><dd>{'<br>'.join(links)}</dd>"
    yield "</dl></section>"


def _fields(schema: Json) -> Iterator[str]:
    """A table of an object's fields; of anything else, what it may be."""
    fields = schema.get("properties")
    if not fields:
        yield f"<p>{_kind(schema)}</p>"
        return
    needed = set(schema.get("required", ()))
    yield "<table><thead><tr><th>Field</th><th>Type</th><th>Meaning</th></tr></thead><tbody>"
    for name, field in fields.items():
        need = ' <span class="tag need">required</span>' if name in needed else ""
        yield f'<tr><td><span class="name">{escape(name)}</span>{need}</td><td>{_kind(field)}</td>'
        yield f"<td>{_text(field.get('description', ''))}{_limits(field)}</td></tr>"
    yield "</tbody></table>"


def _kind(schema: Json) -> str:
    if reference := schema.get("$ref"):
        return _link("schema", reference.rsplit("/", 1)[1])
    if choices := schema.get("anyOf") or schema.get("oneOf") or schema.get("allOf"):
        return " or ".join(dict.fromkeys(_kind(choice) for choice in choices))
    if "const" in schema:
        return f"<code>{escape(json.dumps(schema['const'], ensure_ascii=False))}</code>"
    if "enum" in schema:
        return " | ".join(f"<code>{escape(str(value))}</code>" for value in schema["enum"])
    if schema.get("type") == "array":
        places = schema.get("prefixItems")
        return f"list of ({', '.join(map(_kind, places))})" if places else f"list of {_kind(schema.get('items', {}))}"
    if isinstance(more := schema.get("additionalProperties"), Mapping):
        return f"object of {_kind(more)}"
    return escape(str(schema.get("type", "anything")))


def _limits(schema: Json) -> str:
    """Bounds and default, also of the one choice that is not null."""
    parts = [schema, *schema.get("anyOf", ()), *([schema["items"]] if isinstance(schema.get("items"), Mapping) else ())]
    told = [words.format(part[key]) for part in parts for key, words in _BOUNDS if key in part]
    if schema.get("default") is not None:
        told.append(f"default {json.dumps(schema['default'], ensure_ascii=False)}")
    return f'<p class="quiet">{escape(", ".join(told))}</p>' if told else ""


def _text(text: str) -> str:
    """Paragraphs; words between backticks are code."""
    paragraphs = [escape(paragraph).split("`") for paragraph in text.split("\n") if paragraph.strip()]
    return "".join(
        f"<p>{''.join(f'<code>{part}</code>' if number % 2 else part for number, part in enumerate(parts))}</p>"
        for parts in paragraphs
    )


def _named(reference: Json) -> str:
    return str(reference["$ref"].rsplit("/", 1)[1])


Render = Callable[[dict[str, Any]], str]
Body = Callable[[], Awaitable[bytes]]


def asyncapi_routes(prefix: str) -> list[tuple[str, Mapping[str, str], Body]]:
    """For each path its response headers and what makes its body; ``prefix`` is that of topics and groups."""
    return [
        ("/asyncapi", _headers("text/html"), _body(prefix, asyncapi_page)),
        ("/asyncapi.yaml", _headers("application/yaml"), _body(prefix, to_yaml)),
        ("/asyncapi.json", _headers("application/json"), _body(prefix, to_json)),
    ]


def _headers(media_type: str) -> dict[str, str]:
    return {
        "content-type": f"{media_type}; charset=utf-8",
        "content-security-policy": content_security_policy(),
        "x-content-type-options": "nosniff",
        "referrer-policy": "no-referrer",
        "cache-control": "no-cache",
    }


def _body(prefix: str, render: Render) -> Body:
    made: list[bytes] = []

    async def body() -> bytes:
        if not made:
            made.append(await asyncio.to_thread(_render, prefix, render))
        return made[0]

    return body


def _render(prefix: str, render: Render) -> bytes:
    return render(asyncapi_document(prefix)).encode()
