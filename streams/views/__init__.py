"""Decisions and the state of the flow for people: the command line and the console share them."""
