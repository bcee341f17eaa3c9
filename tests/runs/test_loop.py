"""One loop: what `simulate` promises, whatever form it takes."""

import numpy as np
import pytest

from understudy.contracts import Exhausted, Step, Stop
from understudy.encoders import Function
from understudy.envs import Grid, NoisyGrid
from understudy.errors import ContractError, PolicyError, SettingError
from understudy.learners import FixedPolicy, QLearning, Uniform
from understudy.runs import probes, simulate
from understudy.runs.compiled import advance
from understudy.runs.loop import can_compile
from understudy.runs.setup import Cancelled
from understudy.simulators import model, psrs, qbe, real


class Corridor:
    """A simulator that only keeps the promises of contracts: five steps to the end, three times."""

    def start(self, seed):
        return Walk()


class Walk:
    def __init__(self):
        self.place, self.episodes, self.row = 0, 0, 0

    def begin(self):
        if self.episodes == 3:
            raise Exhausted(Stop("no opening", counts={"steps": self.row}))
        self.place, self.episodes = 0, self.episodes + 1
        return self.place

    def step(self, policy):
        here, self.place, self.row = self.place, self.place + 1, self.row + 1
        return Step(here, int(np.argmax(policy)), 1.0, self.place, self.place == 5, False, row=self.row - 1)


class Rightward:
    """A learner that only keeps the promises of contracts."""

    def __init__(self):
        self.told = []

    def policy(self, observation):
        return np.array([0.0, 1.0])

    def learn(self, step):
        self.told.append(step)


def test_a_simulator_and_a_learner_of_promises_only_run_in_the_python_loop():
    learner = Rightward()
    run = simulate(Corridor(), learner)
    assert not can_compile(Corridor(), learner)
    assert run.rows.tolist() == list(range(15))
    assert run.ends.tolist() == [5, 10, 15]
    assert run.returns.tolist() == [5.0, 5.0, 5.0]
    assert run.openings.tolist() == [-1, -1, -1]
    assert run.stopped == Stop("no opening", counts={"steps": 15})
    assert [step.row for step in learner.told] == run.rows.tolist()


def test_a_library_learner_runs_in_a_simulator_of_promises_only():
    run = simulate(Corridor(), QLearning(6, 2), probes={"start": probes.start_value([0])}, every=5)
    assert len(run) == 15
    assert run.steps.tolist() == [5, 10, 15]


def test_a_simulator_of_promises_only_can_be_cut_short():
    run = simulate(Corridor(), Rightward(), max_steps=7)
    assert (len(run), run.stopped.cause, run.stopped.counts["steps"]) == (7, "max steps", 7)


def test_a_learner_of_promises_only_runs_in_a_library_simulator(log):
    class Even:
        def policy(self, observation):
            return [0.2] * 5

        def learn(self, step):
            assert isinstance(step, Step)

    run, same = simulate(psrs(log), Even(), 3), simulate(psrs(log), Uniform(5), 3)
    np.testing.assert_array_equal(run.rows, same.rows)


def test_the_same_seed_gives_the_same_run_and_another_seed_another(log, make, assert_same):
    simulator = psrs(log)
    assert_same(simulate(simulator, make(1), 1), simulate(simulator, make(1), 1))
    one, other = (simulate(simulator, make(seed), seed, max_steps=50).rows.tolist() for seed in (1, 2))
    assert one != other


def test_a_run_does_not_depend_on_what_its_simulator_did_before(log, make, assert_same):
    simulator = psrs(log)
    for seed in range(5):
        simulate(simulator, make(seed), seed, max_steps=7 * seed + 1)
    assert_same(simulate(simulator, make(9), 9), simulate(psrs(log), make(9), 9))


@pytest.mark.parametrize("compiled", [True, False])
def test_no_row_is_served_twice(log, make, compiled):
    run = simulate(qbe(log), make(0), compiled=compiled)
    assert len(np.unique(run.rows)) == len(run) > 50


