"""Is a search done? The rubric that counts, what to try next, and a judge's reply."""
