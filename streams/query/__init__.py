"""Queries outside of Kafka: the handler that ranks, asked by a command or over HTTP."""
