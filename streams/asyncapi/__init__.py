"""The page of the AsyncAPI document and its routes."""
