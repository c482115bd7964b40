"""Prompt templates, one file a task, and what renders them."""
