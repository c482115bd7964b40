"""Trains a ranking model from feedback on served results."""
