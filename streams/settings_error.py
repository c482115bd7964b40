"""Why the configuration can't be used; apart from what reads it, for the command line tells of it without that."""

from __future__ import annotations


class SettingsError(Exception):
    """The configuration can't be used; the message says which key, why, and where it came from."""
