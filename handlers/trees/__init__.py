"""Gradient-boosted trees that ``tools/training`` grows."""
