"""Replay of an Open Bandit file is the replay one writes by hand, row for row, and so are acceptance and mean reward.

The file here is made by a seeded generator, with the columns, the 34 items, the three positions and about the number of
labels of the sample `random/men` inside the PyPI package obp 0.4.1. With UNDERSTUDY_OPEN_BANDIT=FOLDER, the folder of
that sample (obp/dataset/obd/random/men), the same is tested on the sample itself, and -rP shows the figures.
"""

import csv
import os
from pathlib import Path

import numpy as np
import pytest

import understudy as us
from understudy.contracts.streams import ACCEPTANCE, LEARNER, ORDER, Stream, stream_key, uniform_at

SAMPLE = "UNDERSTUDY_OPEN_BANDIT"
ROWS, ITEMS, LABELS = 10_000, 34, (3, 5, 9, 8)


def write_file(folder):
    """Write a file like the sample: a uniform logger, and clicks that depend on item and user."""
    rng = np.random.default_rng(12)
    item, position = rng.integers(ITEMS, size=ROWS), rng.integers(1, 4, ROWS)
    users = [rng.choice(n, ROWS, p=rng.dirichlet(np.ones(n))) for n in LABELS]
    click = rng.random(ROWS) < np.where(item % LABELS[0] == users[0], 0.03, 0.005)
    seconds = rng.permutation(ROWS)  # the file is not in the order of time
    names = [f"user_feature_{number}" for number in range(len(LABELS))]
    affinities = [f"user-item_affinity_{number}" for number in range(ITEMS)]
    with (folder / "men.csv").open("w") as out:
        lines = csv.writer(out)
        lines.writerow(["", "timestamp", "item_id", "position", "click", "propensity_score", *names, *affinities])
        for row in range(ROWS):
            hour, rest = divmod(int(seconds[row]), 3600)
            stamp = f"2019-11-24 {hour:02}:{rest // 60:02}:{rest % 60:02}.250000+00:00"
            user = [f"{feature[row]:04x}{number}" for number, feature in enumerate(users)]
            decision = [item[row], position[row], int(click[row]), 1 / ITEMS]
            lines.writerow([row, stamp, *decision, *user, *[0.0] * ITEMS])
    return folder / "men.csv"


def files():
    """The made file, and the sample where the environment names it."""
    reason = f"the sample of obp 0.4.1 cannot be kept here; {SAMPLE}=FOLDER names where it is"
    yield pytest.param(None, id="made")
    yield pytest.param(SAMPLE, id="sample", marks=pytest.mark.skipif(SAMPLE not in os.environ, reason=reason))


@pytest.fixture(scope="module", params=files())
def path(request, tmp_path_factory):
    if request.param is None:
        return write_file(tmp_path_factory.mktemp("made"))
    return Path(os.environ[SAMPLE]) / "men.csv"


@pytest.fixture(scope="module")
def log(path):
    return us.read(path, coding="one-hot")


class EpsilonGreedyByHand:
    """Mean rewards; ties are broken by the numbers that the library breaks them by."""

    def __init__(self, n_actions, epsilon, seed):
        self.total, self.count, self.epsilon = np.zeros(n_actions), np.zeros(n_actions), epsilon
        self.key, self.learned = np.uint64(stream_key(seed, LEARNER)), 0

    def policy(self, x):
        best = self.best_of(self.total / np.maximum(1, self.count))
        policy = np.full(len(self.total), self.epsilon / len(self.total))
        policy[best] += 1 - self.epsilon
        return policy

    def best_of(self, scores):
        ties = np.flatnonzero(scores == scores.max())
        return ties[int(uniform_at(self.key, self.learned) * len(ties))]

    def learn(self, x, action, reward):
        self.total[action] += reward
        self.count[action] += 1
        self.learned += 1


