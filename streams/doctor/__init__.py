"""Checks of the machine, the configuration and the services: what is wrong, and what to do."""
