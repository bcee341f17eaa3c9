"""The same written the plain way: the paper's PSRS with lists and tuples, and LinUCB and replay in NumPy."""

import numpy as np


class PlainQLearning:
    """Tabular Q-learning with an epsilon-greedy policy, as one writes it first."""

    def __init__(self, n_observations, n_actions, epsilon, alpha, gamma, rng):
        self.q = np.zeros((n_observations, n_actions))
        self.epsilon, self.alpha, self.gamma, self.rng = epsilon, alpha, gamma, rng

    def policy(self, observation):
        values = self.q[observation]
        best = self.rng.choice(np.flatnonzero(values == values.max()))
        policy = np.full(len(values), self.epsilon / len(values))
        policy[best] += 1 - self.epsilon
        return policy

    def learn(self, observation, action, reward, next_observation, terminated):
        target = reward if terminated else reward + self.gamma * self.q[next_observation].max()
        self.q[observation, action] += self.alpha * (target - self.q[observation, action])


def plain_psrs(log, states, next_states, learner, rng, order):
    """Per-state rejection sampling until the log has no further answer; the rows served."""
    episodes = [list(range(log.starts[i], log.starts[i + 1])) for i in range(log.n_episodes)]
    rng.shuffle(episodes)
    rows = [row for episode in episodes for row in episode]
    if order == "rows":
        rng.shuffle(rows)
    queues = {state: [] for state in set(states.tolist()) | set(next_states.tolist())}
    for row in rows:
        queues[states[row]].append((
            row, int(log.action[row]), float(log.reward[row]), int(log.next_observation[row]), int(next_states[row]),
            bool(log.terminated[row]), log.propensity[row],
        ))  # fmt: skip
    openings = [(int(log.observation[episode[0]]), int(states[episode[0]])) for episode in episodes]
    served = []
    while openings:
        observation, state = openings.pop(0)
        terminated = False
        while not terminated:
            policy = learner.policy(observation)
            while True:
                if not queues[state]:
                    return served
                row, action, reward, following, next_state, terminated, propensity = queues[state].pop(0)
                bound = np.max(policy / propensity)
                if rng.random() <= policy[action] / (bound * propensity[action]):
                    break
            learner.learn(observation, action, reward, following, terminated)
            served.append(row)
            observation, state = following, next_state
    return served


class PlainLinUCB:
    """LinUCB with a model for each action, as one writes it in NumPy: all bounds by one product, a rank-one update."""

    def __init__(self, n_features, n_actions, exploration):
        self.inverse = np.tile(np.eye(n_features), (n_actions, 1, 1))
        self.theta, self.exploration = np.zeros((n_actions, n_features)), exploration

    def choose(self, x):
        widths = np.sqrt((self.inverse @ x) @ x)
        return (self.theta @ x + self.exploration * widths).argmax()

    def learn(self, x, action, reward):
        product = self.inverse[action] @ x
        scale = 1 + product @ x
        self.theta[action] += product * ((reward - self.theta[action] @ x) / scale)
        self.inverse[action] -= np.outer(product, product) / scale


def plain_replay(log, learner):
    """Replay of a uniform log as one writes it by hand; the rows served."""
    served = []
    for row, (x, action) in enumerate(zip(log.observation, log.action, strict=True)):
        if learner.choose(x) == action:
            learner.learn(x, action, log.reward[row])
            served.append(row)
    return served
