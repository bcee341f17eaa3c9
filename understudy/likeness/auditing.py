"""The audit of a likeness: by how much like rows differ, by radius, and which radius and rungs follow from it."""

from collections.abc import Sequence

import numpy as np
from scipy.special import ndtri

from understudy.contracts import Encoder, Likeness, Log, SuggestsRadii
from understudy.contracts.encoding import check_encodes, states_of
from understudy.contracts.fitting import ensure_fitted
from understudy.contracts.naming import name_of
from understudy.contracts.offering import offers
from understudy.contracts.vocabulary import Vocabulary
from understudy.errors import ContractError, LogError, SettingError
from understudy.likeness.differences import MeanSquare, cells_of, matrix_of
from understudy.likeness.held_out import FEWEST_EPISODES, States, held_out_halves
from understudy.likeness.likeness_audit import LikenessAudit, RadiusAudit
from understudy.likeness.rule import LEAST_LIKE, LEVEL, chosen_radius, offers_reuse
from understudy.likeness.suiting import suited
from understudy.settings import positive, real, seed_of


def audit(
    log: Log,
    encoder: Encoder | None = None,
    *,
    likeness: Likeness | None = None,
    radii: Sequence[float] | None = None,
    discount: float = 0.99,
    seed: int = 0,
) -> LikenessAudit:
    """Return by how much like rows differ from a row's own, by radius, and the radius and rungs that follow from it.

    Without a `likeness`, the one that suits the log is audited (`suited`). Without `radii`, those that it suggests.

    Episodes are divided into two halves. On one, values are fitted (value iteration under `discount`) and so is the
    likeness, where it learns; on the other, rows of like states are compared with a row's own: their reward, whether
    the episode ends, and their value, reward + discount * value of the next observation. Then the halves change
    places. The squared difference of two means is taken from products of different rows, so that the noise of single
    rows is not in it; where a state and action have one row only, its noise is taken to be that of the others. Where
    observations hardly ever repeat, noise is told from rows within half the radius: the difference within the radius,
    less that within half of it, doubled, which is at least the squared difference where outcomes change steadily or
    jump at borders; rows that are alone within half the radius are not judged, and nothing is told where like rows
    share less than half of the variance of values. Errors are those of leaving out groups of episodes.

    **The rule.** The radius is the largest at which, by the upper ends of one-sided 95% intervals, the root mean
    square difference of the value is below 5% of the range of values (from the 5% to the 95% quantile over rows),
    and that of values of random rewards, one for each place, is below 25% of theirs: a learner that is still learning
    may value anything, so like rows must also lead to about the same places. At least a tenth of the rows must have a
    like row. All of this must hold at each smaller radius, too, but for given ones that are too small for any like row.
    Where there is none, `radius` is None: states should not lend rows. `reuse` is True where the upper end of the
    standard deviation of the value within one state and action is below 5% of its range, and a tenth of the rows or
    more have another one of the same state and action.

    Simulators fit a likeness on the rows that it serves, which made no difference that could be measured: on three
    problems of known truth like rows had -2 to 3% of the noise of a state's own rows in common with them (with errors
    of up to 3%), as with a likeness fitted on another log.
    """
    return audit_of_states(
        log, states_in(log, encoder), likeness=likeness, radii=radii, discount=discount, seed=seed
    )  # fmt: skip


