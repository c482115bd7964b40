"""An OpenAI-compatible model server on loopback that misbehaves as told: each request is answered by a behaviour.

    async with model_server(says("Relevant")) as server:
        server.script = [status(429, retry_after="1"), hangs()]   # the next requests, in turn; then ``behave`` again
        ...ask at server.base_url...
        server.asked[0].messages

``FAULTS`` names every misbehaviour, for tables of task and fault.
"""

import asyncio
import contextlib
import json
import socket
import struct
from collections.abc import AsyncIterator, Awaitable, Callable, Mapping, Sequence
from contextlib import asynccontextmanager
from dataclasses import dataclass, field
from time import monotonic
from typing import Any


@dataclass
class Asked:
    """One request as it came.

    Attributes:
        at: When its head was read, in seconds of the monotonic clock (of the machine, for all processes).
        path: Of the request line.
        headers: Names in lower case.
        body: The JSON of the request.
        ended: How it ended: answered, or abandoned by the client.
    """

    at: float
    path: str
    headers: dict[str, str]
    body: dict[str, Any]
    ended: str = "open"

    @property
    def messages(self) -> list[dict[str, Any]]:
        """The conversation."""
        return list(self.body.get("messages", ()))

    @property
    def text(self) -> str:
        """The last message's content."""
        return str(self.messages[-1].get("content") or "") if self.messages else ""


@dataclass
class Wire:
    """The connection of one request."""

    reader: asyncio.StreamReader
    writer: asyncio.StreamWriter
    asked: Asked

    async def send(self, data: bytes) -> None:
        """Writes bytes as they are."""
        self.writer.write(data)
        await self.writer.drain()

    async def until_abandoned(self) -> None:
        """Waits until the client closes the connection."""
        await self.reader.read()
        raise ConnectionResetError


Behaviour = Callable[[Wire], Awaitable[None]]


