"""The canonical workflow document: models, validation, digest, and what the kernel reads."""
