"""What is derived from the topology: dashboards, compose workers, schemas, docs; checked for drift."""
