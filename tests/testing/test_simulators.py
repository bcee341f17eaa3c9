"""Our simulators keep every rule, and each rule catches a simulator that breaks it."""

import gymnasium
import numpy as np
import pytest

import understudy as us
from understudy.contracts import Exhausted, Step, Stop
from understudy.errors import ContractError
from understudy.testing import check_simulator

GRID = us.envs.Grid(slip=0.2)
LOG = us.record(GRID, episodes=60, seed=0, max_episode_steps=200)
POINTS = us.record(us.envs.ContinuousGrid(3), episodes=40, seed=0, max_episode_steps=200)
COUNTER = us.envs.CounterGrid(3)
COUNTED = us.record(COUNTER, episodes=40, seed=0, max_episode_steps=200)
WEATHER = us.record(us.envs.WeatherGrid(3, slip=0.2), episodes=100, seed=0)
OURS = {
    "psrs": us.psrs(LOG),
    "psrs with a reserve": us.psrs(LOG, reserve=True),
    "psrs by rows": us.psrs(LOG, order="rows", openings="replacement", max_episode_steps=20),
    "psrs of points": us.psrs(POINTS, us.encoders.Function(us.envs.ContinuousGrid(3).latent)),
    "qbe": us.qbe(LOG),
    "qbe, plain": us.qbe(LOG, stop="plain"),
    "actions_only": us.actions_only(LOG),
    "model": us.model(LOG),
    "exo_psrs": us.exo_psrs(COUNTED, split=COUNTER.split, merge=COUNTER.merge, reward=COUNTER.reward),
    "exo_psrs, learned": us.exo_psrs(COUNTED, us.exogenous_split(COUNTED)),
    "exo_psrs, played forward": us.exo_psrs(WEATHER, us.exogenous_split(WEATHER)),
    "pers": us.pers(LOG, bound=2.0),
    "real, by tables": us.real(GRID),
    "real": us.real(gymnasium.make("FrozenLake-v1")),
}


@pytest.mark.parametrize("simulator", OURS.values(), ids=OURS)
def test_our_simulators_keep_the_rules(simulator):
    assert len(check_simulator(simulator).rules) >= 15


@pytest.mark.parametrize("make", [us.states_only, us.any_row])
def test_baselines_keep_all_rules_but_that_of_the_policy(make):
    with pytest.raises(ContractError, match="say follows_policy=False where the policy is not"):
        check_simulator(make(LOG))
    check_simulator(make(LOG), follows_policy=False)


class InOrder:
    """Serves the log as it is to whoever does what was done. Keeps the rules; subclasses break one each."""

    def __init__(self, log=LOG):
        self.log, self.n_actions = log, log.spec.n_actions

    def start(self, seed):
        return Walk(self)


class Walk:
    def __init__(self, simulator):
        self.simulator, self.log, self.row = simulator, simulator.log, 0

    def begin(self):
        while self.row < len(self.log) and self.row not in self.log.starts:
            self.row += 1
        if self.row >= len(self.log):
            raise Exhausted(Stop("no opening"))
        return self.log.observation[self.row].copy()

    def step(self, policy):
        row = self.row
        if row >= len(self.log) or policy[self.log.action[row]] == 0.0:
            raise Exhausted(Stop("no row"))
        self.row += 1
        return self.made(row)

    def made(self, row):
        log = self.log
        following = log.next_observation[row].copy()
        ends = bool(log.terminated[row]), bool(log.truncated[row])
        return Step(log.observation[row].copy(), int(log.action[row]), float(log.reward[row]), following, *ends, row)


def variant(**methods):
    """A simulator whose rehearsals have other members."""
    kind = type("Wrong", (Walk,), {name: method for name, method in methods.items() if name != "start"})
    start = methods.get("start", lambda self, seed: kind(self))
    return type("Wrong", (InOrder,), {"start": start})


def shared_state(self, seed):
    return self.__dict__.setdefault("walk", Walk(self))


def saying(**attributes):
    """A simulator with other attributes."""
    return type("Wrong", (InOrder,), attributes)


def out_of_words(self, policy):
    try:
        return Walk.step(self, policy)
    except Exhausted:
        raise Exhausted("no row left") from None


