"""The sources of `assay publish`, and the log of a backfill in Kafka."""