@pytest.mark.parametrize("never_ending", ["model", "real", "real env"])
def test_where_nothing_runs_out_max_steps_must_be_given(log, grid, never_ending, make):
    class Opaque(NoisyGrid):
        tables = property()

    simulator = {"model": model(log), "real": real(grid), "real env": real(Opaque(1, size=3))}[never_ending]
    with pytest.raises(SettingError, match="max_steps"):
        simulate(simulator, make(0))
    assert len(simulate(simulator, make(0), max_steps=30)) == 30


@pytest.mark.parametrize("max_steps", [0, -1, 2.5, True, float("inf"), float("nan"), 2**63, 1e19, 10**400])
def test_a_max_steps_that_is_not_a_number_of_steps_is_refused(log, make, max_steps):
    with pytest.raises(SettingError, match=r"max_steps=.*whole number"):
        simulate(psrs(log), make(0), max_steps=max_steps)


@pytest.mark.parametrize("compiled", [True, False])
def test_the_largest_numbers_of_steps_are_taken(log, make, compiled):
    most = 2**63 - 1
    run = simulate(psrs(log), make(0), 0, most, probes={"q": lambda learner: 0.0}, every=most, compiled=compiled)
    assert run.stopped.cause != "max steps"


def test_rows_that_do_not_fit_into_memory_are_refused_in_a_sentence(log, make):
    with pytest.raises(SettingError, match="do not fit into memory; give a smaller max_steps="):
        simulate(model(log), make(0), 0, 2**63 - 1)


@pytest.mark.parametrize("max_steps", [7, np.int64(7), np.int32(7), 7.0])
def test_a_whole_max_steps_may_come_in_any_type(log, make, max_steps):
    simulate(psrs(log), make(0), max_steps=7)
    n_forms = len(advance.signatures)
    assert len(simulate(psrs(log), make(0), max_steps=max_steps)) == 7
    assert len(advance.signatures) == n_forms  # nothing is compiled again


@pytest.mark.parametrize("every", [0, -3, 1.5, 2**63, 10**400])
def test_an_every_that_is_not_a_number_of_steps_is_refused(log, make, every):
    with pytest.raises(SettingError, match=r"every=.*whole number"):
        simulate(psrs(log), make(0), every=every)


@pytest.mark.parametrize("compiled", [None, False])
def test_a_learner_with_another_number_of_actions_is_refused(log, compiled):
    with pytest.raises(PolicyError, match=r"learner has 4 actions and psrs.* has 5"):
        simulate(psrs(log), QLearning(18, 4), compiled=compiled)


@pytest.mark.parametrize(
    ("policy", "fault"),
    [([0.5, 0.5], "shape"), ([np.nan] * 5, "NaN"), ([0.3] * 5, "sums"), ([2, -1, 0, 0, 0], "negat")],
)
def test_what_is_not_a_policy_is_refused(log, policy, fault):
    with pytest.raises(PolicyError, match=fault):
        simulate(psrs(log), FixedPolicy(lambda observation: np.array(policy)))


def test_what_cannot_be_compiled_is_not_when_asked_to_be(log, make_plain):
    with pytest.raises(SettingError, match="no compiled form"):
        simulate(psrs(log), make_plain(0), compiled=True)


def test_a_schedule_that_only_python_knows_gives_the_rows_of_the_constant_it_returns(log, make, make_plain):
    assert not can_compile(psrs(log), make_plain(0))
    np.testing.assert_array_equal(simulate(psrs(log), make(2), 2).rows, simulate(psrs(log), make_plain(2), 2).rows)


@pytest.mark.parametrize("compiled", [True, False])
def test_a_cancelled_run_ends(log, make, compiled):
    with pytest.raises(Cancelled):
        simulate(psrs(log), make(0), compiled=compiled, keep_going=lambda: False)


