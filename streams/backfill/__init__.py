"""Publishing that can be left alone: how far a run is, kept in Kafka together with its records."""
