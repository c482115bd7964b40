"""One call for all who ask the same question at the same time: they share its reply, whatever it is.

A failure is shared too. Who would ask again after each other's timeouts would wait for as many deadlines.
"""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable

from schemas.replies import ModelFailed, ModelReply, ModelUnavailable

Replied = ModelReply | ModelFailed | ModelUnavailable


class Flights:
    """Questions on their way, by key. A key that nobody asks for is forgotten. Not safe across event loops."""

    def __init__(self) -> None:
        self._landings: dict[str, asyncio.Future[Replied]] = {}

    def __len__(self) -> int:
        return len(self._landings)

    async def share(self, key: str, ask: Callable[[], Awaitable[Replied]]) -> Replied:
        """The first to come asks; all others get its reply, as one that took no call.

        Where the first one is cancelled the next asks.
        """
        while (landing := self._landings.get(key)) is not None:
            await asyncio.wait((landing,))
            if not landing.cancelled():
                return _another_s(landing.result())
        landing = self._landings[key] = asyncio.get_running_loop().create_future()
        try:
            reply = await ask()
        except BaseException:
            del self._landings[key]
            landing.cancel()
            raise
        del self._landings[key]
        landing.set_result(reply)
        return reply


def _another_s(reply: Replied) -> Replied:
    """A reply for those who only waited: what it cost is told once."""
    if isinstance(reply, ModelUnavailable):
        return reply
    call = reply.call.model_copy(update={"attempts": 0, "latency_ms": 0, "cost_usd": 0.0, "cached": True})
    if isinstance(reply, ModelReply):
        return ModelReply(reply.text, reply.tool_calls, call)
    return ModelFailed(call, reply.detail)
