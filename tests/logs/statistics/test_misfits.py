"""The sums over all actions at once are those of one action at a time, as they were written first."""

import numpy as np
import pytest

from tests.logs.propensities.loggers import code_columns, softmax_columns
from understudy.logs import Log
from understudy.logs.propensities.sampling import from_shares, to_shares
from understudy.logs.recurring import recurring
from understudy.logs.statistics.groups import all_rows, by_observation, by_past, by_value, tenths_of_time
from understudy.logs.statistics.misfits import Misfit, misfits, tenths_of_propensity
from understudy.logs.statistics.tails import freedman


def one_by_one(action, propensity, which, groups, n_samples=None):
    """The reference: one action, its tenths included, a column at a time."""
    p = np.ascontiguousarray(propensity[:, which])
    taken = (action == which).astype(np.float64)
    spread, largest = p * (1 - p), 1.0
    own = [by_value(p, "where its propensity is", 10)] if p.max() - p.min() >= 1e-9 else []
    if n_samples is not None:
        _, code, rows = np.unique(p, return_inverse=True, return_counts=True)
        p = np.ascontiguousarray(to_shares(propensity, n_samples)[:, which])
        likely = (n_samples * p + 1) / (n_samples + 2)
        spread = likely * (1 - likely) * (1 + rows[code] / n_samples)
        largest, own = max(1.0, rows.max() / n_samples), []
    worst, comparisons = Misfit(which, 0.0, 0.0, 0.0, 1.0, "", 0), 0
    for group in [*groups, *own]:
        times, expected, variance = group.sums(taken), group.sums(p), group.sums(spread)
        gap = np.abs(times - expected)
        tails = 2 * freedman(gap, variance, largest)
        comparisons += int(((variance > 0) | (gap > 0.5)).sum())
        at = int(np.argmin(tails))
        if tails[at] < worst.tail:
            worst = Misfit(which, times[at], expected[at], variance[at], float(tails[at]), group.words(at), 0)
    return worst._replace(comparisons=comparisons)


def groups_of(log):
    states = recurring(log.observation)
    return [all_rows(log), tenths_of_time(log), *by_observation(log, states), *by_past(log, states)]


def assert_same(found, expected):
    for one, other in zip(found, expected, strict=True):
        assert (one.action, one.where, one.comparisons) == (other.action, other.where, other.comparisons)
        assert np.allclose(one[1:5], other[1:5], rtol=1e-9, atol=1e-9)


LOGS = {
    "numbers": lambda: softmax_columns(0, 3000),
    "codes": lambda: code_columns(1, 3000),
    "few values": lambda: code_columns(2, 3000, n_codes=5),
    "many codes": lambda: code_columns(3, 6000, n_codes=150),
}


@pytest.mark.parametrize("wrong", [False, True])
@pytest.mark.parametrize("name", LOGS)
def test_all_actions_at_once_are_the_actions_one_by_one(name, wrong):
    columns = LOGS[name]()
    if wrong:  # propensities of other rows: misfits are large, and named by their group
        columns["propensity"] = np.roll(columns["propensity"], 1, axis=1)
    log = Log.from_columns(**columns)
    groups = groups_of(log)
    found = misfits(log.action, log.propensity, groups, tenths=tenths_of_propensity(log.action, log.propensity))
    assert_same(found, [one_by_one(log.action, log.propensity, which, groups) for which in range(4)])


def test_shares_of_draws_are_compared_as_one_by_one():
    rng = np.random.default_rng(4)
    columns = code_columns(4, 3000)
    shares = rng.multinomial(20, columns["propensity"]) / 20
    p = from_shares(shares, 20)
    log = Log.from_columns(**{**columns, "propensity": None})
    groups = groups_of(log)
    found = misfits(log.action, p, groups, 20, tenths_of_propensity(log.action, p))
    assert_same(found, [one_by_one(log.action, p, which, groups, 20) for which in range(4)])


def test_a_uniform_logger_is_summed_by_one_column():
    columns = code_columns(5, 2000, skewed=False)
    log = Log.from_columns(**columns)
    uniform = np.broadcast_to(0.25, (2000, 4))
    groups = groups_of(log)
    assert tenths_of_propensity(log.action, uniform) is None
    assert_same(
        misfits(log.action, uniform, groups), [one_by_one(log.action, uniform, which, groups) for which in range(4)]
    )


def test_a_block_of_rows_or_of_actions_changes_nothing(monkeypatch):
    log = Log.from_columns(**softmax_columns(6, 1000, n_actions=7))
    groups = groups_of(log)
    whole = misfits(log.action, log.propensity, groups, tenths=tenths_of_propensity(log.action, log.propensity))
    monkeypatch.setattr("understudy.logs.statistics.misfits.BLOCK", 700)
    monkeypatch.setattr("understudy.logs.statistics.misfits.COLUMNS", 3)
    parts = misfits(log.action, log.propensity, groups, tenths=tenths_of_propensity(log.action, log.propensity))
    assert_same(parts, whole)
