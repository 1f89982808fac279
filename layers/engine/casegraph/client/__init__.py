"""The typed HTTP client."""
