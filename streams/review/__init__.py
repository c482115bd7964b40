"""Editors' marks on decisions: agreement, and the rows of an export."""
