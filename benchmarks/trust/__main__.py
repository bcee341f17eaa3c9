"""Measure the rates that docs/trust.md states: `python -m benchmarks.trust [PART ...]`."""

from pathlib import Path

from benchmarks.measuring import main

PARTS = tuple(sorted(path.stem for path in Path(__file__).parent.glob("[a-z]*.py") if path.stem != "settings"))

if __name__ == "__main__":
    main("trust", PARTS, __doc__.split(":")[0])
