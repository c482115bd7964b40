"""The demonstration: a small sample web on loopback, and the run over it."""
