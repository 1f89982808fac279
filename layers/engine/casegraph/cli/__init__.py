"""The casegraph command."""