@pytest.mark.parametrize("compiled", [True, False])
def test_a_log_that_has_no_first_answer_gives_a_run_of_no_steps(log, make, compiled):
    nowhere_to_begin = Function(lambda x: np.where(x % 9 == 0, -1, x))
    run = simulate(psrs(log, nowhere_to_begin), make(0), compiled=compiled, probes={"r": probes.episode_returns})
    assert (len(run), len(run.openings), len(run.ends), len(run.curves["r"])) == (0, 1, 0, 0)
    assert run.stopped.cause == "no state"
    assert np.isnan(run.final["r"])


@pytest.mark.parametrize("compiled", [True, False])
def test_a_log_of_one_row_gives_a_run_of_one_step(log, compiled):
    single = log.select([int(np.argmin(np.diff(log.starts)))])
    run = simulate(psrs(single), Uniform(5), compiled=compiled)
    assert len(run) == len(single)
    assert run.stopped.cause == "no opening"


def test_real_runs_serve_no_rows(grid, make):
    run = simulate(real(grid), make(0), max_steps=40)
    assert set(run.rows) == {-1}
    assert set(run.openings) == {-1}
    assert run.emissions is None


def test_an_env_stepped_from_python_gives_the_same_run_for_the_same_seed(make, assert_same):
    class Opaque(Grid):
        tables = property()

    simulator = real(Opaque(size=3, slip=0.3), max_episode_steps=4)
    runs = [simulate(simulator, make(5), 5, 60, probes={"v": probes.visitation}, every=20) for _ in range(2)]
    assert_same(*runs)
    assert (np.diff(runs[0].ends, prepend=0) <= 4).all()
    other = simulate(simulator, make(6), 6, 60, probes={"v": probes.visitation}, every=20)  # rows are all -1
    assert runs[0].curves["v"].tolist() != other.curves["v"].tolist()


def test_what_a_probe_raises_does_not_end_the_run(log, make_plain):
    asked = []

    def once(learner):
        asked.append(learner)
        if len(asked) == 2:
            raise Exhausted(Stop("no opening"))
        return 0.0

    with pytest.raises(Exhausted) as caught:
        simulate(psrs(log), make_plain(0), probes={"rehearsing": once}, every=10)
    assert "raised by probe 'rehearsing' after 20 steps" in caught.value.__notes__


def test_what_a_learner_raises_does_not_end_the_run(log):
    class Dreaming(Rightward):
        def policy(self, observation):
            if len(self.told) == 3:
                raise Exhausted(Stop("no opening"))
            return np.full(5, 0.2)

    with pytest.raises(Exhausted):
        simulate(psrs(log), Dreaming())


def test_a_run_prints_how_long_it_was_and_why_it_stopped(log, make):
    run = simulate(psrs(log), make(0), max_steps=30)
    assert repr(run) == f"Run of 30 steps, {len(run.ends)} finished episodes: max_steps was reached after 30 steps"


def test_what_is_not_a_simulator_or_a_learner_is_refused_with_what_it_needs(log, make):
    with pytest.raises(ContractError, match=r"us\.psrs"):
        simulate(log, make(0))
    with pytest.raises(ContractError, match=r"the learner is the class QLearning; give an object, QLearning\(\.\.\.\)"):
        simulate(psrs(log), QLearning)
    with pytest.raises(ContractError, match=r"policy.observation. and learn"):
        simulate(psrs(log), object())


@pytest.mark.parametrize(("returned", "kind"), [(None, "NoneType"), ((0, 1, 1.0, 1, False, False), "tuple")])
def test_a_simulator_whose_step_is_not_a_step_is_refused(returned, kind):
    class Careless(Walk):
        def step(self, policy):
            return returned

    class Simulator:
        def start(self, seed):
            return Careless()

    with pytest.raises(ContractError, match=rf"step\(policy\) of Careless returned a {kind}; return understudy"):
        simulate(Simulator(), Rightward())


@pytest.mark.parametrize("given", [[len], len])
def test_probes_without_names_are_refused(log, make, given):
    with pytest.raises(SettingError, match=r"probes is a .*; give a mapping of names to probes"):
        simulate(psrs(log), make(0), max_steps=5, probes=given)
