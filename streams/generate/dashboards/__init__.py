"""What each dashboard shows, over the handlers of the topology and the declared metrics."""
