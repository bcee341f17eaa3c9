"""One call that checks a simulator."""

from contextlib import suppress
from itertools import pairwise
from typing import Any

import numpy as np

from understudy.contracts import CAUSES, Exhausted, Rehearsal, Simulator, Step
from understudy.contracts.offering import offers
from understudy.contracts.simulating import (
    SharedSimulator,
    is_compiled,
    is_exhaustible,
    is_real,
    log_of,
    n_actions_of,
    serves_rows,
)
from understudy.learners import Uniform
from understudy.runs import simulate
from understudy.testing.rules import Checked, Rules, check_described, check_travels, same_run

OWN = "observations are the learner's own, to keep and to write on"
REPEATABLE = "the same seed and the same policies give the same steps"
CHAINED = "a step begins with the observation that the step before it led to"


def check_simulator(
    simulator: Simulator,
    *,
    n_actions: int | None = None,
    max_steps: int = 500,
    follows_policy: bool = True,
    each_row_once: bool = True,
) -> Checked:
    """Check that a simulator keeps its promises. Return the rules it keeps; raise `ContractError` at the first broken.

    `n_actions` is needed where the simulator does not say. Say `follows_policy=False` for a simulator that is not meant
    to act by the policy it is given (as `states_only`), and `each_row_once=False` for one that serves rows again.
    """
    rules = Rules(type(simulator).__name__)
    rules.check(
        "a simulator has start(seed)",
        not isinstance(simulator, type) and offers(simulator, Simulator),
        f"this is {simulator!r}",
        "write the method, and give an object, not the class",
    )
    found = n_actions_of(simulator) if n_actions is None else n_actions
    rules.check(
        "the number of actions is known",
        found is not None,
        "the simulator has no n_actions",
        "give it the attribute n_actions, or check_simulator the argument",
    )
    assert found is not None
    checks = SimulatorChecks(rules, simulator, int(found), max_steps)
    steps = checks.steps()
    checks.check_steps(steps)
    checks.check_rows(steps, each_row_once)
    checks.check_repeats(steps)
    if follows_policy:
        checks.check_policy()
    checks.check_end()
    checks.check_runs()
    check_described(rules, "the simulator", simulator)
    check_travels(rules, "the simulator", simulator)
    return rules.checked()