class LinUCBByHand(EpsilonGreedyByHand):
    """Ridge regression of each action by rank-one updates, and an upper bound.

    Most items of these files have no click and few rows, so that bounds of several items are often equal but for
    rounding: sums are made in the order in which the library makes them.
    """

    def __init__(self, n_features, n_actions, exploration, seed):
        super().__init__(n_actions, 0.0, seed)
        self.exploration = exploration
        self.inverse, self.theta = np.tile(np.eye(n_features), (n_actions, 1, 1)), np.zeros((n_actions, n_features))

    def policy(self, x):
        width = np.sqrt(dot(product(self.inverse, x), x))
        return np.eye(len(width))[self.best_of(dot(self.theta, x) + self.exploration * width)]

    def learn(self, x, action, reward):
        work = product(self.inverse[action], x)
        scale = 1 / (1 + dot(work, x))
        self.theta[action] += scale * (reward - dot(self.theta[action], x)) * work
        self.inverse[action] -= scale * np.outer(work, work)
        self.learned += 1


def dot(one, other):
    """Inner products over the last axis, summed from the first entry to the last."""
    return np.cumsum(one * other, axis=-1)[..., -1]


def product(matrix, x):
    """Symmetric matrices times x, four rows at a time."""
    terms, whole = matrix * x[:, None], len(x) // 4 * 4
    parts = [
        terms[..., i, :] + terms[..., i + 1, :] + (terms[..., i + 2, :] + terms[..., i + 3, :])
        for i in range(0, whole, 4)
    ]
    return sum([*parts, *(terms[..., i, :] for i in range(whole, len(x)))])


def replayed_by_hand(log, learner, seed, order, learns_from_all=False):
    """The rows that a plain replay of a uniform log accepts, on the uniform numbers that the library uses."""
    rows, numbers, shuffle, accepted = np.arange(len(log)), Stream(seed, ACCEPTANCE), Stream(seed, ORDER), []
    for position in range(len(rows)):
        if order == "episodes":
            other = position + shuffle.below(len(rows) - position)
            rows[[position, other]] = rows[[other, position]]
        row = rows[position]
        x, action = log.observation[row], log.action[row]
        if numbers.uniform() < learner.policy(x)[action]:  # policy / propensity, over the bound: the number of items
            accepted.append(row)
        if learns_from_all or accepted[-1:] == [row]:
            learner.learn(x, action, log.reward[row])
    return np.array(accepted)


def pair(name, log, seed):
    """A learner of the library, and the same by hand."""
    if name == "epsilon-greedy":
        return us.learners.EpsilonGreedy(ITEMS, epsilon=0.1, seed=seed), EpsilonGreedyByHand(ITEMS, 0.1, seed)
    size, alpha = log.observation.shape[1], 0.5
    ours = us.learners.LinUCB(size, ITEMS, exploration=alpha, intercept=False, seed=seed)
    return ours, LinUCBByHand(size, ITEMS, alpha, seed)


def test_rows_are_those_of_the_file_in_the_order_of_time(path, log):
    with path.open() as lines:
        decisions = sorted(csv.DictReader(lines), key=lambda line: line["timestamp"])
    assert log.action.tolist() == [int(line["item_id"]) for line in decisions]
    assert log.reward.tolist() == [float(line["click"]) for line in decisions]
    assert us.replay(log).bound.value == ITEMS


@pytest.mark.parametrize("order", ["log", "episodes"])
@pytest.mark.parametrize("name", ["epsilon-greedy", "linucb"])
def test_replay_is_a_replay_by_hand_row_for_row(log, name, order):
    ours, by_hand = pair(name, log, seed=3)
    run = us.simulate(us.replay(log, order=order), ours, seed=3)
    rows = replayed_by_hand(log, by_hand, 3, order)
    assert run.rows.tolist() == rows.tolist()
    assert run.stopped.counts["episodes offered"] == len(log)
    print(f"{name}, {order}: {len(log):,} rows, {len(rows)} accepted, mean reward {log.reward[rows].mean():.5f}")
    assert 200 < len(rows) < 400  # one in 34
    assert np.mean(run.returns) == log.reward[rows].mean()


def test_a_replay_that_learns_from_rejected_rows_is_another(log):
    ours, by_hand = pair("epsilon-greedy", log, seed=3)
    run = us.simulate(us.replay(log, order="log"), ours, seed=3)
    assert run.rows.tolist() != replayed_by_hand(log, by_hand, 3, "log", learns_from_all=True).tolist()
