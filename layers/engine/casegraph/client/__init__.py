"""The typed HTTP client; the command line is its first user."""
