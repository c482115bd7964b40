"""The type of every setting that names a server. Addresses are shown and written into files, so they have no secret."""

from __future__ import annotations

import re
from dataclasses import dataclass
from typing import Any

from pydantic import GetCoreSchemaHandler, GetJsonSchemaHandler
from pydantic_core.core_schema import CoreSchema, no_info_after_validator_function

from schemas.addresses import web_address, without_user

_HTTP = re.compile(r"https?://[^/\\?#]\S*", re.IGNORECASE)


def without_secret(text: str, secret: str, most: int = 500) -> str:
    """A server's words for logs and screens: without our secret, which a server can repeat, and cut."""
    return (text.replace(secret, "***") if secret else text)[:most]


@dataclass(frozen=True, slots=True)
class ServerAddress:
    """A mark for ``Annotated[str, …]``: an http or https address, or brokers as ``host:port``; "" names no server."""

    secrets: str  # the settings that have the user, the password or the key of this server
    example: str  # of an address; it decides between the two forms

    def check(self, text: str) -> str:
        """The address without blanks around it. Raises ValueError; the message does not repeat the address."""
        text = text.strip()
        is_web = "://" in self.example
        whole = text if "://" in text else f"http://{text}"
        if without_user(whole) != whole or ("@" in text and not is_web):
            raise ValueError(f"has a user or password in it, which others would see: use {self.secrets}")
        if not text:
            return text
        if not is_web:
            servers = [server.strip() for server in text.split(",")]
            if not all(map(_is_broker, servers)):
                raise ValueError(f"is no address: it is like {self.example}")
            return ",".join(servers)
        address = web_address(text)
        if not address or address.port == 0 or not _HTTP.fullmatch(text):
            raise ValueError(f"is not an address: it begins with http:// or https:// and a host, as in {self.example}")
        if "?" in text or "#" in text:
            raise ValueError(f"has a query or a fragment: end it before ? and #, as in {self.example}")
        return text.rstrip("/")

    def __get_pydantic_core_schema__(self, source: Any, handler: GetCoreSchemaHandler) -> CoreSchema:
        return no_info_after_validator_function(self.check, handler(source))

    def __get_pydantic_json_schema__(self, schema: CoreSchema, handler: GetJsonSchemaHandler) -> dict[str, Any]:
        return handler(schema) | {"format": "uri" if "://" in self.example else "hosts"}


def _is_broker(server: str) -> bool:
    host, colon, port = server.rpartition(":")
    is_port = port.isascii() and port.isdigit() and len(port) <= 5 and 0 < int(port) < 65536
    return bool(host and "/" not in host and is_port) if colon else bool(server)
