"""Trust: score, source tiers and labels, on the standard library alone (R-178)."""
