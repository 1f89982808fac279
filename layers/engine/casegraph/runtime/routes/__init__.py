"""The routes of the HTTP API, one module per noun; each has a `ROUTES` tuple (runtime/http.py composes them)."""
