"""The HTTP server of the application, and who may ask it."""
