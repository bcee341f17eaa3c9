"""How often the answers about trust are right, over many logs whose truth is known: `python -m benchmarks.trust`."""
