"""K-means: states are regions around centers."""

import warnings
from typing import Any

import numpy as np

from understudy.contracts import Log
from understudy.contracts.encoding import EncoderContents
from understudy.contracts.streams import spawn
from understudy.digits import digits
from understudy.encoders import files
from understudy.encoders.auditing import audit
from understudy.encoders.contents import check_options, observation_of
from understudy.encoders.features import Features
from understudy.encoders.observations import batch_of
from understudy.errors import EncoderError, SettingError
from understudy.settings import whole

CHUNK = 1 << 24  # distances computed together
OPTIONS = ("n_states", "seed", "iterations", "most_rows")


class KMeans:
    """A state is the region nearest to one of `n_states` centers, over standardized dimensions; arrays are flattened.

    Centers start as k-means++ places them and are moved at most `iterations` times, by `most_rows` rows drawn at random
    where the log has more. NaN and infinite observations have no state (-1).

    Replay is exact where observations of one state have the same law of reward, next observation and termination under
    every action (A1). K-means knows only where observations lie, not what follows from them: it merges what a wall, a
    goal or a counter tells apart wherever those lie close together, and spends states on noise that nothing depends
    on. More states make the merges smaller, and runs shorter.

    >>> log = Log.from_columns(observation=[0.0, 0.1, 5.0, 5.1], action=[0] * 4, reward=[0] * 4,
    ...     next_observation=[0.0] * 4, terminated=[True] * 4)
    >>> a, b, c = KMeans(2).fit(log).encode(np.array([0.2, 4.0, -3.0]))
    >>> bool(a == c != b)
    True
    """

    save, audit = files.save, audit
    fits = 0

    def __init__(self, n_states: int, seed: int = 0, *, iterations: int = 50, most_rows: int = 100_000) -> None:
        self.n_states, self.seed = whole("n_states", n_states), whole("seed", seed, least=None)
        self.iterations = whole("iterations", iterations)
        self.most_rows = max(whole("most_rows", most_rows), self.n_states)
        self._features: Features | None = None
        self.fitted_on: str | None = None
        self._centers = np.empty((0, 0), dtype=np.float32)

    @property
    def fitted(self) -> bool:
        """True once `fit` has placed the centers."""
        return self._features is not None

    def fit(self, log: Log) -> "KMeans":
        """Place the centers by the log's observations."""
        observations = batch_of(log.observation)
        features = Features.of(observations, discrete=False)
        rng = np.random.default_rng(spawn(self.seed))
        few = rng.choice(len(log), self.most_rows, replace=False) if len(log) > self.most_rows else slice(None)
        points = features(observations[few])
        n_distinct = len(np.unique(points, axis=0))
        if n_distinct < self.n_states:
            raise EncoderError(
                f"KMeans({self.n_states}) is asked for {self.n_states} states, and the log has {len(log):,} rows with "
                f"{n_distinct:,} distinct observations; ask for at most {n_distinct:,}, or use Identity"
            )
        self._centers, self._features = self._placed(points, rng), features
        self.fitted_on = log.fingerprint
        self.fits += 1
        return self

    def _placed(self, points: np.ndarray, rng: np.random.Generator) -> np.ndarray:
        """Return centers for these points, (n_states, dimensions)."""
        from scipy.cluster.vq import kmeans2

        with warnings.catch_warnings():
            warnings.filterwarnings("ignore", "One of the clusters is empty")  # its center stays where it was
            first = first_centers(points, self.n_states, rng)
            return kmeans2(points, first, iter=self.iterations, minit="matrix")[0].astype(np.float32)

    def encode(self, observations: np.ndarray) -> np.ndarray:
        from scipy.cluster.vq import vq

        if self._features is None:
            raise EncoderError("this KMeans has no centers yet: call fit(log) first")
        points = self._features(observations)
        known = self._features.known(points)
        states = np.full(len(points), -1, dtype=np.int64)
        rows = max(1, CHUNK // self.n_states)
        for start in range(0, len(points), rows):
            chunk = slice(start, start + rows)
            some = points[chunk][known[chunk]]
            nearest, distance = vq(some, self._centers, check_finite=False)
            far = ~np.isfinite(distance)  # squares overflow float32, and vq finds no center
            if far.any():
                nearest[far] = vq(some[far].astype(np.float64), self._centers.astype(np.float64))[0]
            states[chunk][known[chunk]] = nearest
        return states

    @property
    def settings(self) -> dict[str, Any]:
        """The options, and a digest of the centers."""
        options = {"n_states": self.n_states, "seed": self.seed, "iterations": self.iterations}
        learned = {"centers": files.array_digest(self._centers)} if self.fitted else {}
        return {"encoder": "KMeans", **options, "most_rows": self.most_rows, **learned}

    def contents(self) -> EncoderContents:
        if self._features is None:
            raise EncoderError("this KMeans has no centers to save yet: call fit(log) first")
        options = {name: getattr(self, name) for name in OPTIONS}
        arrays = {"centers": self._centers, **self._features.arrays}
        return EncoderContents(options, arrays, self._features.observation, self.fitted_on)

    @classmethod
    def from_contents(cls, contents: EncoderContents) -> "KMeans":
        observation = observation_of(contents)
        kmeans, arrays = cls(**contents.settings), dict(contents.arrays)
        check_options({name: getattr(kmeans, name) for name in OPTIONS}, contents.settings)
        kmeans._centers = arrays.pop("centers")
        kmeans._features, kmeans.fitted_on = Features(observation, arrays), contents.fitted_on
        expected = (kmeans.n_states, kmeans._features.width)
        if kmeans._centers.shape != expected or kmeans._centers.dtype != np.float32:
            raise EncoderError(f"centers are {kmeans._centers.dtype} of shape {kmeans._centers.shape}, not {expected}")
        if kmeans._features.discrete or not np.isfinite(kmeans._centers).all():
            raise EncoderError("centers are not finite numbers")
        return kmeans

    def describe_state(self, state: int) -> str:
        """Return the center of a state in words. Raise `SettingError` where there is no such state."""
        if self._features is None or not 0 <= state < self.n_states:
            raise SettingError(f"there is no state {state}")
        center = self._centers[state] * self._features.scale + self._features.center
        shown = ", ".join(digits(value, 4, commas=False) for value in center[:6])
        return f"around ({shown}{', ...' if len(center) > 6 else ''})"

    def __repr__(self) -> str:
        return f"KMeans({self.n_states}, seed={self.seed})" + ("" if self.fitted else "  # not fitted")


def first_centers(points: np.ndarray, n: int, rng: np.random.Generator) -> np.ndarray:
    """Return n of the points, each drawn in proportion to its squared distance from those before (k-means++)."""
    chosen = [int(rng.integers(len(points)))]
    distance = np.square(points - points[chosen[0]]).sum(axis=1, dtype=np.float64)
    while len(chosen) < n:
        chosen.append(int(rng.choice(len(points), p=distance / distance.sum())))
        distance = np.minimum(distance, np.square(points - points[chosen[-1]]).sum(axis=1, dtype=np.float64))
    return points[chosen]
