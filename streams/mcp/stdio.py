"""MCP over the lines of two file descriptors: each line with a request is answered, also one that cannot be read.

The SDK drops lines that it cannot read, does not end at Ctrl-C before the next line, and forgets open requests at the
end of the input.
"""

from __future__ import annotations

import json
import os
from collections.abc import AsyncIterator, Iterator
from contextlib import suppress
from select import PIPE_BUF
from typing import Any

import anyio
import mcp_types as wire
from mcp.server.lowlevel import Server
from mcp.shared.message import SessionMessage
from pydantic import ValidationError

LONGEST_LINE = 16 * 1024 * 1024
_CHUNK = 1 << 16


async def answer_lines(server: Server[Any], source: int, sink: int) -> None:
    """Answers lines until the source ends and all requests are answered, or until the client closes the sink."""
    requests, incoming = anyio.create_memory_object_stream[SessionMessage | Exception](0)
    answers, outgoing = anyio.create_memory_object_stream[SessionMessage](0)
    unanswered, answered = set[str](), anyio.Event()

    async def read() -> None:
        nonlocal answered
        async with requests:
            async for line in _lines(source):
                for message in messages_of(line):
                    if isinstance(message, wire.JSONRPCRequest):
                        unanswered.add(str(message.id))
                    elif isinstance(message, wire.JSONRPCNotification) and message.method == "notifications/cancelled":
                        unanswered.discard(str((message.params or {}).get("requestId")))
                    target = answers if isinstance(message, wire.JSONRPCError) else requests
                    await target.send(SessionMessage(message))
            while unanswered:
                answered = anyio.Event()
                await answered.wait()

    async def write() -> None:
        async for item in outgoing:
            text = item.message.model_dump_json(by_alias=True, exclude_unset=True)
            try:
                await _write(sink, memoryview(text.encode() + b"\n"))
            except ConnectionError:
                tasks.cancel_scope.cancel()
            if isinstance(item.message, wire.JSONRPCResponse | wire.JSONRPCError):
                unanswered.discard(str(item.message.id))
                answered.set()

    async with anyio.create_task_group() as tasks:
        tasks.start_soon(read)
        tasks.start_soon(write)
        await server.run(incoming, answers, server.create_initialization_options())
        tasks.cancel_scope.cancel()


def messages_of(line: bytes) -> Iterator[wire.JSONRPCMessage]:
    """The messages of a line, which can be a batch; in place of an unreadable one, the error that answers it."""
    if len(line) > LONGEST_LINE:
        yield _error(wire.INVALID_REQUEST, f"the line is longer than {LONGEST_LINE} bytes")
        return
    if not (text := line.decode("utf-8-sig", "replace")).strip():
        return
    try:
        # A text that was cut inside a pair of surrogates has half of it; no store and no encoding accepts that.
        halves = json.dumps(json.loads(text), ensure_ascii=False).encode("utf-16", "surrogatepass")
        found = json.loads(halves.decode("utf-16", "replace"))
    except (ValueError, RecursionError):
        yield _error(wire.PARSE_ERROR, "the line is not JSON")
        return
    for member in found if isinstance(found, list) and found else [found]:
        if (message := _message(member)) is not None:
            yield message


def _message(member: Any) -> wire.JSONRPCMessage | None:
    """The request or notification, or the error that answers it; None for what gets no answer."""
    fields = member if isinstance(member, dict) else {}
    its_id = fields.get("id")
    if "id" in fields and type(its_id) not in (str, int):
        return _error(wire.INVALID_REQUEST, "the id is neither a text nor an integer")
    try:
        message = wire.jsonrpc_message_adapter.validate_python(member, by_name=False)
    except (ValidationError, RecursionError):
        if fields.get("jsonrpc") != "2.0" or not isinstance(fields.get("method"), str):
            return _error(wire.INVALID_REQUEST, "not a request of JSON-RPC 2.0 with a method and an id", its_id)
        return _error(wire.INVALID_PARAMS, "params must be an object", its_id) if "id" in fields else None
    # The server asks nothing, so an answer is of no use.
    return None if isinstance(message, wire.JSONRPCResponse | wire.JSONRPCError) else message


def _error(code: int, message: str, its_id: str | int | None = None) -> wire.JSONRPCError:
    return wire.JSONRPCError(jsonrpc="2.0", id=its_id, error=wire.ErrorData(code=code, message=message))


async def _lines(source: int) -> AsyncIterator[bytes]:
    """Lines without their end; a line that is too long is cut after one byte too many."""
    line = bytearray()
    while chunk := await _read(source):
        first, *others = chunk.split(b"\n")
        line += first[: LONGEST_LINE + 1 - len(line)]
        for other in others:
            yield bytes(line)
            line = bytearray(other)
    yield bytes(line)


async def _read(source: int) -> bytes:
    with suppress(PermissionError):  # a file can always be read
        await anyio.wait_readable(source)
    with suppress(ConnectionError):
        return os.read(source, _CHUNK)
    return b""


async def _write(sink: int, data: memoryview) -> None:
    while data:
        with suppress(PermissionError):
            await anyio.wait_writable(sink)
        # A pipe that can be written to takes this much without blocking the event loop.
        data = data[os.write(sink, data[:PIPE_BUF]) :]
