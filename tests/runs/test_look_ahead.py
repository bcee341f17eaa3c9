"""Looking ahead gives the run that acting step by step gives, in everything that a run is."""

from dataclasses import replace

import numpy as np
import pytest

from understudy.encoders import Function
from understudy.envs import ContinuousGrid, NoisyGrid
from understudy.errors import ContractError, PolicyError, SettingError
from understudy.learners import PPO, FixedPolicy, Uniform
from understudy.logs import Log
from understudy.runs import experiment, look_ahead, probes, simulate
from understudy.runs.look_ahead import can_look_ahead, epochs_on, has_compiled_epochs
from understudy.runs.setup import Cancelled
from understudy.simulators import actions_only, any_row, model, psrs, qbe, real, states_only

PLANE, NOISY = ContinuousGrid(size=3, slip=0.2), NoisyGrid(2, size=3, slip=0.1)
CELLS = Function(PLANE.latent)
CORNERED = Function(lambda points: np.where(points.sum(1) > 1.65, -1, PLANE.latent(points)))


def logged(steps, policy=None, seed=0, **options):
    policy = np.full((9, 5), 0.2) if policy is None else policy
    return Log.from_columns(**PLANE.rollout_cells(policy, steps=steps, seed=seed, **options))


LOPSIDED = 0.05 + 0.75 * np.random.default_rng(0).dirichlet(np.ones(5), size=9)
EVEN, SKEWED = logged(4_000), logged(4_000, LOPSIDED)
CAPPED = logged(4_000, max_episode_steps=7)
NUMBERS = Log.from_columns(**NOISY.rollout(np.full((36, 5), 0.2), steps=4_000, seed=0))

SIMULATORS = {
    "psrs": psrs(EVEN, CELLS),
    "psrs, lopsided": psrs(SKEWED, CELLS),
    "psrs by rows": psrs(SKEWED, CELLS, order="rows"),
    "psrs in log order": psrs(SKEWED, CELLS, order="log"),
    "psrs with replacement": psrs(SKEWED, CELLS, openings="replacement", max_episode_steps=5),
    "psrs by rows with replacement": psrs(EVEN, CELLS, order="rows", openings="replacement", max_episode_steps=3),
    "psrs with the log's limit": psrs(CAPPED, CELLS),
    "psrs by rows with a limit": psrs(EVEN, CELLS, order="rows", max_episode_steps=4),
    "psrs where a corner has no state": psrs(EVEN, CORNERED),
    "psrs of integers": psrs(NUMBERS, Function(NOISY.latent)),
    "psrs with a reserve": psrs(SKEWED, CELLS, reserve=True),
    "psrs with a reserve by rows": psrs(EVEN, CELLS, reserve=True, order="rows", openings="replacement",
                                        max_episode_steps=8),
    "qbe": qbe(SKEWED, CELLS),
    "qbe plain": qbe(SKEWED, CELLS, stop="plain", order="rows"),
    "states_only": states_only(EVEN, CELLS),
    "actions_only": actions_only(EVEN),
    "any_row": any_row(EVEN, openings="replacement", max_episode_steps=20),
}  # fmt: skip


def make(simulator, seed, **settings):
    settings = {"epoch_steps": 300, "policy_iterations": 5, "value_iterations": 5, "policy_rate": 0.01} | settings
    return PPO(simulator.log.spec, seed=seed, **settings)


def both(simulator, seed=0, max_steps=None, settings=None, **options):
    """The runs and the learners, ahead and step by step."""
    learners = [make(simulator, seed, **(settings or {})) for _ in range(2)]
    runs = [simulate(simulator, learner, seed, max_steps, compiled=form, **options)
            for learner, form in zip(learners, (None, False), strict=True)]  # fmt: skip
    return runs, learners


def assert_same_learners(one, other):
    assert (one.epochs, one.steps_until_update, one.abandons_episode) == (
        other.epochs,
        other.steps_until_update,
        other.abandons_episode,
    )
    for name in ("_policy", "_value"):
        np.testing.assert_array_equal(getattr(one, name).weight, getattr(other, name).weight)
    n = one.epoch_steps - one.steps_until_update
    for name in ("observed", "action", "reward", "terminated", "truncated"):
        np.testing.assert_array_equal(getattr(one._epoch, name)[:n], getattr(other._epoch, name)[:n])


