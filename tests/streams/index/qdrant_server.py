"""The part of a Qdrant server that Assay uses, on loopback: its REST paths over the client's own embedded store.

It can refuse, send ``Retry-After``, and hang, as a faulty server does.
"""

from __future__ import annotations

import json
import re
import time
import warnings
from collections.abc import Iterator
from contextlib import contextmanager
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from threading import Lock, Thread
from typing import Any

from qdrant_client import QdrantClient, models

NAME = "documents"


class QdrantServer:
    """A server under test's control.

    Attributes:
        url: Where it listens.
        status: Answered to everything while it is not 200, with ``headers``.
        delay_seconds: Before each answer.
        asked: Method and path of each request.
    """

    def __init__(self, port: int = 0) -> None:
        self.client = QdrantClient(":memory:")
        self.status = 200
        self.headers: dict[str, str] = {}
        self.delay_seconds = 0.0
        self.asked: list[tuple[str, str]] = []
        self._one = Lock()
        self._server = ThreadingHTTPServer(("127.0.0.1", port), self._handler())
        self._server.daemon_threads = True
        self.url = f"http://127.0.0.1:{self._server.server_address[1]}"
        self._thread = Thread(target=self._server.serve_forever, kwargs={"poll_interval": 0.05})

    @contextmanager
    def listening(self) -> Iterator[QdrantServer]:
        """Serves while the block runs."""
        self._thread.start()
        try:
            yield self
        finally:
            self._server.shutdown()
            self._thread.join()
            self._server.server_close()

    def answer(self, method: str, path: str, body: dict[str, Any]) -> Any:
        """The result of a request."""
        client = self.client
        name, rest = re.fullmatch(r"/collections/([^/?]+)([^?]*)(?:\?.*)?", path).groups()  # type: ignore[union-attr]
        with self._one:
            match method, rest:
                case "GET", "/exists":
                    return {"exists": client.collection_exists(name)}
                case "GET", "":
                    return client.get_collection(name).model_dump(mode="json")
                case "PUT", "":
                    return client.create_collection(name, models.VectorParams.model_validate(body["vectors"]))
                case "PUT", "/index":
                    return {"operation_id": 0, "status": "acknowledged"}
                case "POST", "/points":
                    found = client.retrieve(name, body["ids"])
                    return [record.model_dump(mode="json") for record in found]
                case "PUT", "/points":
                    points = [models.PointStruct.model_validate(point) for point in body["points"]]
                    return client.upsert(name, points).model_dump(mode="json")
                case "POST", "/points/payload":
                    return client.set_payload(name, body["payload"], body["points"]).model_dump(mode="json")
                case "POST", "/points/delete":
                    selected = models.PointIdsList(points=body["points"])
                    return client.delete(name, selected).model_dump(mode="json")
                case "POST", "/points/count":
                    return {"count": client.count(name, _filter_of(body)).count}
                case "POST", "/points/query":
                    hits = client.query_points(
                        name, body["query"]["nearest"], query_filter=_filter_of(body), limit=body["limit"]
                    )
                    return hits.model_dump(mode="json")
                case "POST", "/points/scroll":
                    records, _ = client.scroll(name, limit=body["limit"])
                    return {"points": [record.model_dump(mode="json") for record in records], "next_page_offset": None}
        raise AssertionError((method, path))

    def _handler(self) -> type[BaseHTTPRequestHandler]:
        server = self

        class Handler(BaseHTTPRequestHandler):
            protocol_version = "HTTP/1.1"

            def _serve(self) -> None:
                length = int(self.headers.get("content-length") or 0)
                body = json.loads(self.rfile.read(length)) if length else {}
                server.asked.append((self.command, self.path))
                time.sleep(server.delay_seconds)
                status = server.status
                if status == 200 and "/points" in self.path and not server.client.collection_exists(NAME):
                    status = 404
                if status == 200:
                    with warnings.catch_warnings():
                        warnings.simplefilter("ignore", UserWarning)
                        reply = {"result": server.answer(self.command, self.path, body), "status": "ok", "time": 0.0}
                else:
                    reply = {"status": {"error": "out of order"}, "time": 0.0}
                content = json.dumps(reply).encode()
                try:
                    self.send_response(status)
                    for key, value in server.headers.items():
                        self.send_header(key, value)
                    self.send_header("content-type", "application/json")
                    self.send_header("content-length", str(len(content)))
                    self.end_headers()
                    self.wfile.write(content)
                except OSError:
                    return

            do_GET = do_PUT = do_POST = _serve  # noqa: N815 - the names are the library's

            def log_message(self, format: str, *args: object) -> None:
                pass

        return Handler


def _filter_of(body: dict[str, Any]) -> models.Filter | None:
    return models.Filter.model_validate(body["filter"]) if body.get("filter") else None
