"""The vector index: a store behind a port, embedders behind another, and the worker that keeps documents in it."""