def audit_of_states(
    log: Log,
    states: States,
    *,
    likeness: Likeness | None = None,
    radii: Sequence[float] | None = None,
    discount: float = 0.99,
    seed: int = 0,
) -> LikenessAudit:
    """Return the audit of a likeness of states that are known already: `audit` says how."""
    likeness = suited(log) if likeness is None else likeness
    if isinstance(likeness, type) or not offers(likeness, Likeness):
        raise ContractError(
            f"{likeness!r} is not a likeness: it needs neighbors(log, state, next_state, n_states, radius)"
        )
    if len(log) < FEWEST_EPISODES:
        raise LogError(f"the log has {len(log)} rows, too few to judge a likeness by; {FEWEST_EPISODES} are the least")
    discount, seed = real("discount", discount, 0.0, 1.0), seed_of(seed)
    tried = radii_to_try(likeness, log, states, radii)
    shares = [like_share(likeness, log, states, radius) for radius in tried]
    halves = held_out_halves(log, states, discount, seed)
    found = [[half.differences(likeness, radius) for radius in tried] for half in halves]
    lines = tuple(
        RadiusAudit(
            radius, *share, *(x for name in ("reward", "end", "value", "leads") for x in root(one[name], other[name]))
        )
        for radius, share, one, other in zip(tried, shares, *found, strict=True)
    )
    # Radii of one's own may be too small for any pair of states; suggested ones are not.
    judged = [line for line in lines if radii is None or line.like_share >= LEAST_LIKE]
    noise, noise_upper = root(*(half.noise() for half in halves))
    cell = states.state * np.int64(log.spec.n_actions) + log.action
    counts = np.unique(cell[states.state >= 0], return_counts=True)[1]
    repeated = float(counts[counts > 1].sum() / len(log))
    return LikenessAudit(
        likeness=name_of(likeness), n_rows=len(log), n_episodes=log.n_episodes, discount=discount,
        value_range=float(np.mean([half.value_range for half in halves])), lines=lines,
        radius=chosen_radius((x.radius, x.like_share, x.value_upper, x.leads_upper) for x in judged),
        noise=noise, noise_upper=noise_upper, repeated_share=repeated, reuse=offers_reuse(noise_upper, repeated),
        repeats=all(half.repeats for half in halves),
    )  # fmt: skip


def states_in(log: Log, encoder: Encoder | None) -> States:
    """Return the states that an encoder gives a log; without one, each distinct observation is a state."""
    if not isinstance(log, Log):
        raise ContractError(f"{log!r} is not a Log; make one with understudy.read or Log.from_columns")
    if encoder is None and log.spec.n_observations is not None:
        state, next_state = log.observation, log.next_observation
    elif encoder is None:
        vocabulary = Vocabulary(log.observation, log.next_observation)
        state, next_state = vocabulary.codes(log.observation), vocabulary.codes(log.next_observation)
    else:
        check_encodes(encoder)
        ensure_fitted(encoder, log)
        state, next_state = states_of(encoder, log.observation), states_of(encoder, log.next_observation)
    numbers, place = np.unique(np.concatenate([state, next_state]), return_inverse=True)
    place = place.reshape(-1) - int(numbers[0] < 0)  # from 0 up without gaps; -1 stays -1
    return States(place[: len(log)], place[len(log) :], int(place.max()) + 1)


def radii_to_try(likeness: Likeness, log: Log, states: States, radii: Sequence[float] | None) -> list[float]:
    """Return the radii in increasing order: those given, or those that the likeness suggests."""
    if radii is not None:
        return sorted(positive("radius", radius) for radius in radii)
    if not offers(likeness, SuggestsRadii):
        raise SettingError(f"{name_of(likeness)} suggests no radii; give radii=, some numbers to choose from")
    return [float(radius) for radius in likeness.radii(log, *states)]


def like_share(likeness: Likeness, log: Log, states: States, radius: float) -> tuple[float, float]:
    """Return the share of rows that have a row with their action in a like state, and how many like states, on average.

    Both are of the whole log: that is what runs have.
    """
    lists = likeness.neighbors(log, *states, radius)
    known = np.unique(states.state[states.state >= 0])
    place = np.searchsorted(known, states.state)
    cells = cells_of(np.where(states.state < 0, -1, place), log.action, log.reward, (len(known), log.spec.n_actions))
    has_like = (matrix_of(lists, known) @ cells.rows) > 0
    sizes = np.diff(lists[0])[states.state[states.state >= 0]]
    return float(cells.rows[has_like].sum() / len(log)), float(sizes.sum() / len(log))


def root(*halves: MeanSquare) -> tuple[float, float]:
    """Return the root of the mean of two mean squares, and the upper end of its one-sided interval.

    A mean square below 0, as chance makes some, is 0: the upper end is at least that of no difference.
    """
    mean = max(float(np.mean([half.mean for half in halves])), 0.0)
    error = float(np.sqrt(np.sum([half.error**2 for half in halves]))) / len(halves)
    if not np.isfinite(mean):
        return float("nan"), float("nan")
    return mean**0.5, float(np.sqrt(mean + ndtri(LEVEL) * error)) if np.isfinite(error) else float("inf")
