"""What a page is, and the kinds of pages without content."""

from enum import StrEnum


class State(StrEnum):
    """The state of a page: content, or why it has none."""

    CONTENT = "content"
    GONE = "gone"
    ERROR = "error"
    BLOCKED = "blocked"
    LOGIN = "login"
    PAYWALL = "paywall"
    CONSENT = "consent"
    NEEDS_RENDER = "needs_render"
    EMPTY = "empty"
    PARKED = "parked"


REMOVING = frozenset((State.GONE, State.PARKED))
"""The states in which a page no longer exists, so that the index removes it."""
