"""Sources of pages and their way into Kafka."""
