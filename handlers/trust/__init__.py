"""Trust, on the standard library alone (R-178): score, ``sources`` (tiers 1 to 3), ``labels`` (index tiers A to C)."""
