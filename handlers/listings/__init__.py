"""Finds the repeated blocks of a page, and which of them to follow."""
