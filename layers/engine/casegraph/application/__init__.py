"""The use cases, one module each, over the Protocols of ports.py."""
