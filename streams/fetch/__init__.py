"""Fetching from the open web: client, guard, robots, politeness, cache, worker."""
