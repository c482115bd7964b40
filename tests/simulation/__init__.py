"""The real pipeline and the real Kafka client over a broker in memory, in virtual time; a seed repeats a run exactly."""
