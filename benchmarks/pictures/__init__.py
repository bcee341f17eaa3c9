"""The pictures of README and the documentation: drawn from runs of the library, with fixed seeds."""
