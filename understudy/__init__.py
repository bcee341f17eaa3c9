"""Understudy lets a learning agent rehearse on your logs before it goes live."""

__version__ = "0.1.0"
