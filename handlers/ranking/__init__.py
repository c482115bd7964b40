"""Ranks the candidates of a query: words, judge, trees, trust and diversity."""
