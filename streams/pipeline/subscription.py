"""What one consumer group reads: a handler's own topic, or one of its retry topics."""

from __future__ import annotations

from dataclasses import dataclass

from streams.topology import Handler, RetryTier


@dataclass(frozen=True, slots=True)
class Subscription:
    """A handler and the topic its work comes from; ``topic`` and ``group`` are before the prefix."""

    handler: Handler
    tier: RetryTier | None = None

    @property
    def topic(self) -> str:
        """The topic that is read."""
        return self.tier.topic if self.tier else self.handler.consumes.name

    @property
    def group(self) -> str:
        """The consumer group."""
        return self.tier.group if self.tier else self.handler.group


def subscriptions(handler: Handler) -> tuple[Subscription, ...]:
    """The handler's own topic first, then its retry topics."""
    return (Subscription(handler), *(Subscription(handler, tier) for tier in handler.tiers))
