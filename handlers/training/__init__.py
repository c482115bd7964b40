"""Grows the trees of the ranking from judged and used results."""