def measured():
    return {
        "returns": probes.episode_returns,
        "visitation": probes.visitation,
        "weights": lambda learner: learner._policy.weight[0, :40].numpy(),
        "noted": lambda learner: learner.steps_until_update,
    }


@pytest.mark.parametrize("abandons", [False, True])
@pytest.mark.parametrize("name", SIMULATORS)
def test_every_replay_is_alike_ahead_and_step_by_step(name, abandons, assert_same):
    simulator = SIMULATORS[name]
    assert can_look_ahead(simulator, make(simulator, 0))
    runs, learners = both(simulator, 1, 2_000, {"abandons": abandons}, probes=measured(), every=130)
    assert_same(*runs)
    assert_same_learners(*learners)
    assert len(runs[0]) > 100


@pytest.mark.parametrize("seed", range(4))
def test_runs_to_the_end_of_the_log_are_alike(seed, assert_same):
    for name in ("psrs, lopsided", "psrs with a reserve", "qbe", "psrs by rows", "psrs where a corner has no state"):
        runs, learners = both(SIMULATORS[name], seed)
        assert_same(*runs)
        assert_same_learners(*learners)
        assert runs[0].stopped.cause != "max steps"


@pytest.mark.parametrize("max_steps", [1, 2, 299, 300, 301, 600, 650])
@pytest.mark.parametrize("every", [1000, 300, 7])
def test_runs_cut_anywhere_are_alike(max_steps, every, assert_same):
    for abandons in (False, True):
        runs, learners = both(SIMULATORS["psrs"], 3, max_steps, {"abandons": abandons}, probes=measured(), every=every)
        assert_same(*runs)
        assert_same_learners(*learners)
        assert learners[0].epochs == max_steps // 300


def test_an_epochs_end_abandons_the_episode_only_where_that_is_asked_for():
    for abandons, more in ((False, 0), (True, 3)):
        (run, _), _ = both(SIMULATORS["psrs"], 5, 1_100, {"abandons": abandons})
        assert not np.isin([300, 600, 900], run.ends).any()
        assert len(run.openings) == len(run.ends) + more + (run.ends[-1] < len(run))


@pytest.mark.parametrize("abandons", [False, True])
def test_nothing_is_under_way_after_an_abandoned_episode(abandons):
    """The run ends with an epoch, and so does the episode where it is abandoned."""
    earned = {"reward": probes.History(lambda progress: progress.partial)}
    runs, _ = both(SIMULATORS["psrs"], 3, 300, {"abandons": abandons}, probes=earned, every=300)
    assert runs[0].ends[-1] < 300
    assert runs[0].partial == runs[1].partial
    assert (runs[0].partial is None) == abandons
    assert runs[0].curves["reward"] == runs[1].curves["reward"] == (runs[0].partial or 0.0)


def test_what_comes_ahead_is_not_used_up(assert_same):
    """A simulator that was looked at far ahead serves the next run as a new one would."""
    simulator = psrs(EVEN, CELLS, order="rows")
    first = simulate(simulator, make(simulator, 2), 2)
    simulate(simulator, make(simulator, 8), 8, 500)
    assert_same(simulate(simulator, make(simulator, 2), 2), first)
    assert_same(simulate(psrs(EVEN, CELLS, order="rows"), make(simulator, 2), 2), first)


@pytest.mark.parametrize("least", [0, 50])
def test_nothing_depends_on_how_far_is_looked(least, monkeypatch, assert_same):
    simulator = SIMULATORS["psrs, lopsided"]
    usual = simulate(simulator, make(simulator, 0), 0, 1_500)
    monkeypatch.setattr(look_ahead, "_generous", lambda expected: (np.zeros_like(expected) + least).astype(np.int64))
    assert_same(simulate(simulator, make(simulator, 0), 0, 1_500), usual)


def test_few_batches_do_for_an_epoch(monkeypatch):
    batches = []
    evaluate = look_ahead.LookAhead._evaluate
    monkeypatch.setattr(
        look_ahead.LookAhead, "_evaluate", lambda ahead, codes: batches.append(len(codes)) or evaluate(ahead, codes)
    )
    simulator = psrs(logged(60_000), CELLS)
    run = simulate(simulator, make(simulator, 0, epoch_steps=2_000), 0, 10_000)
    assert len(batches) < 50
    assert sum(batches) < 4 * run.stopped.counts["rows taken"]


