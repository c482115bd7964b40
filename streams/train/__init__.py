"""Training from the outside: feedback and answers are read off Kafka or files, models are written into folders."""
