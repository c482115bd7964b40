"""All checks in their order: what is wrong, and what to do."""
