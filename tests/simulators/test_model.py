"""The maximum-likelihood model: rows with replacement, observations by the law that was asked for."""

import numpy as np
import pytest
from scipy.stats import chisquare

from understudy.encoders import Function
from understudy.errors import EncoderError, SettingError
from understudy.logs import Log
from understudy.simulators import model

N = 6000


def star_log(**columns):
    """One state to act from: action 0 leads to 1, 2, 2 or 3 (and over), action 1 to 4; all by one-step episodes."""
    made = {
        "observation": [0, 0, 0, 0, 0], "action": [0, 0, 0, 0, 1], "reward": [1.0, 2.0, 3.0, 4.0, 5.0],
        "next_observation": [1, 2, 2, 3, 4], "terminated": [True] * 5, "episode": [0, 1, 2, 3, 4],
    }  # fmt: skip
    return Log.from_columns(**(made | columns))


def draws(simulator, policy, n=N, seed=0):
    rehearsal, steps = simulator.start(seed), []
    for _ in range(n):
        rehearsal.begin()
        steps.append(rehearsal.step(policy))
    return steps


def test_rows_of_the_drawn_action_come_back_with_equal_chance():
    # chi-square with 4 degrees of freedom: false alarm 1e-6; the law over distinct outcomes is told apart
    rows = np.bincount([step.row for step in draws(model(star_log()), [0.6, 0.4])], minlength=5)
    assert chisquare(rows, N * np.array([0.15, 0.15, 0.15, 0.15, 0.4])).pvalue > 1e-6
    assert chisquare(rows, N * np.array([0.2, 0.1, 0.1, 0.2, 0.4])).pvalue < 1e-12


def test_outcomes_have_their_empirical_frequencies():
    seen = np.bincount([step.next_observation for step in draws(model(star_log()), [1.0, 0.0])])[1:]
    assert chisquare(seen, N * np.array([0.25, 0.5, 0.25])).pvalue > 1e-6
    assert chisquare(seen, N * np.array([1, 1, 1]) / 3).pvalue < 1e-12


def test_a_step_has_the_reward_of_its_row():
    log = star_log()
    steps = draws(model(log), [0.5, 0.5], n=100)
    assert {step.row for step in steps} == set(range(5))
    for step in steps:
        assert (step.reward, step.action, step.terminated) == (
            log.reward[step.row], log.action[step.row], log.terminated[step.row]
        )  # fmt: skip


def test_it_never_runs_out_and_openings_are_drawn_again(walk_log, play):
    trace = play(model(walk_log([0, 1, 9], [1, 9])), lambda t, x: [1.0, 0.0], 0, max_steps=3000)
    assert trace.stop.cause == "max steps"
    # 5 standard errors about a half
    assert abs(np.mean(np.array(trace.openings) == 0) - 0.5) < 2.5 / np.sqrt(len(trace.openings))
    assert trace.stop.counts["openings drawn with replacement"] == len(trace.openings)
    assert not model(walk_log([0, 1])).exhaustible


def noisy_log():
    """Two states, even and odd; odd shows 1 four times as from-observation, 3 once as a next one, and 5 both ways."""
    return Log.from_columns(
        observation=[0, 1, 0, 1, 0, 1, 0, 1, 0, 5, 0],
        next_observation=[1, 0, 1, 0, 1, 0, 1, 0, 5, 0, 3],
        action=np.zeros(11, int), reward=np.zeros(11), terminated=np.arange(11) == 10,
    )  # fmt: skip


PARITY = Function(lambda x: x % 2)


@pytest.mark.parametrize(
    ("emission", "right", "wrong"),
    [
        ("uniform", [1 / 3, 1 / 3, 1 / 3], [8 / 11, 1 / 11, 2 / 11]),
        ("empirical", [8 / 11, 1 / 11, 2 / 11], [4 / 6, 1 / 6, 1 / 6]),  # as x or x', and not as x' alone
        ("row", [4 / 6, 1 / 6, 1 / 6], [1 / 3, 1 / 3, 1 / 3]),
    ],
)
def test_emissions_have_the_law_that_was_asked_for(emission, right, wrong, play):
    # chi-square with 2 degrees of freedom: false alarm 1e-6
    trace = play(model(noisy_log(), PARITY, emission=emission), lambda t, x: [1.0], 0, max_steps=N)
    odd = [step.next_observation for step in trace.steps if step.next_observation % 2 == 1]
    counts = np.bincount(odd, minlength=6)[[1, 3, 5]]
    assert chisquare(counts, sum(counts) * np.array(right)).pvalue > 1e-6
    assert chisquare(counts, sum(counts) * np.array(wrong)).pvalue < 1e-12


def test_an_emission_is_the_row_of_the_next_observation(play):
    log = noisy_log()
    steps = play(model(log, PARITY), lambda t, x: [1.0], 0, max_steps=200).steps
    assert len(steps) == 200
    for step in steps:
        shown = np.concatenate([log.observation, log.next_observation])[step.emission]
        assert step.next_observation == shown
        assert shown % 2 == log.next_observation[step.row] % 2


def test_without_an_encoder_the_next_observation_is_the_rows_own(random_log, play, table):
    log = random_log(0, episodes=60)
    steps = play(model(log), table(0), 0, max_steps=300).steps
    assert len(steps) > 20
    for step in steps:
        assert step.next_observation == log.next_observation[step.row]
        assert step.observation == log.observation[step.row]


def test_an_action_never_logged_in_a_state_ends_the_run(play):
    stop = play(model(star_log(action=[0] * 5), emission="row"), lambda t, x: [1.0], 0, max_steps=50).stop
    assert stop.cause == "max steps"
    log = Log.from_columns(observation=[0], action=[0], reward=[0.0], next_observation=[1], terminated=[True],
                           n_actions=3)  # fmt: skip
    stop = play(model(log), lambda t, x: [0.0, 0.0, 1.0], 0, max_steps=50).stop
    assert (stop.cause, stop.state, stop.action) == ("queue empty for action", 0, 2)


def test_states_never_acted_from_and_observations_without_a_state(walk_log, play):
    stop = play(model(walk_log([0, 1], terminated=[False])), lambda t, x: [1.0, 0.0], 0).stop
    assert (stop.cause, stop.state) == ("never logged", 1)
    nowhere = Function(lambda x: np.where(x == 1, -1, x))
    assert play(model(walk_log([0, 1, 2]), nowhere), lambda t, x: [1.0, 0.0], 0).stop.cause == "no state"


def test_its_time_limit_is_its_own(walk_log, play):
    steps = play(model(walk_log([0, 0, 0, 0]), max_episode_steps=2), lambda t, x: [1.0, 0.0], 1, max_steps=50).steps
    ages = np.diff([-1, *(at for at, step in enumerate(steps) if step.terminated or step.truncated)])
    assert set(ages) == {1, 2}
    assert not any(step.terminated and step.truncated for step in steps)


def test_an_unknown_emission_is_refused():
    with pytest.raises(SettingError, match="emission='even' is not one of 'uniform', 'empirical', 'row'"):
        model(star_log(), emission="even")


def test_an_encoder_without_any_state_for_the_log_is_refused():
    with pytest.raises(EncoderError, match="no state"):
        model(star_log(), Function(lambda x: np.full(len(x), -1)))
