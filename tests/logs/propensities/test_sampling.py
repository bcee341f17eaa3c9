"""Shares of draws: their inverse is right on average, and rejection sampling with them nearly exact; both by summing
over all outcomes of the draws."""

import numpy as np
import pytest
from scipy.stats import binom

from understudy.errors import LogError, SettingError
from understudy.logs import Log, check, read, write
from understudy.logs.propensities.sampling import checked_samples, chosen_propensities, from_shares, to_shares
from understudy.logs.recurring import recurring
from understudy.logs.statistics.calibration import propensity_frequency


@pytest.mark.parametrize(("n", "p"), [(20, 0.5), (20, 0.2), (100, 0.05), (100, 0.3)])
def test_the_inverse_is_right_on_average_and_that_of_the_plain_share_is_not(n, p):
    x = np.arange(n + 1)
    law = binom.pmf(x, n, p)
    inverse = law @ (1 / from_shares(x / n, n))
    assert inverse == pytest.approx((1 - (1 - p) ** (n + 1)) / p)  # the bias that is left, as the module states it
    with np.errstate(divide="ignore"):
        assert law @ (n / x) == np.inf  # the wrong variant
    drawn = x > 0
    plain = law[drawn] @ (n / x[drawn]) / law[drawn].sum()  # nor does it help to leave zeros out
    assert abs(inverse - 1 / p) < abs(plain - 1 / p)


def served(p, policy, n, propensities):
    """The law of the action that rejection sampling accepts, with two actions, over all outcomes of n draws."""
    x = np.arange(n + 1)
    shares = np.stack([x / n, 1 - x / n], axis=1)
    ratio = policy / propensities(shares, n)
    accepted = ratio / ratio.max(axis=1, keepdims=True)
    mass = binom.pmf(x, n, p[0]) @ (accepted * p)
    return mass / mass.sum()


@pytest.mark.parametrize("p", [(0.5, 0.5), (0.8, 0.2), (0.95, 0.05)])
def test_rejection_sampling_with_shares_is_nearly_exact(p):
    """Within 1/n of the policy, a margin from the order of the bias of an inverse; one draw more for each action, the
    wrong variant, is off by more where an action is rare."""
    policy = np.array([0.3, 0.7])
    for n in (50, 200):
        assert np.abs(served(np.array(p), policy, n, from_shares) - policy).max() < 1 / n
    off = np.abs(served(np.array([0.95, 0.05]), policy, 50, lambda shares, n: (n * shares + 1) / (n + 2)) - policy)
    assert off.max() > 2 / 50


def test_shares_come_back():
    shares = np.random.default_rng(0).multinomial(30, [0.5, 0.3, 0.2], size=50) / 30
    p = from_shares(shares, 30)
    assert np.allclose(p.sum(axis=1), 1)
    assert p.min() > 0
    assert np.allclose(to_shares(p, 30), shares)


@pytest.mark.parametrize(
    "shares",
    [
        [[0.5, 0.5], [0.55, 0.45]],
        [[0.5, 0.5], [0.5, 0.4]],
        [0.1, 0.15],
        [0.1, -0.1],
        [0.1, 1.1],
        [0.1, np.nan],
        [0.1, 1e308],
    ],
    ids=str,
)
def test_what_is_not_a_share_is_refused_with_its_row(shares):
    with pytest.raises(LogError, match=r"in row 1, which is not made of shares of 10 draws; check n_samples="):
        from_shares(np.array(shares), 10)


def test_shares_may_be_rounded():
    assert np.allclose(from_shares(np.array([0.333, 0.667]), 3), [2 / 4, 3 / 4])
    assert np.allclose(from_shares(np.array([[0.33, 0.67]]), 3000).sum(axis=1), 1)  # decimals cannot tell 1,000 draws


@pytest.mark.parametrize("n_samples", [0, -1, 2.5, True, "10", None])
def test_draws_are_counted_in_whole_numbers(n_samples):
    with pytest.raises(SettingError, match="n_samples"):
        checked_samples(n_samples)


def test_a_chosen_action_has_the_propensity_whose_inverse_is_right():
    log = Log.from_columns(**sampled_columns(2, n_samples=10), n_samples=10)
    shares = sampled_columns(2, n_samples=10)["propensity"][np.arange(len(log)), log.action]
    assert np.allclose(chosen_propensities(log), (10 * shares + 1) / 11)
    full = Log.from_columns(**sampled_columns(2))
    assert np.array_equal(chosen_propensities(full), full.propensity[np.arange(len(log)), log.action])
    assert chosen_propensities(Log.from_columns(**{**sampled_columns(2), "propensity": None})) is None


def sampled_columns(seed, n=4000, n_samples=100, shared=False):
    """A logger with three observations that logs shares of draws; once for each observation, if shared."""
    rng = np.random.default_rng(seed)
    observation = rng.integers(3, size=n)
    table = rng.dirichlet(np.full(3, 3.0), size=3)
    p = table[observation]
    action = (p.cumsum(axis=1) > rng.random((n, 1))).argmax(axis=1)
    once = np.array([rng.multinomial(n_samples, row) for row in table])
    shares = (once[observation] if shared else rng.multinomial(n_samples, p)) / n_samples
    return {
        "observation": observation,
        "action": action,
        "reward": np.zeros(n),
        "propensity": shares,
        "ends": "every-row",
    }


@pytest.mark.parametrize("shared", [False, True])
def test_the_audit_does_not_take_the_noise_of_draws_for_an_error(shared):
    """40 logs: at a rate of 1e-4 none fires. Taken as exact, the wrong variant, most do."""
    fired = [0, 0]
    for seed in range(40):
        columns = sampled_columns(seed, n=40_000, shared=shared)
        for which, n_samples in enumerate((100, None)):
            log = Log.from_columns(**columns, n_samples=n_samples)
            fired[which] += propensity_frequency(log, recurring(log.observation)).tested.fires
    assert fired[0] == 0
    assert fired[1] > 20


def test_the_audit_still_finds_wrong_shares():
    columns = sampled_columns(0)
    columns["propensity"] = columns["propensity"][:, [1, 2, 0]]
    assert not check({**columns, "n_samples": 100}).believable


def test_a_log_of_shares_says_so_and_comes_back(tmp_path):
    log = Log.from_columns(**sampled_columns(1), n_samples=100)
    assert "shares of 100 draws" in repr(log)
    assert any("standard error of up to 0.05" in note for note in log.notes)
    write(log, tmp_path / "log.parquet")
    back = read(tmp_path / "log.parquet")
    assert (back.fingerprint, back.propensity_source, back.notes) == (log.fingerprint, log.propensity_source, log.notes)
    with pytest.raises(SettingError, match="came too late"):
        read(tmp_path / "log.parquet", n_samples=100)
    chosen = Log.from_columns(**{**sampled_columns(1), "propensity": np.zeros(4000)}, n_samples=9)
    assert (chosen.propensity == 0.1).all()
    assert check(chosen).ok
