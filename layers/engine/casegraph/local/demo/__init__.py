"""`casegraph demo`: reports become runs, people decide, and every run reaches the outcome that is expected of it."""
