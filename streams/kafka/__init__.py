"""Clients, topics, groups and bounded reads of Kafka."""
