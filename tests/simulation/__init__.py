"""The real pipeline and the real Kafka client over brokers in memory, in virtual time. A seed repeats a run exactly."""
