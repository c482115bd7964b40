"""The relevance gate: approved sources, and a snippet request on its way through them."""
