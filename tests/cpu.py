"""CPU time of work in this thread, for tests that compare a hostile input with a benign one or with a wide bound."""

from collections.abc import Callable
from time import thread_time


def cpu_seconds(work: Callable[[], object]) -> float:
    """CPU seconds that ``work`` takes in this thread. Time in which other processes run does not count."""
    begin = thread_time()
    work()
    return thread_time() - begin
