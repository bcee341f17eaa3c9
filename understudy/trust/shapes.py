"""Two sets of episodes compared by their shapes: where they are after so many steps, their lengths, their returns.

Under the hypothesis that both have one law, episodes may be exchanged between the sets. So the largest of all
statistics, each standardized, is compared with those of sets among which episodes were permuted: one test, whose level
is exact however many statistics there are and however the rows of an episode depend on each other.
"""

from typing import NamedTuple

import numpy as np

from understudy.contracts import Log
from understudy.contracts.vocabulary import Vocabulary
from understudy.encoders.observations import SINGLE_INTEGERS, spec_of
from understudy.encoders.sufficiency import standardized
from understudy.logs.findings import counted
from understudy.trust.logging_policy import Episodes

STEPS = (1, 2, 4, 8, 16, 32, 64)  # from the opening, at which visits are compared
LAGS = (1, 2, 4, 8)  # between two visits of one episode
MOST_LABELS = 64  # distinct observations; more are put together into fewer
N_LANDMARKS = 32  # observations that others are labeled by, where they are too many
N_CUTS = 9  # deciles of lengths and of returns
MOST_PAIRS = 1000  # of labels, one some steps after the other: the most frequent ones
FEWEST_EPISODES = 3  # in which something must occur to be compared


class Labels(NamedTuple):
    """A label for the observation of each row, and for the next one; `n` of them, and `n` itself for an end."""

    here: np.ndarray  # (N,)
    following: np.ndarray  # (N,)
    n: int


class Difference(NamedTuple):
    """The shape by which two sets of episodes differ most, and the test of all of them."""

    shape: str
    statistic: float  # in standard deviations of permuted episodes
    p_value: float


def labels_of_states(log: Log, states: np.ndarray, following: np.ndarray) -> Labels:
    """Return labels that are states; states beyond the most frequent ones share a label."""
    known, counts = np.unique(states, return_counts=True)
    kept = np.sort(known[np.argsort(-counts, kind="stable")[:MOST_LABELS]])

    def label(values: np.ndarray) -> np.ndarray:
        places = np.minimum(np.searchsorted(kept, values), len(kept) - 1)
        return np.where(kept[places] == values, places, len(kept))

    n = len(kept) + 1
    return Labels(label(states), np.where(log.terminated, n, label(following)), n)


def labels_of_observations(log: Log, rng: np.random.Generator) -> Labels:
    """Return labels by the observation: each its own where they are few; else 32 groups of them.

    Vectors belong to the nearest of 32 observations drawn from the log; integers are grouped at random. A group is a
    function of the observation, so it has one law in both sets whenever the observations do.
    """
    columns = (log.observation, log.next_observation)
    vocabulary = Vocabulary(*columns)
    if len(vocabulary) <= MOST_LABELS or spec_of(log.observation) == SINGLE_INTEGERS:
        n = len(vocabulary) if len(vocabulary) <= MOST_LABELS else N_LANDMARKS
        group = rng.permutation(len(vocabulary)) % n
        here, following = (group[vocabulary.codes(column)] for column in columns)
    else:
        flat = standardized(np.concatenate([column.reshape(len(log), -1) for column in columns]))
        landmarks, n = flat[rng.choice(len(log), N_LANDMARKS)], N_LANDMARKS
        distance = np.square(landmarks).sum(axis=1) - 2 * flat @ landmarks.T
        here, following = np.split(distance.argmin(axis=1), 2)
    return Labels(here, np.where(log.terminated, n, following), n)


