"""What handlers may ask for below a bound of costs: a question that there is no money for is not answered at all.

In go a need and the world that answers it; out comes the reply, or nothing until the record is let go of. To the
pipeline a bound that is reached would look like a provider that is down: tries would be used up, and circuit breakers
would open and close while the last calls come back.
"""

from __future__ import annotations

import asyncio

from schemas.needs import Need
from schemas.replies import ModelUnavailable, Reply
from streams.pipeline.decide import World
from streams.replay.cost import CostBound


class BoundedWorld:
    """A ``World`` whose refused questions wait for the end of the stage."""

    def __init__(self, world: World, bound: CostBound | None) -> None:
        """Takes the world that answers, and the bound, None where nothing is paid."""
        self._world = world
        self._bound = bound
        self.asking = 0
        """Needs that are being answered."""

    @property
    def is_spent(self) -> bool:
        """Whether the bound has refused a question."""
        return self._bound is not None and self._bound.reached.is_set()

    async def answer(self, need: Need, run: str | None) -> Reply:
        """The reply to a need; does not return where the money is spent and nobody has answered."""
        self.asking += 1
        try:
            reply = await self._world.answer(need, run)
        finally:
            self.asking -= 1
        if self.is_spent and isinstance(reply, ModelUnavailable):
            await asyncio.get_running_loop().create_future()
        return reply