class SimulatorChecks:
    """The rules of one simulator."""

    def __init__(self, rules: Rules, simulator: Any, n_actions: int, max_steps: int) -> None:
        self.rules, self.simulator, self.n_actions, self.max_steps = rules, simulator, n_actions, max_steps
        self.uniform = np.full(n_actions, 1.0 / n_actions)

    def begin(self, seed: int = 0) -> tuple[Rehearsal, Any]:
        """Return a rehearsal that has begun an episode, and its first observation."""
        rule = "start(seed) returns a rehearsal with begin() and step(policy)"
        with self.rules.trying(rule, "write both; understudy.contracts.Rehearsal says what each promises"):
            rehearsal = self.simulator.start(seed)
        self.rules.check(
            rule, offers(rehearsal, Rehearsal), f"it returned {rehearsal!r}", "return an object that has both methods"
        )
        with self.rules.trying("begin() returns the first observation of an episode", "see the error above"):
            return rehearsal, rehearsal.begin()

    def steps(self, seed: int = 0, policy: np.ndarray | None = None, write: bool = False) -> list[Step]:
        """Return the steps of a uniform learner, or of one that always has this policy."""
        rehearsal, observation = self.begin(seed)
        _overwrite(observation, write)
        steps: list[Step] = []
        while len(steps) < self.max_steps:
            with self.rules.trying(
                "step(policy) returns a Step, or raises Exhausted when the log has no answer",
                "return understudy.contracts.Step, and raise understudy.contracts.Exhausted(Stop(...))",
            ):
                try:
                    step = rehearsal.step((self.uniform if policy is None else policy).copy())
                except Exhausted:
                    break
            self.rules.check(
                "step(policy) returns a Step, or raises Exhausted when the log has no answer",
                isinstance(step, Step),
                f"it returned a {type(step).__name__}",
                "return understudy.contracts.Step",
            )
            steps.append(_copy(step))
            _overwrite(step.observation, write)
            _overwrite(step.next_observation, write)
            if step.terminated or step.truncated:
                try:
                    _overwrite(rehearsal.begin(), write)
                except Exhausted:
                    break
        return steps

    def check_steps(self, steps: list[Step]) -> None:
        """Check the fields of steps, and that each begins where the one before it ended."""
        rules = self.rules
        rules.check(
            "a simulator serves steps",
            len(steps) > 0,
            "the first step of a uniform policy raised Exhausted",
            "check it with a log in which openings are followed by all actions",
        )
        for number, step in enumerate(steps):
            rules.check(
                f"an action is a whole number from 0 to {self.n_actions - 1}",
                isinstance(step.action, int | np.integer) and 0 <= step.action < self.n_actions,
                f"step {number} has {step.action!r}",
                "return the action's code",
            )
            rules.check(
                "a reward is a finite number",
                np.ndim(step.reward) == 0 and np.isfinite(float(step.reward)),
                f"step {number} has {step.reward!r}",
                "return a float",
            )
            rules.check(
                "terminated and truncated are truth values, and never both True",
                all(isinstance(flag, bool | np.bool_) for flag in (step.terminated, step.truncated))
                and not (step.terminated and step.truncated),
                f"step {number} has {step.terminated!r} and {step.truncated!r}",
                "truncated is True where an episode is cut off, terminated where nothing follows",
            )
        for number, (one, following) in enumerate(pairwise(steps)):
            over = one.terminated or one.truncated
            rules.check(
                CHAINED,
                over or _equal(one.next_observation, following.observation),
                f"step {number} led to {one.next_observation}, and the next begins with {following.observation}",
                "keep the observation that was returned, and begin the next step with it",
            )

    def check_rows(self, steps: list[Step], each_row_once: bool) -> None:
        """Check the rows that steps say they are."""
        log, rows = log_of(self.simulator), np.array([step.row for step in steps])
        if is_real(self.simulator) or not serves_rows(self.simulator):
            self.rules.check(
                "steps that are not logged rows have row -1", (rows == -1).all(), f"rows are {rows[:5]}", "return -1"
            )
            return
        if log is None:
            return
        self.rules.check(
            "row is the number of a logged row",
            ((rows >= 0) & (rows < len(log))).all(),
            f"rows are {rows[:5]}, and the log has {len(log):,}",
            "return the row whose action and outcome the step is",
        )
        wrong = [step for step in steps if log.action[step.row] != step.action]
        self.rules.check(
            "a step's action is that of its row",
            not wrong,
            f"row {wrong[0].row if wrong else 0} was logged with another action than the step has",
            "return the row's own action",
        )
        if each_row_once and is_exhaustible(self.simulator):
            self.rules.check(
                "a row is served once",
                len(np.unique(rows)) == len(rows),
                f"{len(rows) - len(np.unique(rows)):,} of {len(rows):,} steps are rows that were served before",
                "remove rows from their queue as they are served; say each_row_once=False where that is meant",
            )

    def check_repeats(self, steps: list[Step]) -> None:
        """Check that rehearsals repeat, and do not disturb each other."""
        advice = "keep all that changes in the rehearsal, and draw from a generator that start(seed) seeds"
        self.rules.check(
            REPEATABLE, _same(steps, self.steps()), "a second rehearsal with the same seed had other steps", advice
        )
        other, _ = self.begin(1)
        alone = self.simulator.start(0)
        served, observation = [], alone.begin()
        del observation
        for _ in range(min(50, len(steps))):  # two rehearsals, step by step
            try:
                if (step := other.step(self.uniform.copy())).terminated or step.truncated:
                    other.begin()
            except Exhausted:
                other, _ = self.begin(1)
            served.append(_copy(alone.step(self.uniform.copy())))
            if (served[-1].terminated or served[-1].truncated) and len(served) < len(steps):
                alone.begin()
        self.rules.check(
            "rehearsals do not disturb each other",
            _same(steps[: len(served)], served),
            "steps changed where another rehearsal went on at the same time",
            advice,
        )
        self.rules.check(
            OWN,
            _same(steps, self.steps(write=True)) and _same(steps, self.steps()),
            "steps changed after observations that were handed out had been overwritten",
            "hand out copies of arrays",
        )

    def check_policy(self) -> None:
        """Check that steps have the actions that the policy asks for."""
        for action in range(self.n_actions):
            surely = np.zeros(self.n_actions)
            surely[action] = 1.0
            taken = {int(step.action) for step in self.steps(policy=surely)}
            self.rules.check(
                "a policy that is sure of an action gets that action",
                taken <= {action},
                f"a policy that is sure of action {action} got {sorted(taken)}",
                "serve rows with the drawn action, or accept rows by rejection sampling; say follows_policy=False "
                "where the policy is not meant to matter",
            )
        within = self.uniform * (1 + 5e-6)
        with self.rules.trying("a policy may sum to 1 within 1e-5", "normalize it, or compare with a tolerance"):
            rehearsal, _ = self.begin()
            with suppress(Exhausted):
                rehearsal.step(within)

    def check_end(self) -> None:
        """Check how a rehearsal ends."""
        if is_real(self.simulator) or not is_exhaustible(self.simulator):
            return
        log = log_of(self.simulator)
        most = 20 * len(log) if log is not None else 100_000
        rehearsal, _ = self.begin()
        stop = None
        for _ in range(most):
            try:
                step = rehearsal.step(self.uniform.copy())
                if step.terminated or step.truncated:
                    rehearsal.begin()
            except Exhausted as exhausted:
                stop = exhausted.stop
                break
        self.rules.check(
            "a rehearsal that is exhaustible ends with Exhausted",
            stop is not None,
            f"it went on for {most:,} steps",
            "raise Exhausted when rows run out, or say exhaustible = False",
        )
        assert stop is not None
        self.rules.check(
            "a stop has one of the causes of understudy.contracts.CAUSES",
            stop.cause in CAUSES,
            f"it has {stop.cause!r}",
            f"choose from {', '.join(CAUSES)}",
        )

    def check_runs(self) -> None:
        """Check whole runs: plain, compiled, and shared by several envs."""
        learner = Uniform(self.n_actions)
        with self.rules.trying("a learner can be run in it", "see the error above"):
            plain = simulate(self.simulator, learner, 0, self.max_steps, compiled=False)
        if is_compiled(self.simulator):
            self.rules.check(
                "compiled runs are the plain ones",
                same_run(plain, simulate(self.simulator, learner, 0, self.max_steps)),
                "the compiled run was served other rows",
                "let kernels and Python code draw the same numbers in the same order",
            )
        if offers(self.simulator, SharedSimulator):
            self.check_shared()

    def check_shared(self) -> None:
        """Check rehearsals that share a log."""
        shared = self.simulator.start_shared(0, 3)
        self.rules.check(
            "start_shared(seed, n) returns n rehearsals",
            len(shared) == 3 and all(offers(each, Rehearsal) for each in shared),
            f"it returned {shared!r}",
            "return a list of n objects with begin() and step(policy)",
        )
        rows: list[int] = []
        try:
            for each in shared:
                each.begin()
            for _ in range(50):
                for each in shared:
                    step = each.step(self.uniform.copy())
                    rows.append(int(step.row))
                    if step.terminated or step.truncated:
                        each.begin()
        except Exhausted:
            pass
        served = [row for row in rows if row >= 0] if is_exhaustible(self.simulator) else []
        self.rules.check(
            "rehearsals that share a log serve no row twice between them",
            len(set(served)) == len(served),
            f"{len(served) - len(set(served))} rows were served twice",
            "let them take rows from the same queues",
        )


def _copy(step: Step) -> Step:
    """Return a step whose observations are copies."""
    return step._replace(observation=np.array(step.observation), next_observation=np.array(step.next_observation))


def _overwrite(observation: Any, write: bool) -> None:
    if write and isinstance(observation, np.ndarray) and observation.flags.writeable:
        observation[...] = 0 if (observation != 0).any() else 1


def _equal(one: Any, other: Any) -> bool:
    equal_nan = np.asarray(one).dtype.kind == "f"
    return bool(np.array_equal(one, other, equal_nan=equal_nan))


def _same(steps: list[Step], others: list[Step]) -> bool:
    """True if two lists of steps are equal in every field."""
    return len(steps) == len(others) and all(
        one[1:3] == other[1:3] and one[4:] == other[4:] and _equal(one[0], other[0]) and _equal(one[3], other[3])
        for one, other in zip(steps, others, strict=True)
    )
