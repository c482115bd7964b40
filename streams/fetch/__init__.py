"""Fetching from the web: client, guard, robots.txt, host pacing, cache, worker."""
