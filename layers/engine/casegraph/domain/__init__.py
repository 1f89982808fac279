"""The rules, pure: no AWS, no clock, no ids, no randomness, no I/O."""
