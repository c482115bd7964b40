"""Base images from Debian's packages, for a machine that reaches no image registry."""
