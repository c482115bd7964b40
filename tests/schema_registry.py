"""A small schema registry on loopback: the two requests that Assay sends, with the errors of Confluent's registry."""

import json
from base64 import b64encode
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from threading import Thread
from typing import Any
from urllib.parse import unquote

import jsonschema

Answer = tuple[int, dict[str, Any], dict[str, str]]
"""Status, document and headers."""


def error(status: int, code: int, message: str, **headers: str) -> Answer:
    return status, {"error_code": code, "message": message}, headers


@dataclass
class SchemaRegistry:
    """What the registry has, and how it answers; the test sets and reads its fields."""

    url: str = ""
    first_id: int = 1
    user: tuple[str, str] | None = None
    answers: list[Answer] = field(default_factory=list)
    """Given to the next requests, one each, in place of the registry's own."""
    incompatible: set[str] = field(default_factory=set)
    """Subjects that take no other schema."""
    subjects: dict[str, list[int]] = field(default_factory=dict)
    schemas: dict[int, dict[str, Any]] = field(default_factory=dict)
    asked: list[str] = field(default_factory=list)

    def answer(self, path: str, body: dict[str, Any], authorization: str | None) -> Answer:
        self.asked.append(path)
        if self.answers:
            return self.answers.pop(0)
        if self.user is not None and authorization != f"Basic {b64encode(':'.join(self.user).encode()).decode()}":
            return error(401, 401, "Unauthorized")
        _, root, subject, *versions = path.split("/")
        assert (root, versions in ([], ["versions"]), body["schemaType"]) == ("subjects", True, "JSON")
        subject, schema = unquote(subject), json.loads(body["schema"])
        try:
            jsonschema.Draft202012Validator.check_schema(schema)
        except jsonschema.SchemaError as invalid:
            return error(422, 42201, f"Invalid schema: {invalid.message}")
        known = next((number for number in self.subjects.get(subject, ()) if self.schemas[number] == schema), None)
        if known is not None:
            return 200, {"id": known}, {}
        if not versions:
            if subject not in self.subjects:
                return error(404, 40401, f"Subject '{subject}' not found.")
            return error(404, 40403, "Schema not found")
        if subject in self.incompatible:
            return error(409, 409, "Schema being registered is incompatible with an earlier schema")
        return 200, {"id": self.add(subject, schema)}, {}

    def add(self, subject: str, schema: dict[str, Any]) -> int:
        """Registers a schema; the same one of another subject keeps its id."""
        following = self.first_id + len(self.schemas)
        number = next((known for known, its in self.schemas.items() if its == schema), following)
        self.schemas[number] = schema
        self.subjects.setdefault(subject, []).append(number)
        return number


@contextmanager
def schema_registry() -> Iterator[SchemaRegistry]:
    """Serves while the block runs."""
    registry = SchemaRegistry()

    class Requests(BaseHTTPRequestHandler):
        def do_POST(self) -> None:
            body = json.loads(self.rfile.read(int(self.headers["content-length"])))
            status, document, headers = registry.answer(self.path, body, self.headers["authorization"])
            self.send_response(status)
            for name, value in headers.items():
                self.send_header(name.replace("_", "-"), value)
            self.end_headers()
            self.wfile.write(json.dumps(document).encode())

        def log_message(self, *_: Any) -> None:
            """Says nothing."""

    with ThreadingHTTPServer(("127.0.0.1", 0), Requests) as server:
        registry.url = f"http://127.0.0.1:{server.server_address[1]}"
        Thread(target=server.serve_forever, daemon=True).start()
        try:
            yield registry
        finally:
            server.shutdown()
