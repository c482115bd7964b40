"""Reads a page: HTML in, observations out, over one selectolax (Lexbor) parse."""
