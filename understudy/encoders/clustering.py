"""States as clusters of observations from which the same follows: by density first, then by tests on rows.

The embedding of an observation is its forecast: for each action, a distribution over a bank of outcomes, as roots of
probabilities. The distance between two embeddings is Hellinger's, squared, under the action where it is largest: 0
where the same follows under every action, 1 where, under one, nothing in common does.
"""

from collections.abc import Callable, Sequence
from typing import NamedTuple

import numpy as np
import torch
from torch import Tensor

ROUND = 4000  # observations embedded together
MOST_ROUNDS = 12
MOST_IDLE_ROUNDS = 3  # rounds in a row that find no group, after which the search for centers ends
FEWEST_MEMBERS = 10  # embeddings that make a group
N_NEIGHBORS = 16  # groups that one may be a mixture of
MIXTURE_DISTANCE = 0.15  # within which a mixture of groups explains an embedding
EM_STEPS = 30


class OutcomeBank(NamedTuple):
    """Outcomes that embeddings are distributions over."""

    outcomes: Tensor  # (m, dimension): mu of each
    weight: Tensor  # (m,): the logarithm of the share of outcomes that each stands for


def outcome_bank(outcomes: Tensor, fewest: int, most: int, rng: np.random.Generator) -> OutcomeBank:
    """Return outcomes drawn in proportion to their squared distance from those before, until all are near one.

    Rare outcomes are drawn too: that an episode ends here tells states apart, however rarely it is seen.
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
    return OutcomeBank(kept, (shares / shares.sum()).log())


def embeddings_of(phi: Tensor, bank: OutcomeBank) -> Tensor:
    """Return the embeddings of observations with this phi, (n, actions, m)."""
    return torch.softmax(phi @ bank.outcomes.T + bank.weight, dim=-1).sqrt()


def distances(one: Tensor, other: Tensor) -> Tensor:
    """Return the distance of each of n embeddings from each of k others, (n, k)."""
    largest = torch.zeros(len(one), len(other), device=one.device)
    for action in range(one.shape[1]):
        largest = torch.maximum(largest, 1 - one[:, action] @ other[:, action].T)
    return largest


def nearest(embeddings: Tensor, centers: Tensor) -> Tensor:
    """Return the index of the center that each embedding has most in common with, over all actions."""
    return (embeddings.flatten(1) @ centers.flatten(1).T).argmax(dim=1)


def center_of(embeddings: Tensor) -> Tensor:
    """Return the embedding of a mixture of observations: the root of their mean probabilities."""
    return embeddings.square().mean(dim=0).sqrt()


def dense_groups(distance: Tensor, radius: float, fewest: int) -> list[Tensor]:
    """Return groups of indices within a radius of one of them, the largest first, until none has `fewest` members."""
    near = distance < radius
    left = torch.ones(len(distance), dtype=torch.bool, device=distance.device)
    counts = near.sum(dim=1)
    groups = []
    while len(distance):
        middle = int(torch.where(left, counts, 0).argmax())
        members = near[middle] & left
        if int(members.sum()) < fewest:
            break
        groups.append(members.nonzero().squeeze(1))
        counts = counts - near[:, members].sum(dim=1)
        left &= ~members
    return groups


def dense_centers(draw: Callable[[], Tensor], radius: float) -> Tensor:
    """Return the centers of dense groups among the embeddings that `draw` gives, some new ones at each call.

    Embeddings far from all centers are kept until enough of them make a group, so that rare states are found too. It
    ends when some rounds in a row find no group, or `draw` gives nothing more.
    """
    ungrouped = draw()
    centers, n_idle = ungrouped[:0], 0
    for _ in range(MOST_ROUNDS):
        groups = dense_groups(distances(ungrouped, ungrouped), radius, FEWEST_MEMBERS)
        if groups:
            centers = torch.cat([centers, torch.stack([center_of(ungrouped[group]) for group in groups])])
        n_idle = 0 if groups else n_idle + 1
        fresh = draw()
        if n_idle == MOST_IDLE_ROUNDS or not len(fresh):
            break
        both = torch.cat([ungrouped, fresh])
        ungrouped = both[far_from_all(both, centers, radius)][-2 * ROUND :]
    return centers


def far_from_all(embeddings: Tensor, centers: Tensor, radius: float) -> Tensor:
    """Return True for each embedding that is not within a radius of any center, (n,)."""
    if not len(centers):
        return torch.ones(len(embeddings), dtype=torch.bool, device=embeddings.device)
    return distances(embeddings, centers).amin(dim=1) >= radius


def are_mixtures(centers: Tensor, share: np.ndarray) -> np.ndarray:
    """Return True for each center that is a mixture of others with more than twice its share of rows, (k,).

    A network blurs the borders between states: observations on a border look like a state between the two, or almost
    like one of them.
    """
    size = torch.from_numpy(share).to(centers.device)
    return np.array([is_mixture(center, centers[size > 2 * size[k]]) for k, center in enumerate(centers)], dtype=bool)


def is_mixture(center: Tensor, others: Tensor) -> bool:
    """Return True if an embedding is a mixture of some of the nearest others, action by action."""
    close = others[distances(center[None], others)[0].argsort()[:N_NEIGHBORS]].square().movedim(1, 0)  # (actions, k, m)
    if not close.shape[1]:
        return False
    target, weights = center.square(), torch.full(close.shape[:2], 1 / close.shape[1], device=center.device)
    for _ in range(EM_STEPS):  # towards the weights under which the center is likeliest
        mixed = torch.einsum("ak,akm->am", weights, close).clamp(min=1e-12)
        weights = weights * torch.einsum("am,akm->ak", target / mixed, close)
    distance = 1 - (torch.einsum("ak,akm->am", weights, close).sqrt() * center).sum(dim=-1)
    return float(distance.max()) < MIXTURE_DISTANCE


def merged_groups(
    groups: Sequence[np.ndarray], distance: np.ndarray, alike: Callable[[np.ndarray, np.ndarray], bool], reach: float
) -> np.ndarray:
    """Return the state of each group of rows, (k,): groups within reach that are `alike` share one, nearest first."""
    state = np.arange(len(groups))
    rows = dict(enumerate(groups))
    distinct: set[tuple[int, int]] = set()
    one, other = np.nonzero(np.triu(distance < reach, 1))
    for pair in np.argsort(distance[one, other], kind="stable"):
        a, b = sorted((int(state[one[pair]]), int(state[other[pair]])))
        if a == b or (a, b) in distinct:
            continue
        if alike(rows[a], rows[b]):
            rows[a] = np.concatenate([rows[a], rows.pop(b)])
            state[state == b] = a
            distinct = {tested for tested in distinct if a not in tested and b not in tested}
        else:
            distinct.add((a, b))
    return np.unique(state, return_inverse=True)[1]
