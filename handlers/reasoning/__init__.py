"""What a model reads of ranked results: sources under their trust labels, and the answers that are made of them."""
