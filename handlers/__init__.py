"""What is decided: one verb-named pure function a file, free of clock, socket, file and environment."""
