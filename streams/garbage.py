"""How often Python's garbage collector looks for cycles in a worker."""

from __future__ import annotations

import gc

_OBJECTS_BETWEEN_LOOKS = 20_000
"""Python's own 700 means several looks with every page, at objects that their last reference frees anyway."""


def spare_collector() -> None:
    """Leaves out what is there now, which stays for good, and looks at the rest less often. Called once, after a start.

    Pages and records make no cycles, so memory stays flat; what makes some, such as a failed task, is still found.
    """
    gc.collect()
    gc.freeze()
    gc.set_threshold(_OBJECTS_BETWEEN_LOOKS, 20, 20)
