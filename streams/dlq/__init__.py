"""Reads dead letters, sends them again, and deletes them."""