def disagreement(n_rows, error):
    """Decisions to accept a row, steps, and how many rows differ between acting ahead and step by step.

    What is evaluated ahead is off by a relative error. Updates are left out: nothing here depends on them but time.
    """

    class Unchanging(PPO):
        def policies(self, observations):
            policies = super().policies(observations)
            if len(policies) > 1:
                policies = policies * (1.0 + error * np.cos(1e6 * policies))
            return policies / policies.sum(axis=1, keepdims=True)

        def update(self):
            self._epoch.begin()

    simulator = psrs(logged(n_rows, LOPSIDED), CELLS)
    runs = [simulate(simulator, Unchanging(simulator.log.spec, seed=0), 0, compiled=form) for form in (None, False)]
    n = min(map(len, runs))
    return runs[0].stopped.counts["rows taken"], n, (runs[0].rows[:n] != runs[1].rows[:n]).sum()


@pytest.mark.slow
def test_no_row_differs_over_a_hundred_thousand_decisions_as_some_do_if_policies_are_slightly_off():
    decisions, steps, differing = disagreement(250_000, 0.0)
    assert decisions > 100_000
    assert steps > 30_000
    assert differing == 0
    assert disagreement(20_000, 1e-3)[2] > 0  # some ten decisions of ten thousand are that close


@pytest.mark.slow
def test_no_row_differs_over_millions_of_decisions():
    decisions, _, differing = disagreement(6_000_000, 0.0)
    assert decisions > 2_000_000
    assert differing == 0


def test_a_run_called_off_stops():
    with pytest.raises(Cancelled):
        simulate(SIMULATORS["psrs"], make(SIMULATORS["psrs"], 0), 0, keep_going=iter([True, True, False]).__next__)


class Insists:
    """Takes action 0 always, and learns in epochs of 50 steps."""

    n_actions, abandons_episode = 2, False

    def __init__(self):
        self.collected = 0

    @property
    def steps_until_update(self):
        return 50 - self.collected

    def policies(self, observations):
        return np.tile([1.0, 0.0], (len(observations), 1))

    def policy(self, observation):
        return np.array([1.0, 0.0])

    def collect(self, steps):
        self.collected += len(steps.action)

    def update(self):
        self.collected = 0

    def learn(self, step):
        raise AssertionError


def test_a_run_called_off_stops_where_every_episode_is_cut():
    """Action 0 was never logged, so no step is ever served."""
    rows = {"observation": [0, 1] * 10, "next_observation": [1, 0] * 10, "action": [1] * 20, "reward": [-1.0] * 20}
    rows |= {"terminated": [False, True] * 10, "episode": np.repeat(np.arange(10), 2), "n_actions": 2}
    options = {"then": "cut", "openings": "replacement", "max_cut": 1.0, "cut_window": 1_000_000}
    simulator = qbe(Log.from_columns(**rows), **options)
    assert can_look_ahead(simulator, Insists())
    for learner in (Insists(), FixedPolicy([1.0, 0.0])):
        asked = iter([True] * 5 + [False])
        with pytest.raises(Cancelled):
            simulate(simulator, learner, 0, 100, keep_going=asked.__next__)
        assert next(asked, None) is None


def test_a_policy_with_a_nan_is_refused_in_the_same_words():
    class Broken(PPO):
        policies = lambda self, observations: np.full((len(observations), 5), np.nan)  # noqa: E731

    for form in (None, False):
        with pytest.raises(PolicyError, match="NaN"):
            simulate(SIMULATORS["psrs"], Broken(EVEN.spec), 0, compiled=form)


@pytest.mark.parametrize("method", ["policy", "learn"])
def test_what_a_subclass_changes_is_heeded(method, assert_same):
    class Curious(PPO):
        def policy(self, observation):
            return np.eye(5)[1] * 0.5 + 0.1 if method == "policy" else super().policy(observation)

        def learn(self, step):
            super().learn(step._replace(reward=-step.reward) if method == "learn" else step)

    learner = Curious(EVEN.spec, epoch_steps=200)
    assert not can_look_ahead(SIMULATORS["psrs"], learner)
    assert_same(*(simulate(SIMULATORS["psrs"], Curious(EVEN.spec, epoch_steps=200), 0, 500, compiled=form)
                  for form in (None, False)))  # fmt: skip


