"""The configuration: one document of sections, from YAML files, environment variables and flags."""
