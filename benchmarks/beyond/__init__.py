"""How far to believe runs past the exact horizon, on problems whose truth is known: `python -m benchmarks.beyond`."""
