"""What travels: the events on the topics, their envelope, and the outcomes of handlers."""
