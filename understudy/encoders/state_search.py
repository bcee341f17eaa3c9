"""The search of Forward for states: clusters of embeddings, merged and split by tests on rows held out."""

from collections.abc import Iterable
from typing import Any

import numpy as np
import torch
from torch import Tensor

from understudy.contracts.streams import spawn
from understudy.encoders.clustering import (
    FEWEST_MEMBERS,
    MIXTURE_DISTANCE,
    ROUND,
    are_mixtures,
    center_of,
    dense_centers,
    dense_groups,
    distances,
    embeddings_of,
    far_from_all,
    merged_groups,
    nearest,
    outcome_bank,
)
from understudy.encoders.forecast import ForecastNet, RowLoader
from understudy.encoders.sufficiency import holm, independence, outcome_blocks, sampled, sufficiency
from understudy.errors import EncoderError

LEVEL = 0.001  # of the tests that tell states apart
REACH = 0.2  # distance beyond which two groups are not tested for being one state
TESTED = 500  # rows of a group and action in a test: more would find differences too small to matter
MOST_ROWS = 160_000  # rows that are assigned to states to be tested
MOST_UNGROUPED = 0.2  # share of the observations that may be far from all centers
RARE, COMMON = 0.01, 0.1  # shares of rows: a mixture of states is a border below RARE, and a state above COMMON
FAR = 0.5  # distance from all others that no border has
FINER = 0.2  # factor of the radius when a state is split
POOL = 8192  # outcomes that the bank is drawn from
BANK = (64, 1024)  # the fewest and most outcomes in the bank
SEARCH = 3  # purpose of the random stream


