"""Every port in memory, one module each: the simulation and the test kit run the real use cases on them."""
