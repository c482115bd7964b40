"""Replays: what has been decided is decided again, over a bounded part of a topic, beside live traffic.

``ranges`` sets its offsets, ``pace`` limits its rate, and ``budget`` its cost.
"""
