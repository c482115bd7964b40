"""Time, processes, files, back-off, circuit breakers and YAML layers. It imports no other package of streams."""
