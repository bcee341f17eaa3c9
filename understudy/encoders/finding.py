"""States found among observations by what follows them: by density first, then by tests on rows.

An observation is described by its forecast: for each action, a distribution over a bank of outcomes, held as square
roots, so that inner products are affinities and the gap between two descriptions is Hellinger's, squared, under the
action where they differ most: 0 where the same follows under every action, 1 where nothing in common does under one.
"""

from collections.abc import Callable, Sequence
from typing import NamedTuple

import numpy as np
import torch
from torch import Tensor

ROUND = 4000  # observations described together
MOST_ROUNDS = 12
FEWEST = 10  # descriptions that make a state
RARE = 0.01  # share of the observations below which a state may be a border between others
NEAREST = 6  # states that a border may lie between
BLURRED = 0.05  # gap within which a mixture of two states explains a description


class Bank(NamedTuple):
    """Outcomes that descriptions are distributions over."""

    outcomes: Tensor  # (m, dimension): their mu
    weight: Tensor  # (m,): the logarithm of the share of outcomes that each stands for


def bank_of(outcomes: Tensor, fewest: int, most: int, rng: np.random.Generator) -> Bank:
    """Outcomes unlike each other, drawn in proportion to their squared distance from those before, until all are near.

    Rare outcomes get a place too: that an episode ends here tells states apart, however seldom it is seen.
    """
    chosen = [int(rng.integers(len(outcomes)))]
    far = (outcomes - outcomes[chosen[0]]).square().sum(dim=1)
    enough = 0.01 * float(far.mean())
    while len(chosen) < most and (len(chosen) < fewest or float(far.mean()) > enough) and float(far.max()) > 0:
        odds = far.double().cpu().numpy()
        chosen.append(int(rng.choice(len(outcomes), p=odds / odds.sum())))
        far = torch.minimum(far, (outcomes - outcomes[chosen[-1]]).square().sum(dim=1))
    kept = outcomes[chosen]
    shares = torch.bincount(torch.cdist(outcomes, kept).argmin(dim=1), minlength=len(kept)) + 0.5
    return Bank(kept, (shares / shares.sum()).log())


def described(phi: Tensor, bank: Bank) -> Tensor:
    """Descriptions of observations, (n, actions, m): the roots of probabilities."""
    return torch.softmax(phi @ bank.outcomes.T + bank.weight, dim=-1).sqrt()


def gaps(one: Tensor, other: Tensor) -> Tensor:
    """The gap between each two descriptions, (n, k): under the action where they differ most."""
    largest = torch.zeros(len(one), len(other), device=one.device)
    for action in range(one.shape[1]):
        largest = torch.maximum(largest, 1 - one[:, action] @ other[:, action].T)
    return largest


def nearest(descriptions: Tensor, centers: Tensor) -> Tensor:
    """The center that each description has most in common with, over all actions."""
    return (descriptions.flatten(1) @ centers.flatten(1).T).argmax(dim=1)


def mean_description(descriptions: Tensor) -> Tensor:
    """The description of a mixture of observations."""
    return descriptions.square().mean(dim=0).sqrt()


def dense_groups(gap: Tensor, radius: float, fewest: int) -> list[Tensor]:
    """Groups of places within a radius of one of them, the largest first, until none has `fewest`."""
    near = gap < radius
    left = torch.ones(len(gap), dtype=torch.bool, device=gap.device)
    counts = near.sum(dim=1)
    groups = []
    while len(gap):
        middle = int(torch.where(left, counts, 0).argmax())
        members = near[middle] & left
        if int(members.sum()) < fewest:
            break
        groups.append(members.nonzero().squeeze(1))
        counts = counts - near[:, members].sum(dim=1)
        left &= ~members
    return groups


def found_centers(draw: Callable[[], Tensor], radius: float) -> tuple[Tensor, float]:
    """Centers of dense groups of descriptions, and the share of descriptions near none.

    Each round looks at new descriptions; those near no center yet wait together until they are dense enough to have
    one, so that rare states are found too. It ends when a round finds nothing.
    """
    waiting = draw()
    centers, seen, alone = waiting[:0], len(waiting), 1.0
    for _ in range(MOST_ROUNDS):
        groups = dense_groups(gaps(waiting, waiting), radius, FEWEST)
        if not groups:
            break
        centers = torch.cat([centers, torch.stack([mean_description(waiting[group]) for group in groups])])
        fresh = draw()
        seen += len(fresh)
        both = torch.cat([waiting, fresh])
        waiting = both[gaps(both, centers).amin(dim=1) >= radius][-2 * ROUND :]
        alone = float((gaps(fresh, centers).amin(dim=1) >= max(radius, BLURRED)).float().mean())
    return centers, alone


def without_borders(centers: Tensor, descriptions: Tensor) -> Tensor:
    """The centers but for rare ones that are mixtures of two others.

    A network draws borders between states a little blurred: what lies on one looks like a state between the two. It
    is none, and a state of a few rows would end runs early.
    """
    share = torch.bincount(nearest(descriptions, centers), minlength=len(centers)) / len(descriptions)
    large = share >= RARE
    kept = [
        place
        for place in range(len(centers))
        if large[place] or not is_mixture(centers[place], centers[large | (share > 3 * share[place])])
    ]
    return centers[kept]


def is_mixture(center: Tensor, others: Tensor) -> bool:
    """Whether a description lies between two others, action by action."""
    if len(others) < 2:
        return False
    gap = gaps(center[None], others)[0]
    close = others[gap.argsort()[:NEAREST]].square()  # probabilities, (k, actions, m)
    weights = torch.linspace(0, 1, 11, device=center.device)[:, None, None, None]
    for place, one in enumerate(close[:-1]):
        mixed = (weights * one + (1 - weights) * close[place + 1 :]).sqrt()  # (weights, k, actions, m)
        gap = (1 - (mixed * center).sum(dim=-1)).amin(dim=0).amax(dim=-1)  # the best weight of each action
        if float(gap.min()) < BLURRED:
            return True
    return False


def merged(
    groups: Sequence[np.ndarray], gap: np.ndarray, alike: Callable[[np.ndarray, np.ndarray], bool], reach: float
) -> np.ndarray:
    """The state of each group of rows: groups within reach that a test cannot tell apart are one, nearest first."""
    state = np.arange(len(groups))
    rows = dict(enumerate(groups))
    told_apart: set[tuple[int, int]] = set()
    one, other = np.nonzero(np.triu(gap < reach, 1))
    for place in np.argsort(gap[one, other], kind="stable"):
        a, b = sorted((int(state[one[place]]), int(state[other[place]])))
        if a == b or (a, b) in told_apart:
            continue
        if alike(rows[a], rows[b]):
            rows[a] = np.concatenate([rows[a], rows.pop(b)])
            state[state == b] = a
            told_apart = {pair for pair in told_apart if a not in pair and b not in pair}
        else:
            told_apart.add((a, b))
    return np.unique(state, return_inverse=True)[1]
