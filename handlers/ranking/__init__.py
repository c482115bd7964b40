"""Ranking: tokens, BM25, intent, fusion, features, trees, diversity; candidates go in, an order comes out."""
