"""Dead letters read back, sent again, and deleted."""
