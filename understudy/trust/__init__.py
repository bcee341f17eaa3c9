"""When to believe a simulation, found from the log alone: before it, during it and after it."""
