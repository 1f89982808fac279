"""The burst: what one lease-holding pass decides, as a pure function of the head and of what is known."""
