"""Time, processes, files, back-off, circuit breakers, YAML layers, amounts, checks. It imports no other package of streams."""
