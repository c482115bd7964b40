"""The pipeline: intake, lanes, commit, retry, dead letters, health."""
