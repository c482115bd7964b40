"""Claims: whether they stand alone, what they are worth, and what is remembered beside them."""
