"""The gateway to language models: one place that spends money, keeps limits, and remembers what was answered."""
