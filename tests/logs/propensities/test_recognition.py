import numpy as np
import pytest

import understudy as us
from understudy.errors import LogError
from understudy.logs import Log, check, read, write
from understudy.logs.propensities.recognition import decimals_of, hint, is_one_over, is_uniform, uniform_table


def bandit(chosen, n=300, n_actions=3, **changes):
    """One-step decisions, with a propensity of the chosen action."""
    rng = np.random.default_rng(0)
    columns = {
        "observation": rng.integers(4, size=n), "action": rng.integers(n_actions, size=n), "reward": rng.random(n),
        "propensity": np.broadcast_to(1.0 if chosen is None else chosen, n), "ends": "every-row",
    }  # fmt: skip
    return Log.from_columns(**{**columns, **changes})


@pytest.mark.parametrize("value", [1 / 3, 0.3333, 0.333, 0.33, float(np.float32(1 / 3)), float(np.float16(1 / 3))])
def test_uniform_loggers_are_recognized_however_they_were_rounded(value):
    log = bandit(value)
    assert log.propensity.shape == (300, 3)
    assert (log.propensity == 1 / 3).all()
    assert log.propensity_source.kind == "uniform"
    assert "uniform" in repr(log)
    assert any(note.startswith("propensity-uniform: every logged propensity is") for note in log.notes)
    assert len(us.simulate(us.psrs(log), us.learners.Uniform(3), seed=0).rows) > 100


@pytest.mark.parametrize("value", [0.34, 0.3, 0.332, 0.25, 0.5, 1.0, 0.3334])
def test_other_numbers_are_not_one_over_the_number_of_actions(value):
    assert bandit(value).propensity.shape == (300,)


def test_one_other_row_is_enough_not_to_be_uniform():
    assert bandit(np.append(np.full(299, 1 / 3), 0.5)).propensity.ndim == 1
    assert not is_uniform(np.array([1 / 3, np.nan]), 3)
    assert not is_uniform(np.array([1e308, 1 / 3]), 3)
    assert is_uniform(np.array([1 / 3, 0.333]), 3)


@pytest.mark.parametrize(("value", "number"), [(0.17, 6), (0.167, 6), (0.166, 6), (0.13, 8), (0.0125, 80), (1.0, 1)])
def test_rounded_and_cut_off_fractions_are_known(value, number):
    assert is_one_over(value, number)
    assert not is_one_over(value, number + 1)
    assert not is_one_over(value, number - 1 or 2)


def test_two_decimals_do_not_tell_80_actions_from_100():
    assert not is_one_over(0.01, 80)
    assert decimals_of(np.array([0.01])) == 2


def test_equal_numbers_say_what_number_of_actions_they_fit():
    audit = check(bandit(0.2))
    (finding,) = [finding for finding in audit.findings if finding.rule == "chosen-propensity"]
    assert "uniformly among 5 actions, and there are 3: say n_actions=5 if it did" in finding.sentence
    assert "give all 5 labels with actions= if it did" in hint(np.full(9, 0.2), 4, labeled=True)
    assert bandit(0.2, n_actions=5).propensity.shape == (300, 5)
    assert bandit(0.2, n_actions=3).propensity.ndim == 1
    columns = {name: getattr(bandit(0.2), name) for name in ("observation", "action", "reward", "propensity")}
    assert Log.from_columns(**columns, n_actions=5, ends="every-row").propensity.shape == (300, 5)


def test_sets_of_eligible_actions_cannot_be_told_from_the_chosen_one():
    for propensity, among in ((np.where(np.arange(300) % 2, 0.5, 0.25), "2 to 4"), (0.5, "2")):
        sentence = hint(np.broadcast_to(propensity, 300), 6)
        assert f"uniformly among {among} of the 6 actions" in sentence
        assert "does not tell" in sentence
    assert hint(np.array([0.7, 0.3]), 3) == hint(np.ones(5), 3) == hint(np.random.default_rng(0).random(99), 3) == ""


def test_simulators_that_refuse_name_every_next_move():
    with pytest.raises(LogError) as refused:
        us.psrs(bandit(0.4))
    for move in ("qbe", "us.replay(log)", "with_propensities", "us.estimate_propensities(log)"):
        assert move in str(refused.value)
    with pytest.raises(LogError, match=r"no propensities; use qbe.*us\.estimate_propensities") as refused:
        us.psrs(bandit(None, propensity=None))
    assert "replay" not in str(refused.value)


def test_a_uniform_table_takes_no_memory_and_is_the_same_log(tmp_path):
    log, copy = bandit(0.333), bandit(None, propensity=np.full((300, 3), 1 / 3))
    assert log.propensity.strides == (0, 0)
    assert log.select(np.arange(100)).propensity.strides[0] == 0
    assert log.fingerprint == copy.fingerprint
    assert uniform_table(10**9, 100).shape == (10**9, 100)
    for name in ("log.parquet", "log.csv"):
        write(log, tmp_path / name)
        back = read(tmp_path / name)
        assert back.propensity_source.kind == "uniform"
        assert back.fingerprint == log.fingerprint
    assert read(tmp_path / "log.parquet").notes == log.notes


def test_the_law_of_a_recognized_log_is_that_of_the_full_one():
    one = us.simulate(us.psrs(bandit(1 / 3)), us.learners.QLearning(4, 3, seed=1), seed=1)
    other = us.simulate(
        us.psrs(bandit(None, propensity=np.full((300, 3), 1 / 3))), us.learners.QLearning(4, 3, seed=1), seed=1
    )
    assert np.array_equal(one.rows, other.rows)


@pytest.mark.parametrize(("values", "n_actions"), [((0.13, 0.12), 8), ((0.17, 0.16), 6), ((0.05, 0.0526), 19)])
def test_two_numbers_that_both_could_be_rounded_are_two_propensities(values, n_actions):
    assert not is_uniform(np.array(values), n_actions)
    assert is_uniform(np.array(values[:1] * 2), n_actions)
