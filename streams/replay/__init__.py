"""Replays: what has been decided is decided again, over a bounded part of a topic, beside live traffic.

``ranges`` sets its offsets, ``processor`` limits its rate, and ``budget`` its cost. Whatever asks the cluster raises
KafkaError if it can't be reached.
"""