def test_other_simulators_are_stepped():
    for simulator in (real(PLANE), model(EVEN, CELLS)):
        assert not can_look_ahead(simulator, PPO(EVEN.spec))
        assert len(simulate(simulator, PPO(EVEN.spec, epoch_steps=50), 0, 120)) == 120
    assert not can_look_ahead(SIMULATORS["psrs"], Uniform(5))


class Stuck(PPO):
    """An epoch learner whose update begins no new epoch."""

    def update(self):
        self._n = self.epoch_steps


def test_an_update_that_begins_no_epoch_is_refused_instead_of_going_on_for_ever(log):
    with pytest.raises(
        ContractError, match=r"steps_until_update of Stuck is 0 before an epoch begins; .*update sets it back"
    ):
        simulate(psrs(log), Stuck(log.spec, epoch_steps=20), 0, 100)


# Compiled epochs.


class Compiled(PPO):
    """PPO on the CPU with compiled epochs, which it has on an accelerator only."""

    def epochs_on(self, log):
        return self.compiled_epochs_on(log)


def compiled(simulator, seed, **settings):
    given = {"epoch_steps": 300, "policy_iterations": 5, "value_iterations": 5, "policy_rate": 0.01, "device": "cpu"}
    return Compiled(simulator.log.spec, seed=seed, **(given | settings))


@pytest.mark.parametrize(("name", "abandons"), [
    ("psrs with the log's limit", False), ("psrs with a reserve", True), ("psrs of integers", False),
    ("psrs by rows with a limit", True), ("qbe", False), pytest.param("cut", False, marks=pytest.mark.slow),
])  # fmt: skip
def test_runs_of_compiled_epochs_are_alike(name, abandons, assert_same):
    simulator = SIMULATORS.get(name) or psrs(CAPPED, CELLS, then="cut", max_cut=0.5)
    settings, options = {"abandons": abandons, "device": "cpu"}, {"probes": measured(), "every": 130}
    learners = make(simulator, 1, **settings), compiled(simulator, 1, **settings)
    runs = [simulate(simulator, learner, 1, 2_000, **options) for learner in learners]
    assert [has_compiled_epochs(simulator, learner) for learner in learners] == [False, True]
    assert_same(*runs)
    assert_same_learners(*learners)
    ours, theirs = (learner._epoch for learner in learners)
    assert ours.truncated_at == theirs.truncated_at
    np.testing.assert_array_equal(ours.after_last, theirs.after_last)


@pytest.mark.parametrize("backend", ["serial", "threads"])
def test_compiled_epochs_of_a_stack_in_threads_are_those_made_alone(backend, assert_same):
    simulator = SIMULATORS["psrs"]
    runs = experiment(
        simulator, lambda seed: compiled(simulator, seed, stack_size=3), runs=7, max_steps=700, workers=2,
        backend=backend, progress=False,
    )  # fmt: skip
    for run in runs:
        assert_same(run, simulate(simulator, compiled(simulator, run.seed), run.seed, 700, compiled=False))


def test_an_observation_that_the_learner_was_not_made_for_is_refused_in_compiled_epochs():
    simulator, few = SIMULATORS["psrs of integers"], replace(NUMBERS.spec, n_observations=30)
    learner = Compiled(few, seed=0, epoch_steps=300, device="cpu")
    assert epochs_on(NUMBERS, learner) is not None
    with pytest.raises(SettingError, match="whole numbers from 0 to 29"):
        simulate(simulator, learner, 0)


def test_a_policy_that_is_missing_for_no_reason_is_a_broken_promise():
    class Silent(Compiled):
        def epochs_on(self, log):
            arrays = super().epochs_on(log)
            return arrays._replace(sizes=np.array([30, *arrays.sizes[1:]]))

    learner = Silent(NUMBERS.spec, seed=0, epoch_steps=300, device="cpu")
    with pytest.raises(ContractError, match="has_policy of Silent's arrays is False"):
        simulate(SIMULATORS["psrs of integers"], learner, 0)


def test_a_subclass_that_acts_in_another_way_is_evaluated_ahead():
    class Evenly(Compiled):
        def policies(self, observations):
            return np.full((len(observations), 5), 0.2)

    simulator = SIMULATORS["psrs"]
    assert not has_compiled_epochs(simulator, Evenly(simulator.log.spec, device="cpu"))
