"""What operators see: metrics, decisions, logs and traces."""
