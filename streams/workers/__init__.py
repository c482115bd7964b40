"""Pure functions run in child processes, with deadlines."""
