"""The states of a log: found among descriptions of its observations, merged and split by tests on rows held out."""

from collections.abc import Iterable
from typing import Any

import numpy as np
import torch
from torch import Tensor

from understudy.contracts.streams import spawn
from understudy.encoders.finding import (
    BLURRED,
    FEWEST,
    ROUND,
    bank_of,
    dense_groups,
    described,
    found_centers,
    gaps,
    mean_description,
    merged,
    mixtures,
    nearest,
    strangers,
)
from understudy.encoders.forecast import Examples, Forecast
from understudy.encoders.sufficiency import holm, independence, outcome_blocks, sampled, sufficiency
from understudy.errors import LogError

LEVEL = 0.001  # of the tests that tell states apart
REACH = 0.2  # gap beyond which two groups are not tested for being one state
TESTED = 500  # rows of a group and action that a test looks at: more would find what is too small to matter
MOST_ROWS = 160_000  # that are placed in states to be tested
STRAY = 0.2  # share of the observations that may be like no others
RARE, COMMON = 0.01, 0.1  # shares of rows: a mixture of states is a border below, and none above
FAR = 0.5  # gap from all others that a border does not have
FINER = 0.2  # of the radius, where a state is looked at again
POOL = 8192  # outcomes that the bank is drawn from
BANK = (64, 1024)  # outcomes in it
SEARCH = 3  # what draws are for


class Search:
    """One search for states, and what it draws."""

    def __init__(self, examples: Examples, net: Forecast, held: np.ndarray, options: dict[str, Any]) -> None:
        self.examples, self.log, self.net, self.radius = examples, examples.log, net, options["radius"]
        self.rng = np.random.default_rng(spawn(options["seed"], SEARCH))
        self.held = self.rng.choice(held, min(len(held), MOST_ROWS), replace=False)
        self.some = self.rng.choice(len(self.log), min(len(self.log), MOST_ROWS), replace=False)
        self._order, self._looked = self.rng.permutation(len(self.log)), 0
        some = self.rng.choice(len(self.log), min(POOL, len(self.log)), replace=False)
        self.bank = bank_of(self._mu(some), *BANK, self.rng)

    def states(self) -> tuple[Tensor, np.ndarray]:
        """Centers, (k, actions, m), and the state of each. Raises `LogError` where observations form no groups."""
        centers = found_centers(self._fresh, self.radius)
        alone = float(strangers(self._described(self.some[:ROUND]), centers, BLURRED).float().mean())
        if alone > STRAY:
            raise LogError(
                f"Forward finds no states: what follows {alone:.0%} of the observations is like what follows no other; "
                "log more, or drop what only counts time (exo_psrs is for that); Boxes and KMeans always find some, "
                "which will do only where encoder.audit(log) finds nothing"
            )
        centers = centers[torch.from_numpy(self._are_states(centers))]
        centers, states = self._split(centers, self._merged(centers, self.held))
        kept = self._are_states(centers)
        return centers[torch.from_numpy(kept)], np.unique(states[kept], return_inverse=True)[1]

    def _are_states(self, centers: Tensor) -> np.ndarray:
        """Which centers are states, and not blurred borders between others.

        A mixture of larger ones is a border where it is rare (a state of a few rows would end runs early), and where
        observations still tell which of them it is; what is rare, not far from another and not even sufficient is one
        as well. Few rows lie on a border, so all are looked at.
        """
        place = self._nearest(self.some, centers)
        share = np.bincount(place, minlength=len(centers)) / len(place)
        mixed = mixtures(centers, share)
        kept = ~mixed | (share >= RARE)
        apart = (gaps(centers, centers).cpu().numpy() + np.eye(len(centers))).min(axis=1)
        doubtful = np.where(mixed, (share >= RARE) & (share < COMMON), (share < RARE) & (apart < FAR))
        kept[self._insufficient(self.some, place, np.flatnonzero(doubtful))] = False
        return kept

    def _merged(self, centers: Tensor, rows: np.ndarray) -> np.ndarray:
        """The state of each center: one where rows cannot tell two apart."""
        place = self._nearest(rows, centers)
        groups = [rows[place == k] for k in range(len(centers))]
        return merged(groups, gaps(centers, centers).cpu().numpy(), self._alike, REACH)

    def _split(self, centers: Tensor, states: np.ndarray) -> tuple[Tensor, np.ndarray]:
        """Look again, more finely, at states within which observations still predict outcomes."""
        place = states[self._nearest(self.held, centers)]
        for suspect in self._insufficient(self.held, place, range(int(states.max()) + 1)):
            rows = self.held[place == suspect]
            some = self._described(rows[: 2 * ROUND])
            groups = dense_groups(gaps(some, some), FINER * self.radius, max(FEWEST, len(some) // 20))
            if len(groups) < 2:
                continue
            finer = torch.stack([mean_description(some[group]) for group in groups])
            parts = self._merged(finer, rows)
            if parts.max() > 0:  # its centers give way to finer ones
                kept = states != suspect
                centers = torch.cat([centers[torch.from_numpy(kept)], finer])
                states = np.concatenate([states[kept], states.max() + 1 + parts])
        return centers, states

    def _insufficient(self, rows: np.ndarray, place: np.ndarray, among: Iterable[int]) -> np.ndarray:
        """Those places, of some, where the observation predicts the outcome of the rows that are there."""
        state = np.full(len(self.log), -1)
        state[rows] = place
        found = sufficiency(self.log, state, int(self.rng.integers(2**31)), most_rows=TESTED, only=among)
        return found.state[np.nan_to_num(holm(found.p_value), nan=1.0) < LEVEL]

    def _alike(self, one: np.ndarray, other: np.ndarray) -> bool:
        """Whether a test cannot tell what follows some rows from what follows others, given the action."""
        rows = np.concatenate([
            sampled(group, self.log.action[group], self.rng, TESTED, fewest=2) for group in (one, other)
        ])  # fmt: skip
        action, member = self.log.action[rows], np.isin(rows, one)
        both = np.isin(action, np.intersect1d(action[member], action[~member]))
        if not both.any():
            return False
        rows, action, member = rows[both], action[both], member[both]
        following = [*outcome_blocks(self.log, rows, self.rng), self._mu(rows).cpu().numpy()]
        return independence([member[:, None].astype(np.float32)], following, action, self.rng) > LEVEL

    def _fresh(self) -> Tensor:
        """Descriptions of observations not looked at yet."""
        rows = self._order[self._looked : self._looked + ROUND]
        self._looked += len(rows)
        return self._described(rows)

    def _described(self, rows: np.ndarray) -> Tensor:
        with torch.no_grad():
            return described(self.net.phi(self.examples.observations(rows)), self.bank)

    def _nearest(self, rows: np.ndarray, centers: Tensor) -> np.ndarray:
        """The place, among centers, of each row's observation."""
        parts = np.split(rows, range(ROUND, len(rows), ROUND))
        return np.concatenate([nearest(self._described(part), centers).cpu().numpy() for part in parts])

    def _mu(self, rows: np.ndarray) -> Tensor:
        with torch.no_grad():
            return self.net.mu(*self.examples.outcomes(rows))
