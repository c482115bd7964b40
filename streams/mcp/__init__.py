"""The Model Context Protocol server: Assay's decisions as tools of an agent."""
