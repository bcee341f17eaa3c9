"""What an experiment is, in plain values and a digest, so that results of different experiments are never mixed.

`describe` makes a graph of an object and of all that it refers to (`nodes`), digests it (`graph`), and writes its small
parts as plain values (`description`). The other modules say what Python can see of functions, classes, objects and
environments.
"""

from understudy.runs.describing.description import Description, describe, differences, learner_settings, plain
from understudy.runs.describing.graph import digest

__all__ = ["Description", "describe", "differences", "digest", "learner_settings", "plain"]
