"""What operators see: metric definitions, logs."""
