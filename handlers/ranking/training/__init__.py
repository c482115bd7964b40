"""Training: what was served and what people did with it go in, a model with its card comes out; no file, no clock."""
