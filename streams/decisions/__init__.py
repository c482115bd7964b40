"""Decisions for people: their verdict in words, what they are about, and the keys of their records."""
