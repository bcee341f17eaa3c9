"""How far runs on a ladder are believed: never less than exact, and not where they are wrong."""

import json
import sys
from dataclasses import replace

import numpy as np
import pytest

import understudy as us
from understudy.envs import Grid
from understudy.errors import SettingError

ENV = Grid(5, slip=0.3)
PROBES = {"value": us.probes.start_value(ENV), "episode return": us.probes.episode_returns}
OPTIONS = {"probes": PROBES, "runs": 20, "halves_of_log": 6, "runs_of_half": 5, "backend": "serial"}


def make(seed):
    return us.learners.QLearning(25, 5, epsilon=0.5, alpha=0.5, gamma=0.95, seed=seed)


@pytest.fixture(scope="module")
def log():
    return us.record(ENV, episodes=60, seed=0)


@pytest.fixture(scope="module")
def found(log):
    return us.beyond(us.qbe(log, then="cut", max_cut=0.1), make, margin=0.5, **OPTIONS)


def test_the_trusted_horizon_is_the_smallest_of_the_evidence_and_never_less_than_exact(found):
    assert found.steps == max(found.exact, min(one.steps for one in found.evidence if one.limits))
    assert found.exact <= found.steps <= found.longest
    assert {one.name for one in found.evidence} >= {"the interval of the mean", "less log", "episodes cut"}
    assert found.probe == "value"


def test_nothing_is_claimed_where_the_margin_is_too_small(log):
    found = us.beyond(us.qbe(log, then="cut", max_cut=0.1), make, margin=1e-6, **OPTIONS)
    assert found.steps == found.exact
    assert found.sentence.startswith("lower rungs gain nothing for ")


def test_rows_served_again_are_not_believed_where_they_flatter():
    """On a slippery lake, rows served again teach the learner to exploit noise: the truth earns half as much there."""
    lake = lake_of()
    log = us.Log.from_columns(**lake.rollout(np.full((16, 4), 0.25), 300, seed=0))
    simulator = us.qbe(log, then=("reuse", "cut"), audit=False)
    found = us.beyond(
        simulator, lambda seed: us.learners.QLearning(16, 4, epsilon=0.1, alpha=0.1, gamma=0.99, seed=seed),
        probes={"episode return": us.probes.episode_returns}, margin=0.05, max_steps=8_000, runs=40, halves_of_log=10,
        runs_of_half=8, backend="serial",
    )  # fmt: skip
    assert found.longest == 8_000
    assert found.steps < 2_000


def lake_of():
    """Gymnasium's FrozenLake of 4 x 4 cells as tables."""
    import gymnasium

    from understudy.contracts.finite_tables import Tables
    from understudy.envs import FiniteEnv

    known = gymnasium.make("FrozenLake-v1").unwrapped.P
    outcomes = [[known[state][action] for action in range(4)] for state in range(16)]
    outcomes = [[row + [(0.0, 0, 0.0, True)] * (3 - len(row)) for row in of_state] for of_state in outcomes]
    share, following, reward, over = np.moveaxis(np.array(outcomes, float), -1, 0)
    return FiniteEnv(
        Tables(
            start=np.cumsum(np.eye(16)[0]), outcome=np.cumsum(share, axis=-1), next_state=following.astype(np.int32),
            reward=reward, terminated=over.astype(bool), emission=np.ones((16, 1)),
            observation=np.arange(16, dtype=np.int32)[:, None],
        ),
        max_episode_steps=100,
    )  # fmt: skip


def test_a_simulator_without_rungs_is_refused(log):
    with pytest.raises(SettingError, match="has no rungs"):
        us.beyond(us.qbe(log), make, margin=0.5, probes=PROBES)


def test_runs_that_end_at_once_say_so(log):
    few = log.select(np.arange(2))
    found = us.beyond(us.qbe(few, then="cut"), make, margin=0.5, every=1000, **OPTIONS)
    assert found.steps == found.exact
    assert "before the first reading most runs end" in found.sentence


def test_it_prints_and_is_plain_data(found):
    assert str(found).startswith("believe 'value' up to step")
    assert found.to_json()["evidence"][0]["name"] == "the interval of the mean"
    assert "less log" in found._repr_html_()


