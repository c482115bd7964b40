"""Telling results apart: evidence, page type, actionable score, and when to extract."""
