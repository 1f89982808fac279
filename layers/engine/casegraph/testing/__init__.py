"""What users import to test their own graphs: the world, the virtual clock, the fault injector."""
