"""The states of a log: found among descriptions of its observations, merged and split by tests on rows held out."""

from typing import Any

import numpy as np
import torch
from torch import Tensor

from understudy.contracts import LogError
from understudy.contracts.streams import spawn
from understudy.encoders.finding import (
    FEWEST,
    ROUND,
    bank_of,
    dense_groups,
    described,
    found_centers,
    gaps,
    mean_description,
    merged,
    nearest,
    without_borders,
)
from understudy.encoders.forecast import Examples, Forecast
from understudy.encoders.sufficiency import holm, independence, outcome_blocks, sampled, sufficiency

LEVEL = 0.001  # of the tests that tell states apart
REACH = 0.2  # gap beyond which two groups are not tested for being one state
TESTED = 500  # rows of a group and action that a test looks at: more would find what is too small to matter
STRAY = 0.2  # share of the observations that may be like no others
FINER = 0.2  # of the radius, where a state is looked at again
POOL = 8192  # outcomes that the bank is drawn from
BANK = (64, 1024)
SEARCH = 3  # what draws are for


class Search:
    """One search for states, with all it draws."""

    def __init__(self, examples: Examples, net: Forecast, held: np.ndarray, options: dict[str, Any]) -> None:
        self.examples, self.log, self.net, self.held, self.radius = examples, examples.log, net, held, options["radius"]
        self.rng = np.random.default_rng(spawn(options["seed"], SEARCH))
        self._order, self._looked = self.rng.permutation(len(self.log)), 0
        some = self.rng.choice(len(self.log), min(POOL, len(self.log)), replace=False)
        self.bank = bank_of(self._mu(some), *BANK, self.rng)

    def states(self) -> tuple[Tensor, np.ndarray]:
        """Centers, (k, actions, m), and the state of each. Raises `LogError` where observations form no groups."""
        centers, alone = found_centers(self._fresh, self.radius)
        if not len(centers) or alone > STRAY:
            share = 1.0 if not len(centers) else alone
            raise LogError(
                f"Forward finds no states: what follows {share:.0%} of the observations is like what follows no others; "
                "log more, drop what only counts time (exo_psrs is for that), or use Boxes or KMeans"
            )
        some = self.rng.choice(len(self.log), min(2 * ROUND, len(self.log)), replace=False)
        centers = without_borders(centers, self._described(some))
        states = self._merged(centers, self.held)
        return self._split(centers, states)

    def _merged(self, centers: Tensor, rows: np.ndarray) -> np.ndarray:
        """The state of each center: one where rows cannot tell two apart."""
        rows = self.rng.choice(rows, min(len(rows), 40 * ROUND), replace=False)
        place = self._nearest(rows, centers)
        groups = [rows[place == k] for k in range(len(centers))]
        return merged(groups, gaps(centers, centers).cpu().numpy(), self._alike, REACH)

    def _split(self, centers: Tensor, states: np.ndarray) -> tuple[Tensor, np.ndarray]:
        """Look again, more finely, at states within which observations still predict outcomes."""
        state = np.full(len(self.log), -1)
        rows = self.rng.choice(self.held, min(len(self.held), 40 * ROUND), replace=False)
        state[rows] = states[self._nearest(rows, centers)]
        found = sufficiency(self.log, state, int(self.rng.integers(2**31)), most_rows=TESTED)
        for suspect in found.state[np.nan_to_num(holm(found.p_value), nan=1.0) < LEVEL]:
            members = rows[state[rows] == suspect]
            some = self._described(members[: 2 * ROUND])
            groups = dense_groups(gaps(some, some), FINER * self.radius, max(FEWEST, len(some) // 20))
            if len(groups) < 2:
                continue
            finer = torch.stack([mean_description(some[group]) for group in groups])
            parts = self._merged(finer, members)
            if parts.max() > 0:  # the suspect's centers give way to finer ones
                kept = states != suspect
                centers = torch.cat([centers[torch.from_numpy(kept)], finer])
                states = np.concatenate([states[kept], states.max() + 1 + parts])
        return centers, np.unique(states, return_inverse=True)[1]

    def _alike(self, one: np.ndarray, other: np.ndarray) -> bool:
        """Whether a test cannot tell what follows some rows from what follows others, given the action."""
        rows = np.concatenate([
            sampled(group, self.log.action[group], self.rng, TESTED, fewest=2) for group in (one, other)
        ])  # fmt: skip
        member = np.isin(rows, one)
        action = self.log.action[rows]
        both = np.isin(action, np.intersect1d(action[member], action[~member]))
        rows, member, action = rows[both], member[both], action[both]
        if not len(rows):
            return False
        blocks = [*outcome_blocks(self.log, rows, self.rng), self._mu(rows).cpu().numpy()]
        return independence([member[:, None].astype(np.float32)], blocks, action, self.rng) > LEVEL

    def _fresh(self) -> Tensor:
        """Descriptions of observations not looked at yet."""
        rows = self._order[self._looked : self._looked + ROUND]
        self._looked += len(rows)
        return self._described(rows)

    def _described(self, rows: np.ndarray) -> Tensor:
        with torch.no_grad():
            return described(self.net.phi(self.examples.observations(rows)), self.bank)

    def _nearest(self, rows: np.ndarray, centers: Tensor) -> np.ndarray:
        places = [
            nearest(self._described(rows[start : start + ROUND]), centers).cpu().numpy()
            for start in range(0, len(rows), ROUND)
        ]
        return np.concatenate(places)

    def _mu(self, rows: np.ndarray) -> Tensor:
        with torch.no_grad():
            return self.net.mu(*self.examples.outcomes(rows))
