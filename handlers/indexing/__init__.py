"""The points of a page in the index, and the sections of ``config/config_indexing.yaml``."""
