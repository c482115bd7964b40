"""How much of a model's limits is this process's: without a coordinator, by the partitions it holds.

A task's part of its model is its weight against those of the model's other tasks; a process's part of the task is that
of the partitions of the handler's topics (its own and its retry topics) which are assigned to it. As every partition
has one owner, the parts of all processes never come to more than the whole, not during a rebalance either.

Replays have a fixed part of every limit and live traffic has the rest, whether a replay runs or not: nobody has to know
of the others, and the live traffic does not wait until a replay has noticed it.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence


class Shares:
    """This process's parts. A process that holds no partitions because it reads no topics has everything."""

    def __init__(
        self, models: Mapping[str, str], weights: Mapping[str, float], part: float = 1.0, at_once: bool = False
    ) -> None:
        """Takes each task's model and weight, and the part of all limits that is there for such processes.

        Args:
            models: Of each task.
            weights: Of each task.
            part: Of all limits.
            at_once: Whether each task's first question waits for no turn, as where somebody waits for a command.
        """
        self.at_once = at_once
        self._part = part
        self._models = dict(models)
        self._weights = dict(weights)
        self._topics: dict[str, dict[str, float]] = {}

    def expect(self, task: str, topics: Sequence[str]) -> None:
        """From now on the task's part is what is ``told`` of these topics, nothing before that."""
        self._topics[task] = dict.fromkeys(topics, 0.0)

    def told(self, task: str, topic: str, held: int, of: int) -> None:
        """This process holds so many of the topic's partitions now."""
        parts = self._topics.get(task)
        if parts is not None and topic in parts:
            parts[topic] = min(1.0, held / of) if of > 0 else 0.0

    def beside(self, task: str) -> tuple[str, ...]:
        """The other tasks that this process reads topics for and that ask the same model.

        The part of a task whose topics others read is used there, so nothing of it is lent here.
        """
        model = self._models.get(task)
        return tuple(other for other in self._topics if other != task and self._models.get(other) == model)

    def of(self, task: str) -> float:
        """The task's part of its model's limits in this process, 0 to 1."""
        model = self._models.get(task)
        rivals = [self._weights.get(other, 1.0) for other, its in self._models.items() if its == model]
        weight = self._weights.get(task, 1.0)
        part = self._part * (weight / sum(rivals) if model is not None and sum(rivals) > 0 else 1.0)
        parts = self._topics.get(task)
        return part if parts is None else part * sum(parts.values()) / len(parts)
