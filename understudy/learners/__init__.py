"""Who is rehearsing: learners, each `policy(observation) -> probabilities` and `learn(step)`."""

from understudy.learners.fixed import FixedPolicy, MonteCarlo, Uniform
from understudy.learners.schedules import Exponential, Harmonic, Linear
from understudy.learners.tabular import ExpectedSarsa, QLearning

__all__ = ["ExpectedSarsa", "Exponential", "FixedPolicy", "Harmonic", "Linear", "MonteCarlo", "QLearning", "Uniform"]
