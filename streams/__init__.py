"""How it flows: everything with a socket, a clock, a file or an environment variable."""