def difference(
    log: Log,
    one: Episodes,
    other: Episodes,
    labels: dict[str, Labels],
    rng: np.random.Generator,
    permutations: int = 499,
) -> Difference:
    """Return the shape by which two sets of episodes differ most, with the p-value of all shapes together."""
    shapes: dict[str, np.ndarray] = {}
    for name, label in labels.items():
        for k in STEPS:
            shapes[f"{name} {counted(k, 'step')} after the opening"] = _visits(one, other, label, k)
        for k in LAGS:
            shapes[f"where {name} lead in {counted(k, 'step')}"] = _transitions(one, other, label, k)
    returns = [np.bincount(episodes.number, log.reward[episodes.rows], len(episodes)) for episodes in (one, other)]
    shapes["lengths of episodes"] = _above_deciles(np.concatenate([one.lengths, other.lengths]))
    shapes["returns of episodes"] = _above_deciles(np.concatenate(returns))

    weights = np.repeat([1 / len(one), -1 / len(other)], [len(one), len(other)]).astype(np.float32)
    permuted = np.stack([weights, *rng.permuted(np.tile(weights, (permutations, 1)), axis=1)])
    names, statistics = [], []
    for name, features in shapes.items():
        features = _standard(features)
        if features.shape[1]:
            gaps = np.square(permuted @ features)
            # A few features that differ much are found by the largest, many that differ little by the sum.
            for statistic in (np.sqrt(gaps.max(axis=1)), gaps.sum(axis=1)):
                names.append(name)
                statistics.append((statistic - statistic.mean()) / max(float(statistic.std()), 1e-9))
    if not names:
        return Difference("nothing: nothing varies", 0.0, 1.0)
    largest = np.max(statistics, axis=0)
    worst = int(np.argmax([statistic[0] for statistic in statistics]))
    beyond = int((largest[1:] >= largest[0] - 1e-6).sum())
    return Difference(names[worst], float(largest[0]), (1 + beyond) / (1 + permutations))


def _visits(one: Episodes, other: Episodes, labels: Labels, k: int) -> np.ndarray:
    """Return which label each episode has k steps after its opening, (episodes, labels).

    A shorter episode has that of its end where it ended, and none where it was cut off.
    """
    found = []
    for episodes in (one, other):
        place = episodes.starts[:-1] + np.minimum(episodes.lengths, k) - 1
        reached = labels.following[episodes.rows[np.maximum(place, 0)]] if len(episodes.rows) else place
        known = (episodes.lengths > 0) & ((episodes.lengths >= k) | (reached == labels.n))
        found.append(np.where(known, reached, labels.n + 1))
    return np.eye(labels.n + 2, labels.n + 1, dtype=np.float32)[np.concatenate(found)]


def _transitions(one: Episodes, other: Episodes, labels: Labels, k: int) -> np.ndarray:
    """Return how often each episode led from one label to another in k steps, less what is expected, (episodes, pairs).

    Expected is the share that the other label has among all that follow the first, in both sets, times the visits of
    the first. So an episode that is long, or visits a label often, does not count as different.
    """
    sources, pairs, n_before = [], [], 0
    for episodes in (one, other):
        number = episodes.number
        begin = np.flatnonzero(number[: max(0, len(number) - k + 1)] == number[k - 1 :])
        first = begin == episodes.starts[:-1][number[begin]]
        opening = labels.here[episodes.opening[number[begin]]]
        source = np.where(first, opening, labels.following[episodes.rows[np.maximum(begin - 1, 0)]])
        reached = labels.following[episodes.rows[begin + k - 1]]
        sources.append((number[begin] + n_before) * (labels.n + 1) + source)
        pairs.append(source * (labels.n + 1) + reached)
        n_before += len(episodes)
    source, pair, n = np.concatenate(sources), np.concatenate(pairs), labels.n + 1
    visits = np.bincount(source, minlength=n_before * n).reshape(n_before, n).astype(np.float32)
    totals = np.bincount(pair, minlength=n * n)
    kept = np.sort(np.argsort(-totals, kind="stable")[:MOST_PAIRS])
    place = np.full(n * n, len(kept))
    place[kept] = np.arange(len(kept))
    flat = (source // n) * (len(kept) + 1) + place[pair]
    counts = np.bincount(flat, minlength=n_before * (len(kept) + 1)).reshape(n_before, -1)[:, :-1]
    share = totals[kept] / np.maximum(visits.sum(axis=0)[kept // n], 1)
    return counts.astype(np.float32) - visits[:, kept // n] * share.astype(np.float32)


def _above_deciles(numbers: np.ndarray) -> np.ndarray:
    """Return whether the number of each episode is above each decile of all, (episodes, deciles)."""
    cuts = np.unique(np.quantile(numbers, np.linspace(0, 1, N_CUTS + 2)[1:-1]))
    return (numbers[:, None] > cuts).astype(np.float32)


def _standard(features: np.ndarray) -> np.ndarray:
    """Return features of mean 0 and variance 1; those that differ from 0 in too few episodes are left out."""
    features = features[:, (np.abs(features) > 1e-6).sum(axis=0) >= FEWEST_EPISODES]
    features = features - features.mean(axis=0)
    spread = features.std(axis=0)
    return features[:, spread > 1e-6] / spread[spread > 1e-6]
