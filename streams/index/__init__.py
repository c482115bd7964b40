"""The vector index: the store, embedders behind a port, and the worker that keeps documents in it."""
