"""What is decided. Each module here is a handler, named after its function; the packages have the code that they share.

A handler is a pure function, without clock, socket, file or environment.
"""
