"""Replays: what has been decided is decided again, over a bounded part of a topic, beside live traffic."""