WRONG = {
    "not a step": (variant(made=lambda self, row: (row, 0)), "it returned a tuple; return understudy"),
    "passed over unsaid": (variant(made=lambda self, row: None), "it returned a NoneType; .*PassesOverEpisodes"),
    "one rehearsal for all": (variant(start=shared_state), "same seed|do not disturb"),
    "no start": (3, r"has start\(seed\)"),
    "no rehearsal": (variant(start=lambda self, seed: None), r"returns a rehearsal with begin\(\) and step\(policy\)"),
    "an error": (variant(step=lambda self, policy: 1 // 0), "or raises Exhausted.*it raised ZeroDivisionError"),
    "an error in a later episode": (
        variant(begin=lambda self: Walk.begin(self) if self.row == 0 else 1 // 0),
        r"begin\(\) returns the first observation of an episode: it raised ZeroDivisionError: [^;]*$",
    ),
    "a stop in words": (variant(step=out_of_words), "Exhausted takes a Stop"),
    "no observation": (variant(begin=lambda self: (Walk.begin(self), None)[1]), r"that begin\(\) returned: .* None"),
    "as Gymnasium's reset": (
        variant(begin=lambda self: (Walk.begin(self), {})),
        r"that begin\(\) returned: begin\(\) returned .*; let begin\(\) return the observation alone",
    ),
    "another kind": (saying(kind="Real"), "kind is 'real' or 'simulated': it is 'Real'"),
    "actions in words": (saying(n_actions=property(lambda self: "5", lambda self, n: None)), "whole number: it is '5'"),
    "states by a method": (saying(n_states=lambda self: 25), "n_states.* is a whole number or None: it is a method"),
    "a state in words": (variant(state="x"), "state is a whole number .*: before step 0 it is 'x'"),
    "any action": (variant(step=lambda self, policy: Walk.step(self, np.ones(5))), "sure of an action gets that"),
}


def test_the_simulator_that_the_wrong_ones_are_made_of_keeps_the_rules():
    check_simulator(InOrder())


@pytest.mark.parametrize(("kind", "rule"), WRONG.values(), ids=WRONG)
def test_a_broken_rule_is_named_with_what_to_do(kind, rule):
    with pytest.raises(ContractError, match=rule):
        check_simulator(kind() if isinstance(kind, type) else kind)


def test_rows_that_are_served_again_are_found_unless_they_are_meant():
    class Repeats(Walk):
        def step(self, policy):
            step = super().step(policy)
            if self.row == len(self.log):
                self.row = 0
            return step

        def begin(self):
            if self.row >= 150 and not self.log.starts.tolist().count(self.row):
                self.row = 0
            return super().begin()

    class Twice(InOrder):
        def start(self, seed):
            return Repeats(self)

    short = LOG.select(np.arange(3))
    with pytest.raises(ContractError, match=r"a row is served once: .*; remove rows from their queue"):
        check_simulator(Twice(short))


def test_a_simulator_that_says_it_ends_must_end():
    class FirstEpisodeOnly(Walk):
        def begin(self):
            self.row = 0
            return super().begin()

    class Endless(InOrder):
        def start(self, seed):
            return FirstEpisodeOnly(self)

    with pytest.raises(ContractError, match=r"ends with Exhausted: it went on .*; .* say exhaustible = False"):
        check_simulator(Endless(LOG.select([0])), each_row_once=False)


def test_handed_out_arrays_are_copies():
    class Shows(Walk):
        def begin(self):
            super().begin()
            return self.log.observation[self.row]

        def made(self, row):
            step = super().made(row)
            return step._replace(observation=self.points[row], next_observation=self.following[row])

        def __init__(self, simulator):
            super().__init__(simulator)
            self.points, self.following = simulator.points, simulator.following

    class Leaks(InOrder):
        def __init__(self):
            super().__init__(POINTS)
            self.points, self.following = POINTS.observation.copy(), POINTS.next_observation.copy()

        def start(self, seed):
            return Shows(self)

    with pytest.raises(
        ContractError, match=r"the learner's own, to keep and to write on: .*; hand out copies of arrays"
    ):
        check_simulator(Leaks())


def test_the_number_of_actions_can_be_given():
    class Unsaid(InOrder):
        def __init__(self):
            self.log = LOG

    with pytest.raises(ContractError, match=r"the number of actions is known: .*; give it the attribute n_actions"):
        check_simulator(Unsaid())
    check_simulator(Unsaid(), n_actions=5)


def test_states_are_below_their_number():
    class Numbered(Walk):
        @property
        def state(self):
            return int(self.log.observation[self.row]) if self.row < len(self.log) else -1

    class Counted(InOrder):
        n_states = 25

        def start(self, seed):
            return Numbered(self)

    assert "states are below n_states" in check_simulator(Counted()).rules
    Counted.n_states = 3
    with pytest.raises(ContractError, match=r"states are below n_states: before step \d+ .* n_states is 3"):
        check_simulator(Counted())


class MostLikely:
    """Takes the most likely action instead of drawing one."""

    def __init__(self, simulator):
        self.simulator, self.log, self.n_actions = simulator, simulator.log, simulator.n_actions

    def start(self, seed):
        return Sure(self.simulator.start(seed))


class Sure:
    def __init__(self, rehearsal):
        self.rehearsal, self.begin = rehearsal, rehearsal.begin

    def step(self, policy):
        return self.rehearsal.step(np.eye(len(policy))[policy.argmax()])


def test_actions_are_drawn_from_the_policy():
    with pytest.raises(ContractError, match=r"more than one action: all of \d+ steps had action 0; draw the action by"):
        check_simulator(MostLikely(us.qbe(LOG)))


def test_a_log_with_one_action_can_be_served():
    one = us.record(GRID, policy=lambda observation: np.eye(5)[2], episodes=3, seed=0, max_episode_steps=30)
    assert "a uniform policy gets more than one action" not in check_simulator(InOrder(one)).rules


def test_an_error_where_the_log_ends_breaks_the_rule_of_steps():
    class Pops(Walk):
        def __init__(self, simulator):
            super().__init__(simulator)
            self.left = list(range(len(self.log)))

        def step(self, policy):
            self.left.pop()
            return super().step(policy)

        def begin(self):
            return super().begin() if self.left else self.log.observation[0].copy()

    with pytest.raises(
        ContractError, match=r"or raises Exhausted.*: it raised IndexError: pop from empty list; return"
    ):
        check_simulator(variant(start=lambda self, seed: Pops(self))(), max_steps=20, follows_policy=False)


LENGTHS = np.bincount(LOG.episode)


@pytest.mark.parametrize("odd", [False, True], ids=["it takes the last row", "another takes it"])
def test_a_queue_that_start_resets_is_shared_by_rehearsals(odd):
    class OnItself(InOrder):
        def start(self, seed):
            self.row = 0
            return OneQueue(self)

    class OneQueue(Walk):
        row = property(lambda self: self.simulator.row, lambda self, row: setattr(self.simulator, "row", row))

    short = LOG.select(np.flatnonzero((odd == LENGTHS % 2) & (LENGTHS < 80))[:1])
    with pytest.raises(ContractError, match=r"rehearsals do not disturb each other: .*; keep all that changes in the"):
        check_simulator(OnItself(short))


@pytest.mark.parametrize(
    ("shared", "rule"),
    [
        (lambda self, seed, n: 1 // 0, r"start_shared\(seed, n\) returns n rehearsals: it raised ZeroDivisionError"),
        (lambda self, seed, n: None, r"start_shared\(seed, n\) returns n rehearsals: it returned None; return a list"),
        (lambda self, seed, n: [Fails(self, "begin")] * n, r"begin\(\) returns the first .*: it raised ZeroDivision"),
        (lambda self, seed, n: [Fails(self, "step")] * n, r"step\(policy\) returns a Step.*: it raised ZeroDivision"),
    ],
)
def test_rehearsals_that_share_a_log_are_held_to_the_same_rules(shared, rule):
    with pytest.raises(ContractError, match=rule):
        check_simulator(saying(start_shared=shared)(), follows_policy=False)


class Fails(Walk):
    """A rehearsal with a method that raises."""

    def __init__(self, simulator, method):
        super().__init__(simulator)
        setattr(self, method, lambda *arguments: 1 // 0)


def test_an_error_of_a_compiled_run_breaks_the_rule_of_compiled_runs(monkeypatch):
    def fails(simulator, learner, seed, max_steps, compiled=True):
        return us.simulate(simulator, learner, seed, max_steps, compiled=False) if not compiled else 1 // 0

    monkeypatch.setattr("understudy.testing.simulators.simulate", fails)
    with pytest.raises(ContractError, match="compiled runs are the plain ones: it raised ZeroDivisionError"):
        check_simulator(us.psrs(LOG))
