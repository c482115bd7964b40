"""The web console: what flows, why a decision was made, and what can be done about it."""
