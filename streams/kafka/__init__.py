"""Clients, topics, groups, transactions and bounded reads of Kafka."""
