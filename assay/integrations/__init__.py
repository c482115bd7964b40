"""Assay in other frameworks: a module for each, which imports that framework. docs/integrations.md has examples."""