class StateSearch:
    """One search for states among the rows of a log, with a trained forecast.

    `held` are the rows that the forecast was not trained on.
    """

    def __init__(self, loader: RowLoader, net: ForecastNet, held: np.ndarray, options: dict[str, Any]) -> None:
        self.loader, self.log, self.net, self.radius = loader, loader.log, net, options["radius"]
        self.rng = np.random.default_rng(spawn(options["seed"], SEARCH))
        self.held = self.rng.choice(held, min(len(held), MOST_ROWS), replace=False)
        self.some = self.rng.choice(len(self.log), min(len(self.log), MOST_ROWS), replace=False)
        self._order, self._n_drawn = self.rng.permutation(len(self.log)), 0
        some = self.rng.choice(len(self.log), min(POOL, len(self.log)), replace=False)
        self.bank = outcome_bank(self._mu(some), *BANK, self.rng)

    def states(self) -> tuple[Tensor, np.ndarray]:
        """Return centers, (k, actions, m), and the state of each, (k,).

        Raise `EncoderError` where observations form no groups.
        """
        centers = dense_centers(self._draw, self.radius)
        ungrouped = float(far_from_all(self._embeddings(self.some[:ROUND]), centers, MIXTURE_DISTANCE).float().mean())
        if ungrouped > MOST_UNGROUPED:
            raise EncoderError(
                f"Forward finds no states: what follows {ungrouped:.0%} of the observations is like what follows no "
                "other; log more, or drop what only counts time (exo_psrs is for that); Boxes and KMeans always find "
                "some, which will do only where encoder.audit(log) finds nothing"
            )
        centers = centers[torch.from_numpy(self._are_states(centers))]
        centers, states = self._split(centers, self._merged(centers, self.held))
        kept = self._are_states(centers)
        return centers[torch.from_numpy(kept)], np.unique(states[kept], return_inverse=True)[1]

    def _are_states(self, centers: Tensor) -> np.ndarray:
        """Return True for each center of a state, and False for blurred borders between states.

        A mixture of larger groups is a border where it is rare (a state of a few rows would end runs early), and where
        observations still predict which of the groups they belong to. A rare group close to another that is not
        sufficient is a border as well. Few rows lie on a border, so rows that the forecast was trained on count too.
        """
        place = self._nearest(self.some, centers)
        share = np.bincount(place, minlength=len(centers)) / len(place)
        mixed = are_mixtures(centers, share)
        kept = ~mixed | (share >= RARE)
        apart = (distances(centers, centers).cpu().numpy() + np.eye(len(centers))).min(axis=1)
        doubtful = np.where(mixed, (share >= RARE) & (share < COMMON), (share < RARE) & (apart < FAR))
        kept[self._insufficient(self.some, place, np.flatnonzero(doubtful))] = False
        return kept

    def _merged(self, centers: Tensor, rows: np.ndarray) -> np.ndarray:
        """Return the state of each center, (k,): one for centers whose rows a test cannot tell apart."""
        place = self._nearest(rows, centers)
        groups = [rows[place == k] for k in range(len(centers))]
        return merged_groups(groups, distances(centers, centers).cpu().numpy(), self._alike, REACH)

    def _split(self, centers: Tensor, states: np.ndarray) -> tuple[Tensor, np.ndarray]:
        """Split states within which observations still predict outcomes, by a smaller radius.

        Return the centers and the state of each.
        """
        place = states[self._nearest(self.held, centers)]
        for suspect in self._insufficient(self.held, place, range(int(states.max()) + 1)):
            rows = self.held[place == suspect]
            some = self._embeddings(rows[: 2 * ROUND])
            fewest = max(FEWEST_MEMBERS, len(some) // 20)
            groups = dense_groups(distances(some, some), FINER * self.radius, fewest)
            if len(groups) < 2:
                continue
            finer = torch.stack([center_of(some[group]) for group in groups])
            parts = self._merged(finer, rows)
            if parts.max() > 0:  # several states: the finer centers replace those of the state
                kept = states != suspect
                centers = torch.cat([centers[torch.from_numpy(kept)], finer])
                states = np.concatenate([states[kept], states.max() + 1 + parts])
        return centers, states

    def _insufficient(self, rows: np.ndarray, place: np.ndarray, among: Iterable[int]) -> np.ndarray:
        """Return those places, of `among`, where the observation predicts the outcome of the rows at the place."""
        state = np.full(len(self.log), -1)
        state[rows] = place
        found = sufficiency(self.log, state, int(self.rng.integers(2**31)), most_rows=TESTED, only=among)
        return found.state[np.nan_to_num(holm(found.p_value), nan=1.0) < LEVEL]

    def _alike(self, one: np.ndarray, other: np.ndarray) -> bool:
        """Return True if no test tells the outcomes of some rows from those of others, given the action."""
        rows = np.concatenate([
            sampled(group, self.log.action[group], self.rng, TESTED, fewest=2) for group in (one, other)
        ])  # fmt: skip
        action, member = self.log.action[rows], np.isin(rows, one)
        both = np.isin(action, np.intersect1d(action[member], action[~member]))
        if not both.any():
            return False
        rows, action, member = rows[both], action[both], member[both]
        outcomes = [*outcome_blocks(self.log, rows, self.rng), self._mu(rows).cpu().numpy()]
        return independence([member[:, None].astype(np.float32)], outcomes, action, self.rng) > LEVEL

    def _draw(self) -> Tensor:
        """Return the embeddings of observations that were not drawn yet."""
        rows = self._order[self._n_drawn : self._n_drawn + ROUND]
        self._n_drawn += len(rows)
        return self._embeddings(rows)

    def _embeddings(self, rows: np.ndarray) -> Tensor:
        with torch.no_grad():
            return embeddings_of(self.net.phi(self.loader.observations(rows)), self.bank)

    def _nearest(self, rows: np.ndarray, centers: Tensor) -> np.ndarray:
        """Return the index of the center nearest to each row's observation."""
        parts = np.split(rows, range(ROUND, len(rows), ROUND))
        return np.concatenate([nearest(self._embeddings(part), centers).cpu().numpy() for part in parts])

    def _mu(self, rows: np.ndarray) -> Tensor:
        with torch.no_grad():
            return self.net.mu(*self.loader.outcomes(rows))
