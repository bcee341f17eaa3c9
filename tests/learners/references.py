"""Bandit learners as one writes them first, in NumPy: what the compiled ones are compared with."""

import numpy as np


class PlainMeans:
    """Counts and means of rewards."""

    def __init__(self, n_actions):
        self.taken, self.total = np.zeros(n_actions), np.zeros(n_actions)

    @property
    def mean(self):
        return np.divide(self.total, self.taken, out=np.zeros_like(self.total), where=self.taken > 0)

    def learn(self, action, reward):
        self.taken[action] += 1
        self.total[action] += reward

    def upper_bounds(self, exploration):
        with np.errstate(divide="ignore", invalid="ignore"):
            bonus = exploration * np.sqrt(2 * np.log(self.taken.sum()) / self.taken)
        return np.where(self.taken > 0, self.mean + bonus, np.inf)


class PlainExp3:
    """Exp3 with its weights as they are, which overflow after many steps."""

    def __init__(self, n_actions, epsilon):
        self.weights, self.epsilon = np.ones(n_actions), epsilon

    def policy(self):
        share = self.weights / self.weights.sum()
        return (1 - self.epsilon) * share + self.epsilon / len(self.weights)

    def learn(self, action, reward):
        estimate = reward / self.policy()[action]
        self.weights[action] *= np.exp(self.epsilon / len(self.weights) * estimate)


class PlainLinear:
    """Ridge regression for each action, solved from scratch at each question."""

    def __init__(self, n_features, n_actions, ridge):
        self.gram = np.tile(ridge * np.eye(n_features), (n_actions, 1, 1))
        self.moment = np.zeros((n_actions, n_features))

    def learn(self, x, action, reward):
        self.gram[action] += np.outer(x, x)
        self.moment[action] += reward * x

    @property
    def theta(self):
        return np.linalg.solve(self.gram, self.moment[:, :, None])[:, :, 0]

    def widths(self, x):
        return np.sqrt([x @ np.linalg.solve(gram, x) for gram in self.gram])