@pytest.mark.parametrize("every", [100, 100_000])
def test_the_exact_part_is_that_of_all_runs_whether_any_is_read_or_not(log, every):
    """That of the first few runs would be another one, and could be shorter than what is exact."""
    simulator = us.qbe(log, then="cut")
    exact = us.experiment(us.qbe(log, stop="plain"), make, runs=60, backend="serial", progress=False)
    found = us.beyond(simulator, make, margin=1e-6, every=every, **OPTIONS | {"runs": 60})
    assert found.exact == found.steps == exact.horizon(0.9) != exact[:20].horizon(0.9)
    assert found.longest == found.runs.horizon(0.9)
    assert len(found.runs) == 60


def test_a_probe_that_has_no_reading_beyond_the_exact_part_is_not_believed_there(log):
    class Stuck:
        """Learns to stay where it is: no episode ends any more."""

        n_actions = 5

        def __init__(self, seed):
            self.n = 0

        def policy(self, observation):
            return np.full(5, 0.2) if self.n < 100 else np.eye(5)[0]

        def learn(self, step):
            self.n += 1

    simulator = us.qbe(log, then="reuse", audit=False)
    found = us.beyond(
        simulator, Stuck, probes={"episode return": us.probes.episode_returns}, margin=10.0, every=50, max_steps=2_000,
        runs=4, halves_of_log=5, runs_of_half=2, backend="serial",
    )  # fmt: skip
    assert found.longest == 2_000
    assert found.steps <= max(found.exact, 200)


def test_bad_options_are_refused_before_the_runs(log, tmp_path):
    simulator = us.qbe(log, then="cut")
    with pytest.raises(SettingError, match="not among probes="):
        us.beyond(simulator, make, margin=0.5, probes={})
    with pytest.raises(SettingError, match="'x' is not among probes=, which has 'value'"):
        us.beyond(simulator, make, margin=0.5, probes=PROBES, probe="x")
    with pytest.raises(SettingError, match="keeps no results"):
        us.beyond(simulator, make, margin=0.5, probes=PROBES, out=tmp_path)


def test_without_rungs_nothing_is_gained(log):
    found = us.beyond(us.qbe(log, then="like"), make, margin=0.5, **OPTIONS)
    assert found.ladder == ()
    assert found.steps == found.exact


def test_runs_on_halves_that_are_there_are_not_made_again(log, found, monkeypatch):
    def never(*_, **__):
        raise AssertionError("made twice")

    monkeypatch.setattr(sys.modules[us.Beyond.__module__], "halves", never)
    simulator = us.qbe(log, then="cut", max_cut=0.1)
    again = us.beyond(simulator, make, margin=0.5, probes=PROBES, found=us.Halves(found.runs), backend="serial")
    assert again.to_json() == found.to_json()
    assert again.runs is found.runs


def test_halves_of_another_simulator_or_settings_of_theirs_are_refused(log, found):
    halves, cut = us.Halves(found.runs), us.qbe(log, then="cut", max_cut=0.1)
    with pytest.raises(SettingError, match=r"found= says runs=, seed= already; leave them out"):
        us.beyond(cut, make, margin=0.5, probes=PROBES, found=halves, runs=20, seed=0)
    with pytest.raises(SettingError, match=r"its then is another; give us\.halves this one"):
        us.beyond(us.qbe(log, then="reuse", audit=False), make, margin=0.5, probes=PROBES, found=halves)
    with pytest.raises(SettingError, match="its log is another"):
        us.beyond(us.qbe(log.select(np.arange(50)), then="cut"), make, margin=0.5, probes=PROBES, found=halves)
    with pytest.raises(SettingError, match=r"not what us\.halves returned"):
        us.beyond(cut, make, margin=0.5, probes=PROBES, found=found.runs)


def test_what_was_found_comes_back_from_json_without_its_runs(found):
    again = us.Beyond.from_json(json.loads(json.dumps(found.to_json())))
    assert again == replace(found, runs=None)
    assert str(again) == str(found)


@pytest.mark.parametrize(
    "wrong",
    [
        {"steps": -1}, {"exact": None}, {"margin": "x"}, {"probe": 3}, {"ladder": [1]}, {"evidence": []},
        {"evidence": [{"name": "x"}]}, {"evidence": [{"name": "x", "steps": 1, "why": "y", "limits": 1}]},
    ],
)  # fmt: skip
def test_values_of_another_type_are_refused(found, wrong):
    with pytest.raises((ValueError, KeyError, TypeError)):
        us.Beyond.from_json(found.to_json() | wrong)
