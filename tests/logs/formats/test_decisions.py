import numpy as np
import pytest

from understudy.errors import LogError
from understudy.logs import loading, read
from understudy.logs.formats.decisions import Decisions

RED, BLUE, GREEN = (("color", "red"),), (("color", "blue"),), (("color", "green"),)


@pytest.fixture
def log_of(monkeypatch):
    """The log of decisions, as if they had come from a file."""

    def read_decisions(decisions):
        monkeypatch.setattr(loading, "load_file", lambda *arguments, **columns: decisions.to_table())
        return read("decisions.vw")

    return read_decisions


def test_actions_are_known_by_their_features_in_whatever_order(log_of):
    decisions = Decisions()
    decisions.add(1, [("x", 1)], 0, -1.0, 0.5, offered=(RED, BLUE, GREEN), policy=[0.5, 0.3, 0.2])
    decisions.add(2, [("x", 2)], 0, 0.0, 0.1, offered=(GREEN, RED, BLUE), policy=[0.1, 0.2, 0.7])
    log = log_of(decisions)
    assert log.spec.actions == ("red", "blue", "green")
    assert log.action.tolist() == [0, 2]
    np.testing.assert_array_equal(log.propensity, [[0.5, 0.3, 0.2], [0.2, 0.7, 0.1]])
    assert log.spec.action_features.column("color") == ("red", "blue", "green")


def test_features_of_actions_that_change_are_part_of_the_observation(log_of):
    decisions = Decisions()
    for line, prices in enumerate(([3, 5], [3, 5], [4, 5]), 1):
        offered = tuple((("price", price),) for price in prices)
        decisions.add(line, [("x", line)], 1, 0.0, 0.5, offered=offered)
    log = log_of(decisions)
    assert log.spec.features == ("x", "action1.price", "action2.price")
    assert log.observation.tolist() == [[1, 3, 5], [2, 3, 5], [3, 4, 5]]
    assert log.spec.action_features is None
    assert log.spec.actions == ("1", "2")


def test_a_changing_number_of_actions_is_refused():
    decisions = Decisions()
    decisions.add(1, [], 0, 0.0, 0.5, offered=(RED, BLUE))
    with pytest.raises(LogError, match=r"line 9 offers 3 actions and the first decision 2.*split the file"):
        decisions.add(9, [], 0, 0.0, 0.5, offered=(RED, BLUE, GREEN))


def test_one_row_without_all_probabilities_leaves_those_of_chosen_actions(log_of):
    decisions = Decisions()
    decisions.add(1, [], 0, 0.0, 0.6, n_actions=2, policy=[0.6, 0.4])
    decisions.add(2, [], 1, 0.0, 0.3, n_actions=2)
    decisions.add(3, [], 1, 0.0, 0.4, n_actions=2, policy=[0.6, 0.4])
    assert log_of(decisions).propensity.tolist() == [0.6, 0.3, 0.4]


def test_statements_that_contradict_are_refused():
    with pytest.raises(LogError, match=r"line 4 says that the chosen action had probability 0\.9, and 0\.4"):
        Decisions().add(4, [], 1, 0.0, 0.9, n_actions=2, policy=[0.6, 0.4])
    with pytest.raises(LogError, match="line 4 chose action 3 of 2"):
        Decisions().add(4, [], 2, 0.0, 0.9, n_actions=2)
    with pytest.raises(LogError, match="there is no decision"):
        Decisions().to_table()


def test_a_feature_may_be_named_like_a_column_of_the_log(log_of):
    decisions = Decisions()
    decisions.add(1, [("reward", 7), ("episode", 3)], 0, -2.0, 1.0, n_actions=1)
    decisions.add(2, [("reward", 8), ("episode", 3)], 0, -1.0, 1.0, n_actions=1)
    log = log_of(decisions)
    assert log.spec.features == ("context.reward", "context.episode")
    assert log.reward.tolist() == [2.0, 1.0]
    assert log.n_episodes == 2


def test_a_bandit_without_a_context_has_one_observation(tmp_path):
    (tmp_path / "log.vw").write_text("1:0:0.5 |\n2:-1:0.5 |\n")
    log = read(tmp_path / "log.vw")
    assert log.observation.tolist() == [0, 0]
    assert log.spec.n_observations == 1
