"""Indexing: how far a page is trusted and how deep it is indexed for it, as the configuration has it."""
