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
QUIET = 3  # rounds in a row that find nothing, after which it ends
FEWEST = 10  # descriptions that make a state
NEAREST = 16  # states that a border may lie between
BLURRED = 0.15  # gap within which a mixture of states explains a description
EM_STEPS = 30


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


def found_centers(draw: Callable[[], Tensor], radius: float) -> Tensor:
    """Centers of dense groups of descriptions.

    Each round looks at new descriptions; those near no center yet wait together until they are dense enough to have
    one, so that rare states are found too. It ends when some rounds in a row find nothing, or all was looked at.
    """
    waiting = draw()
    centers, quiet = waiting[:0], 0
    for _ in range(MOST_ROUNDS):
        groups = dense_groups(gaps(waiting, waiting), radius, FEWEST)
        if groups:
            centers = torch.cat([centers, torch.stack([mean_description(waiting[group]) for group in groups])])
        quiet = 0 if groups else quiet + 1
        fresh = draw()
        if quiet == QUIET or not len(fresh):
            break
        both = torch.cat([waiting, fresh])
        waiting = both[strangers(both, centers, radius)][-2 * ROUND :]
    return centers


def strangers(descriptions: Tensor, centers: Tensor, radius: float) -> Tensor:
    """Which descriptions are near no center."""
    if not len(centers):
        return torch.ones(len(descriptions), dtype=torch.bool, device=descriptions.device)
    return gaps(descriptions, centers).amin(dim=1) >= radius


def mixtures(centers: Tensor, share: np.ndarray) -> np.ndarray:
    """Which centers are mixtures of larger ones, (k,).

    A network draws borders between states a little blurred: what lies on one looks like a state between those it
    parts, or almost like one of them.
    """
    size = torch.from_numpy(share).to(centers.device)
    return np.array([is_mixture(center, centers[size > 2 * size[k]]) for k, center in enumerate(centers)], dtype=bool)


def is_mixture(center: Tensor, others: Tensor) -> bool:
    """Whether a description is a mixture of some of the nearest others, action by action."""
    close = others[gaps(center[None], others)[0].argsort()[:NEAREST]].square().movedim(1, 0)  # (actions, k, m)
    if not close.shape[1]:
        return False
    target, weights = center.square(), torch.full(close.shape[:2], 1 / close.shape[1], device=center.device)
    for _ in range(EM_STEPS):  # the weights under which the center is likeliest
        mixed = torch.einsum("ak,akm->am", weights, close).clamp(min=1e-12)
        weights = weights * torch.einsum("am,akm->ak", target / mixed, close)
    gap = 1 - (torch.einsum("ak,akm->am", weights, close).sqrt() * center).sum(dim=-1)
    return float(gap.max()) < BLURRED


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
