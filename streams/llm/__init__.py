"""The gateway to language models: costs, limits and stored answers."""
