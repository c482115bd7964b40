"""The outcome of an input of each task under each fault of a model's server."""

from tests.tables import tables

TABLES = tables(__file__)

MATRIX = TABLES["matrix"]
"""What becomes of an input of each task under the faults of a kind (whose commas are colons here): the outcome that its
event names, and whose score it has. ``waits``: it is tried again."""

BEHAVED = TABLES["behaved"]


def cells() -> list[tuple[str, str, str]]:
    """Fault, task and what is expected."""
    return [
        (fault.replace(":", ","), task, word)
        for faults, words in MATRIX.items()
        for fault in faults.split(", ")
        for task, word in zip(BEHAVED, words.split(", "), strict=True)
    ]
