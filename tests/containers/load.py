"""Pages published from outside while the composition changes, and their results."""

import asyncio
from collections import Counter
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from dataclasses import dataclass

from tests.kafka.installation import SCORED, Installation, page, until

_BATCH = 25


@dataclass
class Load:
    """Pages at a steady rate.

    Attributes:
        installation: Where they go.
        run: A unique name, which is a part of every address.
        rate: Pages a second.
        published: So far.
    """

    installation: Installation
    run: str
    rate: float = 100.0
    published: int = 0

    @asynccontextmanager
    async def flowing(self) -> AsyncIterator[None]:
        """Publishes while the block runs; what was begun is sent before it ends."""
        enough = asyncio.Event()
        going = asyncio.create_task(self._flow(enough))
        try:
            yield
        finally:
            enough.set()
            await going

    async def results(self) -> Counter[str]:
        """How often each page of this run was answered, when the group has read everything."""

        async def read_up() -> bool:
            return await self.installation.committed() == await self.installation.ends()

        await until(read_up, seconds=180)
        keys = [record.key.decode() for record in await self.installation.read(SCORED)]
        return Counter(key for key in keys if f"/{self.run}-" in key)

    def expected(self) -> Counter[str]:
        """Each published page, once."""
        return Counter(self._address(number) for number in range(self.published))

    def _address(self, number: int) -> str:
        return f"https://site.example/{self.run}-{number}"

    async def _flow(self, enough: asyncio.Event) -> None:
        while not enough.is_set():
            numbers = range(self.published, self.published + _BATCH)
            await self.installation.feed([self._page(number) for number in numbers])
            self.published += _BATCH
            await asyncio.sleep(_BATCH / self.rate)

    def _page(self, number: int) -> tuple[bytes, bytes]:
        key, value = page(0)
        address = self._address(number).encode()
        return address, value.replace(key, address)
