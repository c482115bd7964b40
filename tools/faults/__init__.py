"""Faults on a real broker: processes die, freeze, join and leave; the network and the broker fail."""
