"""Measure what docs/beyond.md states of runs past the exact horizon: `python -m benchmarks.beyond [PART ...]`."""

from benchmarks.measuring import main

PARTS = ("truth", "lengths", "unlimited", "ladders", "own_windows", "telling")

if __name__ == "__main__":
    main("beyond", PARTS, __doc__.split(": `")[0])
