"""Reads text: tokens, sentences, language, dates, times, numbers, prices, places."""
