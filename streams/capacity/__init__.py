"""Forecasts what a load needs, from measured costs."""
