"""Whether every input came to something, and to it once: inputs held against what was committed for them. Pure.

Each output and each dead letter names the input behind it, so nothing has to be known of what a handler decides.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import NamedTuple

from streams.topology import Handler, Topic


class Trace(NamedTuple):
    """What a record's headers say of its place in the chain.

    Attributes:
        identity: Of the event; for a record without headers, where it stood.
        cause: Identity of the input it answers; "" where it came from outside.
        writer: The handler that wrote it; "" likewise.
    """

    identity: str
    cause: str = ""
    writer: str = ""


@dataclass(frozen=True, slots=True)
class Balance:
    """One handler's inputs and what they became.

    Attributes:
        taken: Inputs on its topic.
        answered: Inputs that at least one output names as its cause.
        dead: Inputs on its dead letter topic.
        dropped: Inputs that the handler had nothing to say to; only it knows.
        missing: Inputs of which nothing is known.
        twice: Inputs that came to something more than once.
    """

    taken: int
    answered: int
    dead: int
    dropped: int
    missing: int
    twice: int


class Account:
    """What each handler was given and what came of it."""

    def __init__(self, handlers: Sequence[Handler]) -> None:
        """Takes the handlers that are held to account."""
        self._handlers = handlers
        self._inputs: dict[str, Counter[str]] = {}
        self._outputs: dict[str, Counter[tuple[str, str]]] = {handler.name: Counter() for handler in handlers}
        self._dead: dict[str, Counter[str]] = {handler.name: Counter() for handler in handlers}

    def see(self, topic: Topic, trace: Trace) -> None:
        """A record on a topic."""
        self._inputs.setdefault(topic.name, Counter())[trace.identity] += 1
        if trace.writer in self._outputs:
            self._outputs[trace.writer][trace.cause, trace.identity] += 1

    def see_dead(self, handler: str, identity: str) -> None:
        """A record on a handler's dead letter topic."""
        self._dead.setdefault(handler, Counter())[identity] += 1

    def balances(self, dropped: Mapping[str, int]) -> dict[str, Balance]:
        """How each handler stands, in the order of the topology. Takes how many inputs each has dropped."""
        return {handler.name: self._balance(handler, dropped.get(handler.name, 0)) for handler in self._handlers}

    def _balance(self, handler: Handler, dropped: int) -> Balance:
        inputs = self._inputs.get(handler.consumes.name, Counter())
        outputs, dead = self._outputs[handler.name], self._dead[handler.name]
        answered = {cause for cause, _ in outputs}
        # The same input given twice is answered twice, under the same ids.
        twice = {cause for (cause, _), times in outputs.items() if times > inputs[cause]}
        twice |= {identity for identity, times in dead.items() if times > inputs[identity] or identity in answered}
        missing = len(inputs.keys() - answered - dead.keys()) - dropped
        return Balance(
            taken=inputs.total(),
            answered=sum(inputs[cause] for cause in answered),
            dead=dead.total(),
            dropped=dropped,
            missing=missing,
            twice=len(twice),
        )


def faults(balances: Mapping[str, Balance]) -> list[str]:
    """What does not add up, one line a handler; empty where every input came to something once."""
    return [
        f"{name}: {balance.taken} in, {balance.missing} without an outcome, {balance.twice} with more than one"
        for name, balance in balances.items()
        if balance.missing or balance.twice
    ]
