"""When to try again: circuit breaker, back-off with jitter, Retry-After."""
