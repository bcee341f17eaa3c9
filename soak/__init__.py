"""Faults and load: processes killed, disks filled, drivers in each other's way, and inputs damaged and forged.

`python -m soak` does all of it and says what happened; docs/faults.md has the figures of the last full run. Every case
is made from a seed and a number, so that `python -m soak --case csv:1234` repeats it.
"""