@dataclass
class ModelServer:
    """What is asked, and how it is answered.

    Attributes:
        behave: Answers every request for which the script has nothing.
        script: Answers the next requests, one each.
        asked: All requests, in their order.
        connections: Open at this moment.
    """

    behave: Behaviour
    script: Sequence[Behaviour] = ()
    asked: list[Asked] = field(default_factory=list)
    connections: int = 0
    base_url: str = ""

    def next_behaviour(self) -> Behaviour:
        """What answers the next request."""
        self.script, first = self.script[1:], self.script[:1]
        return first[0] if first else self.behave

    async def serve(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        """One connection, with request after request."""
        self.connections += 1
        asked: Asked | None = None
        try:
            while True:
                asked = await _request(reader)
                self.asked.append(asked)
                await self.next_behaviour()(Wire(reader, writer, asked))
                asked.ended = "answered"
        except (OSError, asyncio.IncompleteReadError):
            if asked is not None and asked.ended == "open":
                asked.ended = "abandoned"
        finally:
            self.connections -= 1
            writer.close()


@asynccontextmanager
async def model_server(behave: Behaviour | None = None) -> AsyncIterator[ModelServer]:
    """Serves while the block runs."""
    server = ModelServer(behave or says("0.7"))
    tasks: set[asyncio.Task[None]] = set()

    async def connected(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        task = asyncio.current_task()
        assert task is not None
        tasks.add(task)
        task.add_done_callback(tasks.discard)
        with contextlib.suppress(asyncio.CancelledError):
            await server.serve(reader, writer)

    listening = await asyncio.start_server(connected, "127.0.0.1", 0, limit=2**24)
    server.base_url = f"http://127.0.0.1:{listening.sockets[0].getsockname()[1]}/v1"
    try:
        yield server
    finally:
        listening.close()
        for task in tuple(tasks):
            task.cancel()
        await asyncio.gather(*tasks, return_exceptions=True)
        await listening.wait_closed()


# --- well-behaved -----------------------------------------------------------------


def says(
    text: str | None,
    finish_reason: str = "stop",
    usage: Mapping[str, Any] | None = None,
    headers: Mapping[str, str] | None = None,
    **message: Any,
) -> Behaviour:
    """A completion with this text; more fields of the message by name."""

    async def behave(wire: Wire) -> None:
        await wire.send(_http(200, completion(wire, text, finish_reason, usage, **message), headers))

    return behave


def calls_tools(*calls: tuple[str, str]) -> Behaviour:
    """A completion that wants tools called: names, and arguments as JSON text."""
    wanted = [
        {"id": f"call-{number}", "type": "function", "function": {"name": name, "arguments": arguments}}
        for number, (name, arguments) in enumerate(calls)
    ]
    return says(None, "tool_calls", tool_calls=wanted)


def by_message(answer: Callable[[str], Behaviour]) -> Behaviour:
    """Answers each request by its last message's content."""

    async def behave(wire: Wire) -> None:
        await answer(wire.asked.text)(wire)

    return behave


def slow(seconds: float, then: Behaviour) -> Behaviour:
    """Waits, then behaves."""

    async def behave(wire: Wire) -> None:
        await asyncio.sleep(seconds)
        await then(wire)

    return behave


# --- misbehaving -----------------------------------------------------------------


def hangs() -> Behaviour:
    """Takes the request and says nothing."""

    async def behave(wire: Wire) -> None:
        await wire.until_abandoned()

    return behave


def hangs_in_body() -> Behaviour:
    """Sends the head and the beginning of the body, then nothing."""

    async def behave(wire: Wire) -> None:
        await wire.send(_http(200, completion(wire, "0.7"))[:-20])
        await wire.until_abandoned()

    return behave


def drips(every: float = 0.02) -> Behaviour:
    """Sends a byte now and then, so that no timeout between bytes helps."""

    async def behave(wire: Wire) -> None:
        head, body = _http(200, completion(wire, "0.7") | {"padding": "x" * 100_000}).split(b"\r\n\r\n")
        await wire.send(head + b"\r\n\r\n")
        for number in range(len(body)):
            await wire.send(body[number : number + 1])
            await asyncio.sleep(every)

    return behave


def status(code: int, retry_after: str | None = None, message: str = "no", kind: str = "some_error") -> Behaviour:
    """An error in OpenAI's form."""

    async def behave(wire: Wire) -> None:
        headers = {} if retry_after is None else {"retry-after": retry_after}
        error = {"error": {"message": message, "type": kind, "code": kind, "param": None}}
        await wire.send(_http(code, error, headers))

    return behave


def refuses_parameter(name: str, then: Behaviour) -> Behaviour:
    """Status 400 for requests with this parameter; behaves for others."""

    async def behave(wire: Wire) -> None:
        if name in wire.asked.body:
            await status(400, message=f"Unsupported parameter: '{name}' is not supported with this model.")(wire)
        else:
            await then(wire)

    return behave


def resets() -> Behaviour:
    """Closes the connection hard, without an answer."""

    async def behave(wire: Wire) -> None:
        connection = wire.writer.get_extra_info("socket")
        connection.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, struct.pack("ii", 1, 0))
        wire.asked.ended = "reset"
        raise ConnectionResetError

    return behave


def truncated_body() -> Behaviour:
    """Announces more than it sends, and closes."""

    async def behave(wire: Wire) -> None:
        await wire.send(_http(200, completion(wire, "0.7"))[:-20])
        wire.asked.ended = "truncated"
        raise ConnectionResetError

    return behave


def oversized(size: int = 8_000_000, code: int = 200) -> Behaviour:
    """A body that is far too long, without a length announced."""

    async def behave(wire: Wire) -> None:
        await wire.send(f"HTTP/1.1 {code} OK\r\nContent-Type: application/json\r\nConnection: close\r\n\r\n".encode())
        for _ in range(size // 10_000):
            await wire.send(b'{"choices": [' + b" " * 9_987)
        raise ConnectionResetError

    return behave


def raw(body: bytes, code: int = 200) -> Behaviour:
    """Any body."""

    async def behave(wire: Wire) -> None:
        await wire.send(_response(code, body, {}))

    return behave


FAULTS: Mapping[str, Behaviour] = {
    "slow": slow(0.3, says("0.7")),
    "hangs": hangs(),
    "hangs in the body": hangs_in_body(),
    "drips": drips(),
    "429": status(429),
    "429, retry soon": status(429, retry_after="0"),
    "429, retry later": status(429, retry_after="3600"),
    "429, retry some day": status(429, retry_after="some day"),
    "500": status(500),
    "500, half a pair": raw(b'{"error": {"message": "bad \\udfff\\u0000 thing"}}', 500),
    "503": status(503),
    "401": status(401),
    "400": status(400),
    "400, half a pair": raw(b'{"error": {"message": "bad \\ud800\\u0000 thing", "code": "odd"}}', 400),
    "resets": resets(),
    "truncated body": truncated_body(),
    "oversized body": oversized(),
    "oversized error": oversized(code=500),
    "no JSON": raw(b"<html>Bad gateway</html>"),
    "no JSON at all": raw(b"\xff\xfe\x00"),
    "deep JSON": raw(b"[" * 200_000),
    "JSON null": raw(b"null"),
    "wrong schema": raw(b'{"choices": {"0": "yes"}, "usage": "much"}'),
    "wrong types": raw(b'{"choices": [{"message": {"content": 7, "tool_calls": 3}, "finish_reason": []}]}'),
    "odd usage": says("0.7", usage={"prompt_tokens": -5, "completion_tokens": "many"}),
    "NaN body": raw(b'{"choices": [{"message": {"content": NaN}}], "usage": {"prompt_tokens": NaN}}'),
    "empty choices": raw(b'{"choices": []}'),
    "empty text": says(""),
    "null text": says(None),
    "refusal": says(None, refusal="I can't help with that."),
    "content filter": says("", "content_filter"),
    "cut off": says("0.7 or", "length"),
    "NaN": says("NaN"),
    "two numbers": says("0.7 or 0.8"),
    "bold": says("**Relevant**"),
    "irrelevant": says("irrelevant"),
    "prose": says("Certainly! Here is what I think of it."),
    "half JSON": says('{"score": 0.7, "gaps": ['),
    "out of range": says("1.7"),
    "tool storm": calls_tools(*[("vector_search_utterances", '{"query": "x"}')] * 200),
    "unknown tool": calls_tools(("delete_everything", "{}")),
    "bad tool arguments": calls_tools(("vector_search_utterances", "{not json")),
}
"""Every misbehaviour by name."""

ANSWERED = frozenset(
    ("slow", "odd usage", "NaN", "two numbers", "bold", "irrelevant", "prose", "half JSON", "out of range",
     "tool storm", "unknown tool", "bad tool arguments")
)  # fmt: skip
"""Those in which a reply comes, for the handler to judge."""


def completion(
    wire: Wire, text: str | None, finish_reason: str = "stop", usage: Mapping[str, Any] | None = None, **message: Any
) -> dict[str, Any]:
    """The JSON of a completion; tokens are counted as four characters each where no usage is given."""
    prompt = sum(len(str(part.get("content") or "")) for part in wire.asked.messages)
    counted = {"prompt_tokens": prompt // 4, "completion_tokens": len(text or "") // 4 + 1}
    return {
        "id": "completion",
        "object": "chat.completion",
        "created": 0,
        "model": wire.asked.body.get("model", ""),
        "choices": [
            {"index": 0, "message": {"role": "assistant", "content": text, **message}, "finish_reason": finish_reason}
        ],
        "usage": dict(counted if usage is None else usage),
    }


async def _request(reader: asyncio.StreamReader) -> Asked:
    head = (await reader.readuntil(b"\r\n\r\n")).decode("latin-1")
    at = monotonic()
    first, *lines = head.split("\r\n")
    headers = {name.strip().lower(): value.strip() for name, _, value in (line.partition(":") for line in lines)}
    body = await reader.readexactly(int(headers.get("content-length") or 0))
    return Asked(at, first.split(" ")[1], headers, json.loads(body or b"{}"))


def _http(code: int, body: Any, headers: Mapping[str, str] | None = None) -> bytes:
    return _response(code, json.dumps(body).encode(), headers or {})


def _response(code: int, body: bytes, headers: Mapping[str, str]) -> bytes:
    lines = [f"HTTP/1.1 {code} Some", "Content-Type: application/json", f"Content-Length: {len(body)}"]
    lines += [f"{name}: {value}" for name, value in headers.items()]
    return "\r\n".join([*lines, "", ""]).encode() + body
