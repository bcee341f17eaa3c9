"""What is said of each simulator's options; their rows are tested beside the class that serves them."""

import numpy as np
import pytest

import understudy as us
from understudy.envs import Grid, record
from understudy.errors import SettingError
from understudy.simulators import psrs, qbe


@pytest.fixture(scope="module")
def log():
    return record(Grid(5, slip=0.3), episodes=80, seed=0)


def make(seed):
    return us.learners.QLearning(25, 5, epsilon=0.5, seed=seed)


def test_rungs_that_the_log_does_not_support_are_left_out(log):
    """Where outcomes vary and states are codes that differ, only cutting is left, and why is kept."""
    simulator = qbe(log, then=("like", "reuse", "untried", "cut"))
    assert simulator.ladder == ("cut",)
    assert simulator.audit.radius is None
    assert not simulator.audit.reuse
    assert qbe(log, then="like").ladder == ()
    assert qbe(log, then=("reuse", "cut"), audit=False).ladder == ("reuse", "cut")


def test_rows_are_served_again_where_outcomes_never_vary():
    certain = record(Grid(5), episodes=80, seed=0)
    assert qbe(certain, then=("reuse", "cut")).ladder == ("reuse", "cut")


@pytest.mark.parametrize("option", ["likeness", "radius", "max_cut", "cut_window"])
@pytest.mark.parametrize("simulator", [psrs, qbe])
def test_options_of_rungs_need_a_rung(simulator, option, log):
    with pytest.raises(SettingError, match=f"{option}= is for .*no rung is named.*or leave {option}= out"):
        simulator(log, **{option: 1.0})


@pytest.mark.parametrize(
    ("then", "option", "said"),
    [
        ("cut", "radius", r"radius= is for rows of states alike, and then=\('cut',\) has neither 'like' nor 'untried'"),
        (("reuse", "cut"), "likeness", "likeness= is for rows of states alike"),
        ("like", "max_cut", r"max_cut= is for episodes that are cut, and then=\('like',\) has no 'cut'"),
        (["like", "reuse"], "cut_window", "cut_window= is for episodes that are cut"),
    ],
)
def test_options_of_other_rungs_are_refused(then, option, said, log):
    """Ignored, they would look as if they worked."""
    with pytest.raises(SettingError, match=said):
        qbe(log, then=then, **{option: 1.0})


def test_options_of_rungs_that_the_audit_leaves_out_are_not_refused(log):
    simulator = qbe(log, then=("like", "cut"), likeness=us.likeness.transitions(), max_cut=0.5)
    assert simulator.ladder == ("cut",)
    assert simulator.settings["max_cut"] == 0.5


def test_psrs_with_a_ladder_begins_as_psrs_with_a_reserve(log):
    exact = us.simulate(psrs(log, reserve=True), make(1), 2)
    ladder = us.simulate(psrs(log, then="cut", max_cut=0.1), make(1), 2)
    assert len(ladder) > len(exact)
    assert ladder.exact_steps >= len(exact)
    np.testing.assert_array_equal(ladder.rows[: len(exact)], exact.rows)
    assert not ladder.rungs.any()


def test_a_radius_alone_is_of_the_likeness_that_suits_the_log(log):
    """As with --radius of the command: no audit is needed to know which kind of likeness fits the observations."""
    given = qbe(log, then=("like", "cut"), radius=0.5, audit=False)
    assert given.ladder == ("like", "cut")
    assert given.settings["likeness"] == qbe(log, then=("like", "cut"), radius=0.5).settings["likeness"]
    with pytest.raises(SettingError, match="give likeness="):
        qbe(log, then=("like", "cut"), audit=False)
