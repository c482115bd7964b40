"""Time, processes, files, back-off, circuit breakers, YAML layers, amounts, checks: below all packages of streams."""
