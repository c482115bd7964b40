"""Tools that developers run by hand; none of them is installed."""
