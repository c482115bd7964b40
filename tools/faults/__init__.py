"""Faults on a real broker: processes die, stand still, join and leave; the network and the broker fail."""
