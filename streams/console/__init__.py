"""What a browser sees of an application."""
