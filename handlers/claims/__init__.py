"""Judges whether claims can be understood without their source, and what they are worth."""
