"""The application. ``streams.app:app`` is the one of ``faststream run``."""

from typing import Any


def __getattr__(name: str) -> Any:
    """Makes ``app`` when it is first used, so an import opens nothing."""
    if name == "app":
        from streams.app.application import faststream_app

        return faststream_app()
    raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
