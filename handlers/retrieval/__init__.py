"""Evaluates a batch of results: coverage of the query, rubric, a model's reply."""
