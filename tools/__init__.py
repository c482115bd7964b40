"""Programs that measure and train; run by hand from a checkout, not installed."""
